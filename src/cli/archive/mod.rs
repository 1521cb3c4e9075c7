//! `urldb archive`: a file for each of its subcommands.

mod compact;
mod diff;
mod export;
mod get;
mod index;
mod line_printer;
mod list;
mod origin;
mod prune;
mod repair;
mod rewrite;
mod time_map;
mod verify;

use clap::Subcommand;
use urldb_text::sanitize;

use super::Context;
use crate::archive::{
    ArchiveFiles, CaptureQuery, Catalogue, DigestPrefix, IndexedCapture, PartialDate, Payload,
    VariantChoice, date, has_headers, is_same_url, variant_with,
};
use crate::cli::args::AnsweredArgs;
use crate::cli::print::output;
use crate::cli::print::style::print_warning;
use crate::exit::ExitCode;

/// List, read, verify and export the archive
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Get(get::Args),
    Diff(diff::Args),
    Export(export::Args),
    Index(index::Args),
    Verify(verify::Args),
    Repair(repair::Args),
    Compact(compact::Args),
    Prune(prune::Args),
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    dispatch(&args.command, context).map_err(output::named)
}

fn dispatch(command: &Command, context: &Context) -> anyhow::Result<ExitCode> {
    match command {
        Command::List(args) => list::run(args, context),
        Command::Get(args) => get::run(args, context),
        Command::Diff(args) => diff::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Index(args) => index::run(args, context),
        Command::Verify(args) => verify::run(args, context),
        Command::Repair(args) => repair::run(args, context),
        Command::Compact(args) => compact::run(args, context),
        Command::Prune(args) => prune::run(args, context),
    }
}

/// Prints a warning about a capture whose body the archive has only the beginning of.
fn warn_of_truncated(capture: &IndexedCapture) {
    print_warning(truncation(capture));
}

/// One sentence about a capture whose body the archive has only the beginning of.
fn truncation(capture: &IndexedCapture) -> String {
    format!(
        "of the capture of {} the archive has only the beginning (truncated: {})",
        date::shown(&capture.line.timestamp),
        sanitize(capture.truncated.as_deref().unwrap_or("unspecified"))
    )
}

fn catalogue(context: &Context) -> anyhow::Result<Catalogue> {
    Catalogue::open(archive_files(context)?)
}

/// The files of the repository's archive. Warns if its first place cannot be asked.
pub(super) fn archive_files(context: &Context) -> anyhow::Result<ArchiveFiles> {
    let files = ArchiveFiles::open(&context.config)?;
    if let Some(offline) = files.offline() {
        print_warning(offline);
    }
    Ok(files)
}
