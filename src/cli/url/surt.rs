//! `urldb url surt`.

use std::convert::Infallible;

use super::lines::answer_each;
use crate::exit::ExitCode;

/// Print the keys of URLs in the indexes of web archives
///
/// Prints one line for each URL, from arguments or from standard input: the
/// SURT that CDXJ files are sorted by, as pywb and Python's surt write it. Any
/// text has a key, even an invalid URL; two URLs may have the same key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb url surt 'http://www.example.org/B?b=2&a=1'
  urldb url surt < list-of-urls.txt | sort -u")]
pub(super) struct Args {
    /// URLs; without any, each line of standard input is one
    #[arg(value_name = "URL")]
    urls: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    answer_each(&args.urls, |url| {
        Ok::<_, Infallible>(urldb_canon::surt(url))
    })
}
