//! `urldb url`.

mod lines;
mod normalize;
mod surt;

use clap::Subcommand;

use super::Exit;

/// Look at URLs as urldb does
///
/// For pipes, and for questions. Nothing is asked of the network, and no database
/// is needed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Normalize(normalize::Args),
    Surt(surt::Args),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Normalize(args) => normalize::run(args),
        Command::Surt(args) => surt::run(args),
    }
}
