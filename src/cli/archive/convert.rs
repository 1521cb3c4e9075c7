//! `urldb archive convert`.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use urldb_warc::file::SUFFIX;
use urldb_warc::verify::archive_files;
use urldb_warc::writer::Compression;
use urldb_warc::{Reader, Version, Writer};

use super::{Context, Exit, archive_folder};
use crate::archive::Keys;
use crate::cli::progress::Bar;
use crate::cli::style::{count, print_error};

/// Write the archive in another version of WARC, into another folder
///
/// Each file is converted record by record, and the copy gets an index of its
/// own. A damaged file is left out, and the exit code is then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive convert --to 1.0 -o archive-1.0")]
pub(super) struct Args {
    /// The version that is written
    #[arg(long, value_name = "VERSION")]
    to: Target,
    /// The folder that is written into; made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Target {
    #[value(name = "1.1")]
    Warc11,
    #[value(name = "1.0")]
    Warc10,
    #[value(name = "0.9")]
    Warc09,
}

impl From<Target> for Version {
    fn from(target: Target) -> Self {
        match target {
            Target::Warc11 => Self::Warc11,
            Target::Warc10 => Self::Warc10,
            Target::Warc09 => Self::Warc09,
        }
    }
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let folder = archive_folder(context)?;
    let files = archive_files(&folder).context("cannot read the folder of the archive")?;
    let target = context.directory.join(&args.output);
    fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
    let bar = Bar::new(files.len() as u64, context.quiet);
    let (mut converted, mut records) = (0, 0);
    for file in &files {
        match convert(file, &target, args.to.into()) {
            Ok(more) => {
                converted += 1;
                records += more;
            }
            Err(error) => {
                let error = error.context(format!("{} is not converted", context.shown(file)));
                bar.suspend(|| print_error(&error));
            }
        }
        bar.advance();
    }
    bar.finish();
    urldb_warc::index::rebuild(&target, &Keys).context("cannot make the index")?;
    if !context.quiet {
        let (files, records) = (count(converted, "file"), count(records, "record"));
        let target = args.output.display();
        writeln!(
            anstream::stdout(),
            "converted {files} with {records} into {target}"
        )?;
    }
    Ok(if converted == files.len() as u64 {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

/// Converts one file, and returns how many records it has.
fn convert(file: &Path, target: &Path, version: Version) -> anyhow::Result<u64> {
    let copy = target.join(name_of_copy(file));
    anyhow::ensure!(!copy.exists(), "{} is there already", copy.display());
    let mut reader = Reader::open(file)?;
    let mut records = 0;
    urldb_format::write_atomically_with(&copy, |output| {
        let mut writer =
            Writer::new(BufWriter::new(output), Compression::Gzip).with_version(version);
        records = urldb_warc::convert::convert(&mut reader, &mut writer)
            .context("`urldb archive repair` sets aside what is damaged")?;
        writer.get_mut().flush().context("it cannot be written")
    })?;
    Ok(records)
}

/// All copies are gzipped WARC files, whatever the originals are.
fn name_of_copy(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends = [SUFFIX, ".warc", ".arc.gz", ".arc"];
    let stem = ends.iter().find_map(|end| name.strip_suffix(end));
    format!("{}{SUFFIX}", stem.unwrap_or(&name))
}
