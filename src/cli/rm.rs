//! `urldb rm`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use urldb_format::{DomainFile, RecordIdentity};

use super::Context;
use super::args::find_records;
use super::print::style;
use crate::cli::print::output;
use crate::database::edit::Edit;
use crate::exit::ExitCode;

/// Remove URLs from the database
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  urldb rm http://example.org/old.csv")]
pub(super) struct Args {
    /// URLs of the database
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let mut edit = Edit::begin(&context.database())?;
    // All are looked up before any is removed: a typo in one leaves everything as it was.
    let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let named = find_records(context, &args.urls)?;
    for (url, named) in args.urls.iter().zip(named) {
        anyhow::ensure!(
            named.alias.is_none(),
            "{url} is an alias of {host}{path}, whose record is about both: \
             `urldb rm {scheme}://{host}{path}` removes it",
            host = named.domain,
            path = named.path,
            scheme = urldb_canon::identify(url)?.scheme,
        );
        paths.entry(named.domain).or_default().insert(named.path);
    }
    for (host, paths) in &paths {
        let mut file = DomainFile::read(context.domain_file(host))?.file;
        // A URL may have a record for each of several requests.
        let records = file.records().map(|entry| entry.record().identity());
        let named: Vec<RecordIdentity> = records
            .filter(|identity| paths.contains(&identity.path))
            .collect();
        for identity in &named {
            file.remove(identity)?;
        }
        edit.prepare(&file)?;
    }
    edit.commit()?;
    if context.quiet {
        return Ok(ExitCode::Success);
    }
    let mut out = output::stdout();
    let removed = style::paint(style::GOOD, "removed");
    for (host, paths) in &paths {
        let file = context.shown(&context.domain_file(host));
        for path in paths {
            writeln!(out, "{removed} {host}{path} from {file}")?;
        }
    }
    Ok(ExitCode::Success)
}
