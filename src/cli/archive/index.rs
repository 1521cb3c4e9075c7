//! `urldb archive index`.

use std::io::Write;

use anyhow::Context as _;

use super::{Context, ExitCode, archive_folder};
use crate::archive::Keys;
use crate::cli::print::style::{count, print_warning};

/// Rebuild the index of the archive from its files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive index")]
pub(super) struct Args {}

pub(super) fn run(_: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    let made = urldb_warc::rebuild_index(&archive_folder(context)?, &Keys)
        .context("cannot make the index")?;
    for error in &made.damaged {
        print_warning(error);
    }
    if !context.quiet {
        writeln!(anstream::stdout(), "indexed {}", count(made.files, "file"))?;
    }
    Ok(if made.damaged.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}
