//! `urldb archive`: a file for each of its subcommands.

mod diff;
mod get;
mod list;

use clap::Subcommand;

use super::{Context, Exit};
use crate::archive::{Catalogue, Moment, Payload, Wanted};

/// Look into the archive, and take out of it
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
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    match &args.command {
        Command::List(args) => list::run(args, context),
        Command::Get(args) => get::run(args, context),
        Command::Diff(args) => diff::run(args, context),
    }
}

/// The captures of the repository's archive.
fn catalogue(context: &Context) -> anyhow::Result<Catalogue> {
    let config = &context.config;
    Catalogue::open(&config.root.join(&config.archive.path))
}
