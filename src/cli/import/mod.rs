//! `urldb import`: lists of URLs into the database, all or nothing.
//!
//! `sync` reads and merges the lists, `report` prints, `fill` fetches URLs without a digest.

mod fill;
mod report;

use std::path::PathBuf;

use anyhow::Context as _;
use urldb_canon::{Identity as Url, identify};
use urldb_interchange::ReadEvent;
use urldb_interchange::budget::Budget;
use urldb_interchange::table::Columns;

use self::report::ImportReport;
use super::Context;
use crate::cli::args::{ChangedUrls, MapArgs, WriteArgs};
use crate::config::{Format, parse_base, parse_column};
use crate::database::aliases::Aliases;
use crate::database::edit::Edit;
use crate::database::site_rules;
use crate::exit::ExitCode;
use crate::stop::Stop;
use crate::sync::formats::{self, ReadOptions};
use crate::sync::spool::Spool;
use crate::sync::{Domain, MergePolicy, MergedDomain, OtherPage, common_folder, domains, page_of};

/// Import lists of URLs into the database
///
/// New URLs are added; known URLs get the keys that they lack, and keep their promises. If a URL is
/// refused, nothing is written, except with --keep-going.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb import list urls.txt --static
  urldb import sitemap sitemap-index.xml.gz --dry-run
  urldb import table links.csv --commit -m 'Promise the links of the paper'
  urldb import sums SHA256SUMS --base https://example.org/data/
  urldb import table links.csv --column url=Link --column name=Title
  urldb import links docs README.md --base https://example.org/
  urldb import warc crawl.warc.gz -c crawled")]
pub(super) struct Args {
    /// The format of the files
    format: Format,
    /// Files; `-` is standard input. For `bagit`, the folder of the bag; for `links`, `htaccess` and `files`, also folders
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Import the other URLs when some are refused
    #[arg(short, long)]
    keep_going: bool,
    /// Fetch URLs without a digest, and promise the bytes that they serve now; run it again to continue
    #[arg(long = "static", conflicts_with = "dry_run")]
    is_static: bool,
    /// Put the records into a category
    #[arg(short, long = "category", value_name = "CATEGORY")]
    categories: Vec<String>,
    /// The URL of the folder with the files of `sums`, `bazel-registry`, `debian-sources`, `datapackage`, `jsonld`,
    /// `bagit`, `htaccess` and `files`, or with the documents of `links`; the site of `redirects`; `http://` if names
    /// begin with a host
    #[arg(long, value_name = "URL", value_parser = parse_base)]
    base: Option<String>,
    /// Name of the `table` column for a KEY: `url`, or the key of a record
    #[arg(long = "column", value_name = "KEY=NAME", value_parser = parse_column)]
    columns: Vec<(String, String)>,
    /// The columns of a `table` without a header: a key or `-` for each, such as url,-,content-sha256
    #[arg(long = "columns", value_name = "KEYS", conflicts_with = "columns", value_parser = Columns::in_order)]
    order: Option<Columns>,
    /// Refuse a list of more URLs than this
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_urls: u64,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    map: MapArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<ExitCode> {
    let commit = args.write.begin(context)?;
    let mut spool = Spool::new()?;
    let mut report = ImportReport::new(context);
    read(args, context, &mut spool, &mut report).context("nothing was imported")?;
    args.map
        .apply(context, &spool.hosts())
        .context("nothing was imported")?;
    let (lacking, mut files) = write(args, context, &mut spool, &mut report)?;
    report.finish(args.write.dry_run, args.keep_going)?;
    let mut exit = report.exit();
    let mut promised = ChangedUrls::default();
    if !lacking.is_empty() && !report.stops(args.keep_going) {
        let filled = fill::fill(context, &lacking, exit)?;
        files.extend(filled.written);
        (exit, promised) = (filled.exit, filled.promised);
    }
    if let Some(commit) = commit {
        let (changed, known) = (&report.changed, &report.known);
        let subject = || match (changed.is_empty(), promised.is_empty()) {
            (true, true) => format!("Import {}", known.phrase()),
            (true, false) => format!("Promise what is served: {}", promised.phrase()),
            (false, _) => format!("Import {}", changed.phrase()),
        };
        commit.finish(&files, subject, exit, context)?;
    }
    Ok(exit)
}

/// Reads all lists into the spool.
fn read(
    args: &Args,
    context: &Context,
    spool: &mut Spool,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let rules = site_rules::load(&context.config)?;
    let names = args.columns.iter().cloned();
    let with_header = Columns::named(names.map(|(key, name)| (name, key)).collect());
    let paths = args.files.iter().map(|file| context.directory.join(file));
    let options = ReadOptions {
        format: args.format,
        base: args.base.as_deref(),
        columns: args.order.as_ref().unwrap_or(&with_header),
        index: &[],
        top: &common_folder(paths),
        root: None,
        budget: &Budget::default(),
        stop: &Stop::new(),
    };
    formats::read(&args.files, &options, &context.directory, &mut |found| {
        match found {
            ReadEvent::Notice(notice) => report.add_notice(&notice),
            ReadEvent::Item(_) if spool.len() == args.max_urls => {
                let message = format!(
                    "there are more than {} URLs; --max-urls takes more",
                    args.max_urls
                );
                return Err(message.into());
            }
            ReadEvent::Item(mut item) => {
                let categories = args.categories.iter().filter(|it| !it.is_empty());
                item.record.categories.extend(categories.cloned());
                match page_of(&rules, *item, OtherPage::Taken) {
                    Ok(item) => spool.push(&item)?,
                    Err(refused) => report.add_notice(&refused),
                }
            }
        }
        Ok(())
    })
}

/// Writes the changed domain files, once all of them are on disk. Returns the URLs without promised
/// bytes, and the files of all URLs, some of which an earlier call may have written.
fn write(
    args: &Args,
    context: &Context,
    spool: &mut Spool,
    report: &mut ImportReport,
) -> anyhow::Result<(Vec<Url>, Vec<PathBuf>)> {
    let mut edit = Edit::begin(&context.database())?;
    let aliases = Aliases::load(&context.config)?;
    let (mut lacking, mut files) = (vec![], vec![]);
    for (host, hosts) in domains(spool, &aliases) {
        let items = spool.take(&hosts)?;
        let policy = MergePolicy::Fill;
        let merged = Domain::open(&context.config, &host, &items, policy)
            .and_then(|domain| domain.merge(items, policy))
            .context("nothing was imported")?;
        report.add_domain(&merged)?;
        files.push(context.domain_file(&host));
        if args.is_static {
            lacking.extend(lacking_bytes(&merged));
        }
        if !args.write.dry_run && !report.stops(args.keep_going) {
            merged.prepare(&mut edit)?;
        }
    }
    if report.stops(args.keep_going) {
        return Ok((lacking, vec![]));
    }
    edit.commit()?;
    Ok((lacking, files))
}

/// The URLs without promised bytes.
fn lacking_bytes(merged: &MergedDomain) -> impl Iterator<Item = Url> {
    merged
        .records()
        .filter(|(record, ..)| !record.is_static() && record.request_key().is_none())
        .filter_map(|(.., url)| identify(&url).ok())
}
