//! `urldb archive index`.

use std::io::Write;

use anyhow::Context as _;
use urldb_warc::{FileSource, FindingCode};

use super::{Context, ExitCode, archive_files};
use crate::archive::Keys;
use crate::cli::print::output;
use crate::cli::print::style::{count, print_warning};

/// Rebuild the index of the archive from its files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive index")]
pub(super) struct Args {}

pub(super) fn run(_: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    let files = archive_files(context)?;
    let made = urldb_warc::rebuild_index(files.folder(), &Keys).context("cannot make the index")?;
    for error in &made.damaged {
        print_warning(format!(
            "{error}; `urldb archive repair` sets aside what is damaged"
        ));
    }
    let unread = files.unread()?;
    for name in &unread {
        let file = context.shown(&files.path_of(name));
        print_warning(format!(
            "{file}: not in the index: {}",
            FindingCode::FileKind.meaning()
        ));
    }
    if !context.quiet {
        writeln!(output::stdout(), "indexed {}", count(made.files, "file"))?;
    }
    Ok(if made.damaged.is_empty() && unread.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}
