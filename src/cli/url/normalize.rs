//! `urldb url normalize`.

use super::lines::answer_each;
use crate::exit::ExitCode;

/// Print URLs in the canonical spelling of the database
///
/// Prints one line for each URL, from arguments or from standard input. For an
/// invalid URL the line is empty, standard error has the reason, and the exit
/// code is 1. Site rules are not applied: `urldb url explain` shows their effect.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb url normalize HTTP://BÜCHER.example:80/%7Ea/../b
  urldb url normalize < list-of-urls.txt
  paste urls.txt <(urldb url normalize < urls.txt)")]
pub(super) struct Args {
    /// URLs; without any, each line of standard input is one
    #[arg(value_name = "URL")]
    urls: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    answer_each(&args.urls, urldb_canon::identify)
}
