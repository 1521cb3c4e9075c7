//! `urldb archive export`: a file for each form.

mod bagit;
mod wacz;
mod warc;

use std::path::PathBuf;

use clap::ValueEnum;
use urldb_warc::Version;

use super::{CaptureQuery, Catalogue, Context, ExitCode, Payload, catalogue};
use crate::cli::args::SelectArgs;

/// Copy promised bytes or captures out of the archive
///
/// `--bagit` restores lost files: it copies the promised bytes of all static
/// records. `--wacz` makes a file of captures that replayweb.page and other
/// players show. `--warc` copies the whole archive in another version of WARC.
/// The command names what the archive lacks, and damaged files that it leaves
/// out; the exit code is then 1.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("form").required(true),
    after_help = "\
Examples:
  urldb archive export --bagit promised
  urldb archive export -d example.org --bagit /media/backup/example.org
  urldb archive export --wacz everything.wacz
  urldb archive export --wacz page.wacz http://example.org/page
  urldb archive export --warc archive-1.0 --version 1.0"
)]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// Make a bag (RFC 8493) in DIR, with SHA-256 manifests; its `urls.tsv` names the URL of each file
    #[arg(long, value_name = "DIR", group = "form")]
    bagit: Option<PathBuf>,
    /// Make a WACZ file of all captures of the selected URLs, with the originals of revisits and the
    /// targets of redirects; `-` is standard output
    #[arg(long, value_name = "FILE", group = "form")]
    wacz: Option<PathBuf>,
    /// Copy all files of the archive into DIR, record by record and gzipped, with an index
    #[arg(
        long,
        value_name = "DIR",
        group = "form",
        conflicts_with_all = ["domains", "categories", "path_prefix", "urls"]
    )]
    warc: Option<PathBuf>,
    /// For --warc: the version of WARC
    #[arg(long, default_value = "1.1", requires = "warc")]
    version: TargetVersion,
    /// For --wacz: only these archived URLs, which need not be in the database
    #[arg(
        value_name = "URL",
        conflicts_with_all = ["bagit", "domains", "categories", "path_prefix"]
    )]
    urls: Vec<String>,
}

/// A version to write.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum TargetVersion {
    #[value(name = "1.1")]
    Warc11,
    #[value(name = "1.0")]
    Warc10,
    #[value(name = "0.9")]
    Warc09,
}

impl From<TargetVersion> for Version {
    fn from(target: TargetVersion) -> Self {
        match target {
            TargetVersion::Warc11 => Self::Warc11,
            TargetVersion::Warc10 => Self::Warc10,
            TargetVersion::Warc09 => Self::Warc09,
        }
    }
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match (&args.bagit, &args.wacz, &args.warc) {
        (Some(target), ..) => bagit::run(target, args, context),
        (_, Some(target), _) => wacz::run(target, args, context),
        (.., Some(target)) => warc::run(target, args.version.into(), context),
        (None, None, None) => Ok(ExitCode::Success),
    }
}
