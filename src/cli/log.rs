//! `urldb log`.

use std::collections::HashMap;
use std::io::{self, Write};

use clap::ValueEnum;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use urldb_canon::{RequestUrl, authority};
use urldb_protocol::{LogEntry, PROTOCOL, ProjectInfo};
use urldb_render::LogDocument;

use super::Context;
use super::args::UrlOrHost;
use super::print::output;
use crate::database::lookup::DomainIndex;
use crate::exit::ExitCode;
use crate::ledger::incidents;
use crate::overview::{Scope, Sources, domain_of};

/// Number of characters of a date such as 2026-11-01.
const DATE: usize = 10;

/// A day without its end, which is the beginning of the next one.
const A_DAY: SignedDuration = SignedDuration::new(24 * 60 * 60 - 1, 999_999_999);

/// Show the history of URLs: what broke, and what recovered
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb log
  urldb log -n 20
  urldb log --since 2026-11-01 --until 2026-11-30
  urldb log example.org
  urldb log http://example.org/m51.csv
  urldb log ac4e5512    one incident
  urldb log --format jsonl | jq -r 'select(.event == \"broken\") | .host'
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

/// The URLs, the host or the incident that the argument names.
enum Target {
    Incident(String),
    Urls(UrlOrHost),
}

impl Target {
    /// An incident, if there is one with this id; otherwise as [`UrlOrHost::find`], or a host whose domain file is gone.
    fn find(typed: Option<&str>, context: &Context) -> anyhow::Result<Self> {
        if let Some(id) = typed.filter(|typed| incidents::is_id(typed))
            && incidents::of_id(&context.ledger(), id)?.is_some()
        {
            return Ok(Self::Incident(id.to_owned()));
        }
        let error = match UrlOrHost::find(typed, context) {
            Ok(found) => return Ok(Self::Urls(found)),
            Err(error) => error,
        };
        let domains = context.incidents(None)?.into_known().into_iter();
        domains
            .filter_map(|file| Some(domain_of(&file.to_incident()?)))
            .find(|host| Some(&*authority(host)) == typed)
            .map(|host| Self::Urls(UrlOrHost::Host(host)))
            .ok_or(error)
    }
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let target = Target::find(args.target.as_deref(), context)?;
    let urls = match &target {
        Target::Urls(UrlOrHost::Record { host, path, .. }) => urls_of(context, host, path),
        _ => vec![],
    };
    // Everything changes rarely, but one URL never needs the changes of others.
    let wants = |url: &str| match &target {
        Target::Incident(_) => false,
        Target::Urls(UrlOrHost::Record { .. }) => urls.iter().any(|known| known == url),
        Target::Urls(_) => true,
    };
    let sources = Sources::read(&context.config, Timestamp::now(), wants)?;
    let scope = match &target {
        Target::Incident(id) => Scope::Incident(id),
        Target::Urls(UrlOrHost::Everywhere) => Scope::All,
        Target::Urls(UrlOrHost::Host(host)) => Scope::Host(host),
        Target::Urls(UrlOrHost::Record { host, .. }) => Scope::Record { host, urls: &urls },
    };
    let mut entries = sources.timeline(scope);
    entries.retain(|entry| {
        args.since.is_none_or(|since| since <= entry.at)
            && args.until.is_none_or(|until| entry.at <= until)
    });
    entries.truncate(args.max_count.unwrap_or(usize::MAX));
    write(args, &target, sources.project(), entries, context)?;
    Ok(ExitCode::Success)
}

/// Writes the entries in the form that is asked for.
fn write(
    args: &Args,
    target: &Target,
    project: ProjectInfo,
    entries: Vec<LogEntry>,
    context: &Context,
) -> anyhow::Result<()> {
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
            let typed = args.target.as_deref();
            let about = match target {
                Target::Urls(UrlOrHost::Host(host)) => &authority(host),
                _ => typed.unwrap_or(&project.name),
            };
            let with_hosts = !matches!(
                target,
                Target::Urls(UrlOrHost::Host(_) | UrlOrHost::Record { .. })
            );
            print(about, &entries, with_hosts, context)?;
        }
    }
    Ok(())
}

/// Prints the history for people.
fn print(
    about: &str,
    entries: &[LogEntry],
    with_hosts: bool,
    context: &Context,
) -> anyhow::Result<()> {
    let all: Vec<_> = context
        .incidents(None)?
        .into_known()
        .into_iter()
        .filter_map(|file| file.to_incident())
        .collect();
    let by_id: HashMap<&str, _> = all.iter().map(|it| (it.id.as_str(), it)).collect();
    let find = |id: &str| by_id.get(id).copied();
    let text = urldb_render::log(about, entries, find, with_hosts, context.terminal_options());
    output::stdout().write_all(text.as_bytes())?;
    Ok(())
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
