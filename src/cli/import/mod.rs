//! `urldb import`: lists of URLs into the database, all or nothing.
//!
//! `source` reads the list, `spool` holds what it says on disk until each domain file is made in one
//! go, `merge` makes it, `tally` tells, `fill` fetches what has no digest.

mod fill;
mod source;
mod spool;
mod tally;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use urldb_interchange::ReadEvent;

use self::spool::Spool;
use self::tally::Tally;
use super::Context;
use crate::cli::args::MapArgs;
use crate::database::aliases::Aliases;
use crate::database::edit::Edit;
use crate::database::lists::Merge;
use crate::exit::ExitCode;
use source::Format;

pub(super) use source::parse_base;

/// Take lists of URLs into the database
///
/// A URL that is new is added; to one that is known, what it lacks. What is promised already is kept.
/// If a URL is refused, nothing is written at all, unless with --keep-going.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb import list urls.txt --static
  urldb import sitemap sitemap-index.xml.gz --dry-run
  urldb import sha256sum SHA256SUMS --base https://example.org/data/
  urldb import csv links.csv --column url=Link --column name=Title
  urldb import warc crawl.warc.gz -c crawled")]
pub(super) struct Args {
    /// What the files are
    format: Format,
    /// Files; `-` is standard input. Of `bagit`, the folder of the bag
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// What would be added, merged and refused; nothing is written
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Import the others when some URLs are refused
    #[arg(short, long)]
    keep_going: bool,
    /// Fetch what has no digest, and promise the bytes that are served now; run it again to go on
    #[arg(long = "static", conflicts_with = "dry_run")]
    is_static: bool,
    /// Put the records into a category
    #[arg(short, long = "category", value_name = "CATEGORY")]
    categories: Vec<String>,
    /// Where the files of `sha256sum` and `bagit` are served; `http://` if their names begin with a host
    #[arg(long, value_name = "URL", value_parser = source::parse_base)]
    base: Option<String>,
    /// Which column of `csv` holds what: `url`, or the key of a record
    #[arg(long = "column", value_name = "KEY=NAME", value_parser = source::parse_column)]
    columns: Vec<(String, String)>,
    /// Refuse a list of more URLs than this
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_urls: u64,
    #[command(flatten)]
    map: MapArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<ExitCode> {
    context.add_maps(&args.map.maps);
    let mut tally = Tally::new(context);
    let mut spool = Spool::new()?;
    read(args, context, &mut spool, &mut tally).context("nothing was imported")?;
    let lacking = write(args, context, &mut spool, &mut tally)?;
    if args.is_static && !tally.stops(args.keep_going) {
        tally.finish(args.dry_run, args.keep_going)?;
        return fill::fill(context, &lacking, tally.exit());
    }
    tally.finish(args.dry_run, args.keep_going)?;
    Ok(tally.exit())
}

/// Reads all lists into the spool.
fn read(
    args: &Args,
    context: &Context,
    spool: &mut Spool,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    source::read(args, context, &mut |found| {
        match found {
            ReadEvent::Notice(notice) => tally.tell(&notice),
            ReadEvent::Item(_) if spool.len() == args.max_urls => {
                let message = format!(
                    "there are more than {} URLs; --max-urls takes more",
                    args.max_urls
                );
                return Err(message.into());
            }
            ReadEvent::Item(item) => spool.push(&item)?,
        }
        Ok(())
    })
}

/// Writes every domain file that changes, once all of them are on disk; returns the URLs whose bytes
/// nothing promises.
fn write(
    args: &Args,
    context: &Context,
    spool: &mut Spool,
    tally: &mut Tally,
) -> anyhow::Result<Vec<urldb_canon::Identity>> {
    let mut edit = Edit::begin(&context.database())?;
    let aliases = Aliases::load(&context.config)?;
    let mut lacking = vec![];
    for (domain, hosts) in domains(&aliases, spool.hosts()) {
        let mut items = vec![];
        for host in hosts {
            items.extend(spool.take(&host)?);
        }
        let path = context.domain_file(&domain);
        let merge = Merge::new(&path, &items, &args.categories)?;
        let name = context.shown(&path);
        let merged = merge.all(items, &name);
        tally.take(&merged, &name)?;
        if args.is_static {
            lacking.extend(merged.lacking());
        }
        let file = merged.file()?;
        if let Some(file) = file.filter(|_| !args.dry_run && !tally.stops(args.keep_going)) {
            edit.stage(&file)?;
        }
    }
    if !tally.stops(args.keep_going) {
        edit.commit()?;
    }
    Ok(lacking)
}

/// The domain files, each with the hosts whose records it is to hold: itself, and its cnames.
fn domains(aliases: &Aliases, hosts: Vec<String>) -> BTreeMap<String, Vec<String>> {
    let mut domains: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for host in hosts {
        let domain = aliases.primary_host(&host);
        domains.entry(domain).or_default().push(host);
    }
    domains
}
