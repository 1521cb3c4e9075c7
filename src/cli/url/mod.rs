//! `urldb url`.

mod explain;
mod explanation;
mod lines;
mod normalize;
mod surt;
mod table;

use clap::Subcommand;

use super::Context;
use crate::exit::ExitCode;

/// Show how urldb reads URLs
///
/// Works in pipes, without network and without a database.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Explain(explain::Args),
    Normalize(normalize::Args),
    Surt(surt::Args),
}

pub(super) fn run(
    args: &Args,
    context: impl FnOnce() -> anyhow::Result<Context>,
) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Explain(args) => explain::run(args, &context()?),
        Command::Normalize(args) => normalize::run(args),
        Command::Surt(args) => surt::run(args),
    }
}
