//! `urldb archive export`: a file for each form.

mod bagit;
mod wacz;

use std::path::PathBuf;

use super::{CaptureQuery, Catalogue, Context, ExitCode, Payload, catalogue};
use crate::cli::args::SelectArgs;

/// Copy promised bytes or captures out of the archive
///
/// `--bagit` restores lost files: it copies the promised bytes of all static
/// records. `--wacz` makes a file of captures that replayweb.page and other
/// players show. The command names what the archive lacks; the exit code is
/// then 1.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("form").required(true),
    after_help = "\
Examples:
  urldb archive export --bagit promised
  urldb archive export -d example.org --bagit /media/backup/example.org
  urldb archive export --wacz everything.wacz
  urldb archive export --wacz page.wacz http://example.org/page"
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
    /// For --wacz: only these archived URLs, which need not be in the database
    #[arg(
        value_name = "URL",
        conflicts_with_all = ["bagit", "domains", "categories", "path_prefix"]
    )]
    urls: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    match (&args.bagit, &args.wacz) {
        (Some(target), _) => bagit::run(target, args, context),
        (None, Some(target)) => wacz::run(target, args, context),
        (None, None) => Ok(ExitCode::Success),
    }
}
