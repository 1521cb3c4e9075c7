//! `urldb list`.

use urldb_text::sanitize;

use crate::cli::print::output;
use std::io::{self, Write};

use serde::Serialize;
use urldb_format::Record;

use super::Context;
use super::args::SelectArgs;
use super::args::{Rank, SearchArgs};
use super::print::style::Format;
use crate::exit::ExitCode;

/// List the URLs of the database
///
/// A record of a domain that is asked over http and https has a line for each
/// of the two URLs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb list
  urldb list -d example.org -c core
  urldb list --format json | jq -r .url
  urldb list --search 'solar system' --rating 3.. --group category")]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// One URL per line, or one JSON object per line
    #[arg(long, default_value = "human")]
    format: Format,
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

/// One line of `--format json`.
#[derive(Serialize)]
struct RecordLine<'a> {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    file: &'a str,
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [String],
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let selection = args.select.resolve(context)?;
    let mut out = std::io::BufWriter::new(output::stdout());
    let mut found: Vec<(Rank, String)> = vec![];
    let database = context.config.open_database()?;
    for parsed in database.read_where(|host| selection.wants_domain(host)) {
        let file = parsed?.file;
        let (host, name) = (file.host(), context.shown(file.path()));
        let schemes = file.metadata().schemes();
        let records = file
            .records()
            .filter(|entry| selection.wants_record(host, entry.record()))
            .filter(|entry| args.wants(entry.record()));
        let urls = records.flat_map(|entry| schemes.iter().map(move |scheme| (entry, scheme)));
        for (entry, scheme) in urls {
            let record = entry.record();
            let url = format!("{scheme}://{host}{}", record.path);
            let rank = args.search.is_asked_for().then(|| args.search.rank(record));
            let line = match args.format {
                Format::Human => sanitize(&url).into_owned(),
                Format::Json => {
                    let group = rank.as_ref().and_then(Rank::heading);
                    let place = (&*name, entry.line());
                    output::json(&record_line(url, place, group, record))?
                }
            };
            if let Some(rank) = rank {
                found.push((rank, line));
            } else {
                writeln!(out, "{line}")?;
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    write_found(&mut out, &found, args)?;
    out.flush()?;
    Ok(ExitCode::Success)
}

/// Writes the records that were found, under headings if they are grouped; JSON objects contain theirs.
fn write_found(out: &mut impl Write, found: &[(Rank, String)], args: &Args) -> io::Result<()> {
    for group in found.chunk_by(|one, other| one.0.heading() == other.0.heading()) {
        let heading = group.first().and_then(|(rank, _)| rank.heading());
        if args.search.is_grouped() && args.format == Format::Human {
            writeln!(out, "# {}", heading.unwrap_or("none"))?;
        }
        for (_, line) in group {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn record_line<'a>(
    url: String,
    (file, line): (&'a str, usize),
    group: Option<&'a str>,
    record: &'a Record,
) -> RecordLine<'a> {
    RecordLine {
        url,
        name: record.name.as_deref(),
        group,
        file,
        line,
        length: record.content_length,
        sha256: record.content_sha256.as_deref(),
        content_type: record.content_type.as_deref(),
        categories: &record.categories,
    }
}
