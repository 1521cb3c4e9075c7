//! `urldb log`.

use std::io::{self, Write};

use clap::ValueEnum;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use urldb_canon::{RequestUrl, authority};
use urldb_protocol::{Chapter, Incident, PROTOCOL};
use urldb_render::{LogDocument, log_entries};
use urldb_verdict::incident::{Reader, view};

use super::Context;
use super::args::UrlOrHost;
use super::print::output;
use crate::database::lookup::DomainIndex;
use crate::exit::ExitCode;
use crate::ledger::IncidentFile;
use crate::overview::domain_of;
use crate::project::project_info;

/// Number of characters of a date such as 2026-11-01.
const DATE: usize = 10;

/// A day without its end, which is the beginning of the next one.
const A_DAY: SignedDuration = SignedDuration::new(24 * 60 * 60 - 1, 999_999_999);

/// Show the events of incidents: what broke, and what recovered
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb log
  urldb log -n 20
  urldb log --since 2026-11-01 --until 2026-11-30
  urldb log example.org
  urldb log http://example.org/m51.csv
  urldb log ac4e5512    one incident
  urldb log --format jsonl | jq -r 'select(.event == \"opened\") | .host'
  git log -p example.org.yaml    the commits that changed its records")]
pub(super) struct Args {
    /// Only this URL, this host, or the incident with this id
    #[arg(value_name = "URL|HOST|INCIDENT")]
    target: Option<String>,
    /// At most N events, the latest ones
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    /// Only events from this day or time on, such as 2026-11-01 or 2026-11-01T04:00:00Z
    #[arg(long, value_name = "TIME", value_parser = begin_of)]
    since: Option<Timestamp>,
    /// Only events up to this day or time, the day included
    #[arg(long, value_name = "TIME", value_parser = end_of)]
    until: Option<Timestamp>,
    /// Text for people, one JSON document, or one JSON object per line
    #[arg(long, default_value = "human")]
    format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Human,
    Json,
    Jsonl,
}

/// The beginning of a day of UTC, or a time.
fn begin_of(text: &str) -> Result<Timestamp, String> {
    moments(text).map(|(begin, _)| begin)
}

/// The end of a day of UTC, or a time.
fn end_of(text: &str) -> Result<Timestamp, String> {
    moments(text).map(|(_, end)| end)
}

/// The first and the last moment of a day of UTC, or twice a time.
fn moments(text: &str) -> Result<(Timestamp, Timestamp), String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok((time, time));
    }
    let day = text.parse::<Date>().ok().filter(|_| text.len() == DATE);
    let begin = day
        .and_then(|day| day.to_zoned(TimeZone::UTC).ok())
        .map(|begin| begin.timestamp());
    let end = begin.and_then(|begin| begin.checked_add(A_DAY).ok());
    begin.zip(end).ok_or_else(|| {
        "a TIME is a day of UTC or a time, such as 2026-11-01 or 2026-11-01T04:00:00Z".to_owned()
    })
}

/// The incidents that the argument names.
struct Found {
    /// Its name, for a heading; the project without one.
    about: Option<String>,
    /// Each with the host of its domain file.
    incidents: Vec<(String, Incident)>,
}

impl Found {
    fn of(
        mut incidents: Vec<(String, Incident)>,
        about: Option<&str>,
        wants: impl Fn(&(String, Incident)) -> bool,
    ) -> Self {
        incidents.retain(wants);
        Self {
            about: about.map(str::to_owned),
            incidents,
        }
    }
}

/// The incidents of a URL, a host, which may be one whose domain file is gone, or all; or one by its id.
fn find(typed: Option<&str>, context: &Context) -> anyhow::Result<Found> {
    let files = context.incidents(None)?.into_known();
    let known: Vec<(String, Incident)> = files
        .iter()
        .filter_map(IncidentFile::to_incident)
        .filter(|incident| incident.merged_into.is_none())
        .map(|incident| (domain_of(&incident), incident))
        .collect();
    let is_id = |(_, it): &(String, Incident)| Some(&*it.id) == typed;
    if known.iter().any(is_id) {
        return Ok(Found::of(known, typed, is_id));
    }
    let error = match UrlOrHost::find(typed, context) {
        Ok(UrlOrHost::Everywhere) => return Ok(Found::of(known, None, |_| true)),
        Ok(UrlOrHost::Host(host)) => {
            let about = authority(&host);
            return Ok(Found::of(known, Some(&about), |(known, _)| *known == host));
        }
        Ok(UrlOrHost::Record { host, path, .. }) => {
            let urls = urls_of(context, &host, &path);
            let of_record = files.iter().filter_map(|IncidentFile { log, .. }| {
                let reader = Reader {
                    takes: &|key, _| urls.contains(&key.url),
                    ..Reader::of_all(log.events.len())
                };
                let is_own = |chapter: &Chapter| chapter.urls > 0;
                view(log, &reader).filter(|it| it.chapters.iter().any(is_own))
            });
            return Ok(Found {
                about: typed.map(str::to_owned),
                incidents: of_record.map(|incident| (host.clone(), incident)).collect(),
            });
        }
        Err(error) => error,
    };
    let former = Found::of(known, typed, |(host, _)| Some(&*authority(host)) == typed);
    if former.incidents.is_empty() {
        return Err(error);
    }
    Ok(former)
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let found = find(args.target.as_deref(), context)?;
    let mut entries = log_entries(&found.incidents);
    entries.retain(|entry| {
        args.since.is_none_or(|since| since <= entry.chapter.at)
            && args.until.is_none_or(|until| entry.chapter.at <= until)
    });
    entries.truncate(args.max_count.unwrap_or(usize::MAX));
    let project = project_info(&context.config);
    match args.format {
        LogFormat::Json => {
            let document = LogDocument {
                protocol: PROTOCOL,
                project,
                entries,
            };
            output::write_json_pretty(&mut output::stdout(), &document)?;
        }
        LogFormat::Jsonl => {
            let mut out = io::BufWriter::new(output::stdout());
            for entry in &entries {
                output::write_json_line(&mut out, entry)?;
            }
            out.flush()?;
        }
        LogFormat::Human => {
            let about = found.about.as_deref().unwrap_or(&project.name);
            let options = context.terminal_options();
            let text = urldb_render::log(about, &entries, options);
            output::stdout().write_all(text.as_bytes())?;
        }
    }
    Ok(ExitCode::Success)
}

/// The URLs of a record, over each scheme that runs use.
fn urls_of(context: &Context, host: &str, path: &str) -> Vec<String> {
    let file = context.domain_file(host);
    DomainIndex::read_where(&file, |it| it == path)
        .unwrap_or_default()
        .schemes_of(path)
        .into_iter()
        .filter_map(|scheme| RequestUrl::new(scheme, host, path))
        .map(String::from)
        .collect()
}
