//! `urldb man`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use urldb_files::write_atomically;

use super::Cli;
use crate::exit::ExitCode;

/// Write the manual pages of all commands into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  urldb man ~/.local/share/man/man1    `man urldb-run` then shows the page of `urldb run`")]
pub(super) struct Args {
    /// The folder (created if missing)
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let folder = &args.folder;
    urldb_files::make_folder(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    // Gives the subcommands their full names and the global options.
    command.build();
    write_pages(&command, folder)?;
    Ok(ExitCode::Success)
}

/// Writes the page of a built command, and those of its subcommands.
fn write_pages(command: &Command, folder: &Path) -> Result<()> {
    let page = Man::new(command.clone())
        // An empty date would be left out, and the source take its place.
        .date(" ")
        .source(concat!("urldb ", env!("CARGO_PKG_VERSION")))
        .manual("urldb");
    let file = folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text)?;
    write_atomically(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    command
        .get_subcommands()
        .try_for_each(|subcommand| write_pages(subcommand, folder))
}
