//! `urldb url normalize`.

use super::lines::answer_each;
use crate::exit::ExitCode;

/// Print the spelling of URLs under which the database keeps them
///
/// One line for each URL, from arguments or from standard input. For what is
/// no URL the line is empty, standard error says why, and the exit code is 1
/// at the end. Site rules have no say: `urldb url explain` shows what they do.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb url normalize HTTP://BÜCHER.example:80/%7Ea/../b
  urldb url normalize < list-of-urls.txt
  paste urls.txt <(urldb url normalize < urls.txt)")]
pub(super) struct Args {
    /// URLs; without any, one is read from each line of standard input
    #[arg(value_name = "URL")]
    urls: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    answer_each(&args.urls, urldb_canon::identify)
}
