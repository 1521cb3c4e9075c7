//! `urldb completions`.

use std::io::Write as _;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::print::output;
use crate::exit::ExitCode;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  urldb completions bash > ~/.local/share/bash-completion/completions/urldb")]
pub(super) struct Args {
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "urldb", &mut script);
    output::write_bytes(|out| Ok(out.write_all(&script)?))?;
    Ok(ExitCode::Success)
}
