//! `urldb list`.

use urldb_text::sanitize;

use crate::cli::print::output;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use urldb_canon::RequestUrl;
use urldb_format::{DomainReader, HELD_URIS, Metadata, Record, RecordEntry};
use urldb_verdict::Selection;

use super::Context;
use super::args::{ChangedArgs, Rank, SearchArgs, SelectArgs};
use super::print::style::{ListFormat, print_invalid_record};
use crate::exit::ExitCode;

/// List the URLs of the database, over each scheme that runs use, and held URIs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb list
  urldb list -d example.org -c core
  urldb list --format jsonl | jq -r .url
  urldb list --search 'solar system' --rating 3.. --group category")]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    changed: ChangedArgs,
    /// One URL per line, or one JSON object per line
    #[arg(long, default_value = "human")]
    format: ListFormat,
    /// Leave out records of category `deprecated`, which runs do not ask for
    #[arg(long)]
    no_deprecated: bool,
    #[command(flatten)]
    search: SearchArgs,
}

impl Args {
    fn wants(&self, record: &Record) -> bool {
        let is_left_out = self.no_deprecated && record.has_category("deprecated");
        !is_left_out && self.search.wants(record)
    }
}

/// One line of `--format jsonl`.
#[derive(Serialize)]
struct RecordLine<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    file: &'a str,
    line: usize,
    /// The request headers that tell records of the URL apart, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'a str>,
    /// Further digests by their algorithms.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    digests: BTreeMap<&'static str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [String],
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let selection = Selection {
        changed: args.changed.records(context)?,
        ..args.select.resolve(context)?
    };
    let database = context.config.open_database()?;
    let mut listing = Listing {
        args,
        selection: &selection,
        out: io::BufWriter::new(output::stdout()),
        found: vec![],
    };
    for path in database.all_files() {
        let host = urldb_format::host_of(path);
        if !selection.wants_domain(&host) {
            continue;
        }
        let name = context.shown(path);
        let mut file = DomainReader::open(path)?;
        let metadata = file.metadata().clone();
        while let Some(document) = file.next()? {
            let path = document.path();
            if path.is_some_and(|path| selection.wants_path(&host, path))
                && let Some(entry) = document.to_entry()
            {
                listing.add(&entry, (&host, &metadata), &name)?;
            }
        }
    }
    listing.finish()
}

/// Prints records: at once, or sorted at the end if they are searched.
struct Listing<'a, W> {
    args: &'a Args,
    selection: &'a Selection,
    out: W,
    found: Vec<(Rank, String)>,
}

impl<W: Write> Listing<'_, W> {
    /// Adds a record of a domain with these metadata, if it is wanted.
    fn add(
        &mut self,
        entry: &RecordEntry,
        (host, metadata): (&str, &Metadata),
        name: &str,
    ) -> anyhow::Result<()> {
        let (args, record) = (self.args, entry.record());
        if !self.selection.wants_record(host, record) || !args.wants(record) {
            return Ok(());
        }
        for url in urls_of(record, host, metadata) {
            let Some(url) = url else {
                print_invalid_record(name, entry.line());
                continue;
            };
            let rank = args.search.is_asked_for().then(|| args.search.rank(record));
            let line = match args.format {
                ListFormat::Human => sanitize(&url).into_owned(),
                ListFormat::Jsonl => {
                    let digests = record.further_digests.iter();
                    output::json(&RecordLine {
                        url: &url,
                        name: record.name.as_deref(),
                        group: rank.as_ref().and_then(Rank::heading),
                        file: name,
                        line: entry.line(),
                        variant: metadata.variant_of(record),
                        length: record.content_length,
                        sha256: record.content_sha256.as_deref(),
                        digests: digests
                            .map(|(algorithm, hex)| (algorithm.name(), hex.as_str()))
                            .collect(),
                        content_type: record.content_type.as_deref(),
                        categories: &record.categories,
                    })?
                }
            };
            if let Some(rank) = rank {
                self.found.push((rank, line));
            } else {
                writeln!(self.out, "{line}")?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<ExitCode> {
        self.found.sort_by(|one, other| one.0.cmp(&other.0));
        write_found(&mut self.out, &self.found, self.args)?;
        self.out.flush()?;
        Ok(ExitCode::Success)
    }
}

/// The URL of a record over each scheme, or the held URI; `None` for one that is not valid.
fn urls_of(record: &Record, host: &str, metadata: &Metadata) -> Vec<Option<String>> {
    if host == HELD_URIS {
        let kind = urldb_canon::kind_of_held(&record.path);
        return vec![kind.map(|_| record.path.clone())];
    }
    let url = |scheme| RequestUrl::new(scheme, host, &record.path).map(String::from);
    metadata.schemes_of(record).into_iter().map(url).collect()
}

/// Writes the records that were found, under headings if they are grouped; JSON objects contain theirs.
fn write_found(out: &mut impl Write, found: &[(Rank, String)], args: &Args) -> io::Result<()> {
    for group in found.chunk_by(|one, other| one.0.heading() == other.0.heading()) {
        let heading = group.first().and_then(|(rank, _)| rank.heading());
        if args.search.is_grouped() && args.format == ListFormat::Human {
            writeln!(out, "# {}", heading.unwrap_or("none"))?;
        }
        for (_, line) in group {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
