//! `urldb status`.

use std::io::Write;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use jiff::Timestamp;
use urldb_protocol::{Counts, Overview, State, UrlCondition, UrlOverview};
use urldb_render::{StatusScope, status, status_document};
use urldb_text::sanitize;

use super::Context;
use super::args::UrlOrHost;
use super::print::output;
use super::print::style::Format;
use crate::ambient::Ambient;
use crate::archive::Catalogue;
use crate::exit::ExitCode;
use crate::notify::{Outbox, Unrouted, unrouted};
use crate::overview::Sources;

/// Show what is broken, since when, and what was verified and archived last; without network
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb status
  urldb status example.org
  urldb status http://example.org/m51.csv
  urldb status --state gone --state changed
  urldb status --stale 30d    what nobody has compared for a month
  urldb status --format json | jq .counts")]
pub(super) struct Args {
    /// Only this URL, or this host
    #[arg(value_name = "URL|HOST")]
    target: Option<String>,
    /// Only URLs in this state
    #[arg(long = "state", value_name = "STATE", value_parser = states())]
    states: Vec<State>,
    /// Only URLs that were not compared in full for so long; without promised bytes, not checked
    #[arg(long, value_name = "TIME", value_parser = duration)]
    stale: Option<TypedSpan>,
    /// Text for people, or one JSON document
    #[arg(long, default_value = "human")]
    format: Format,
}

/// A span of time, as it was typed.
#[derive(Debug, Clone)]
struct TypedSpan {
    typed: String,
    duration: Duration,
}

fn states() -> impl TypedValueParser<Value = State> {
    let names = State::ALL.map(State::as_str);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<State>())
}

fn duration(typed: &str) -> Result<TypedSpan, String> {
    let duration = crate::config::section::duration(typed)
        .ok_or_else(|| format!("{typed:?} is no span of time: write 30d, 12h or 90m"))?;
    Ok(TypedSpan {
        typed: typed.to_owned(),
        duration,
    })
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let now = (Ambient::SYSTEM.now)();
    let target = UrlOrHost::find(args.target.as_deref(), context)?;
    let sources = Sources::read(&context.config, now)?;
    let is_filtered = !args.states.is_empty() || args.stale.is_some();
    let wants = |url: &UrlOverview| {
        let is_listed = is_filtered || args.target.is_some();
        is_listed && target.has(url) && args.wants(url, now)
    };
    let mut urls = vec![];
    let overview = sources.overview(wants, |host| {
        urls.extend(host.urls.iter().cloned());
        Ok(())
    })?;
    let overview = Overview {
        waiting: Outbox::new(&context.ledger()).waiting(|_| true),
        ..overview
    };
    let mut urls = target.narrow(urls);
    if let (UrlOrHost::Record { .. }, Ok(archive)) = (&target, context.catalogue()) {
        for url in &mut urls {
            add_last_capture(url, &archive)?;
        }
    }
    let host = match &target {
        UrlOrHost::Host(host) => overview.hosts.iter().find(|known| known.host == *host),
        _ => None,
    };
    let filter = args.filter();
    let scope = match (&target, host) {
        _ if is_filtered => StatusScope::Filtered(&filter),
        (UrlOrHost::Record { .. }, _) => StatusScope::Record,
        (_, Some(host)) => StatusScope::Host(host),
        _ => StatusScope::All,
    };
    let incidents = context.incidents(Some(now))?;
    let unrouted =
        unrouted(&context.config, incidents.known()).filter(|_| matches!(scope, StatusScope::All));
    write(args.format, &overview, scope, &urls, unrouted, context)?;
    Ok(match scope {
        StatusScope::All => exit_code(&overview.counts),
        StatusScope::Host(host) => exit_code(&host.counts),
        StatusScope::Record | StatusScope::Filtered(_) => of_urls(&urls, args.stale.is_some()),
    })
}

fn write(
    format: Format,
    overview: &Overview,
    scope: StatusScope<'_>,
    urls: &[UrlOverview],
    unrouted: Option<Unrouted>,
    context: &Context,
) -> anyhow::Result<()> {
    let mut out = output::stdout();
    match format {
        Format::Human => {
            let text = status(overview, scope, urls, context.terminal_options());
            out.write_all(text.as_bytes())?;
            if let Some(unrouted) = unrouted {
                writeln!(out, "{}", sanitize(&unrouted.line()))?;
            }
        }
        Format::Json => {
            let document = status_document(overview, urls.to_vec());
            output::write_json_pretty(&mut out, &document)?;
        }
    }
    Ok(())
}

impl Args {
    /// Whether the filters keep a URL.
    fn wants(&self, url: &UrlOverview, now: Timestamp) -> bool {
        let has_state = |state: &State| url.state == Some(*state) || url.pending == Some(*state);
        let seen = if url.is_static() {
            url.verified
        } else {
            url.checked
        };
        let is_stale = |stale: &TypedSpan| {
            seen.and_then(|seen| Duration::try_from(now.duration_since(seen)).ok())
                .is_none_or(|age| age > stale.duration)
        };
        (self.states.is_empty() || self.states.iter().any(has_state))
            && self.stale.as_ref().is_none_or(is_stale)
    }

    /// The filters, after `3 of 1,247 URLs`.
    fn filter(&self) -> String {
        let names: Vec<&str> = self.states.iter().map(|state| state.as_str()).collect();
        let states = match names.as_slice() {
            [] => None,
            names => Some(format!("in state {}", names.join(" or "))),
        };
        let stale = self.stale.as_ref();
        let stale = stale.map(|stale| format!("not verified within {}", stale.typed));
        let parts: Vec<String> = states.into_iter().chain(stale).collect();
        parts.join(", ")
    }
}

/// Replaces the capture of the ledger, which is the full one, by the last one of the same content.
fn add_last_capture(url: &mut UrlOverview, archive: &Catalogue) -> anyhow::Result<()> {
    if url.request.is_some() {
        return Ok(());
    }
    let captures = archive.find(&url.url, None)?;
    let last = captures
        .iter()
        .filter(|it| it.line.vary == url.variant)
        .rfind(|capture| capture.is_good());
    let Some(last) = last.filter(|last| last.is_revisit()) else {
        return Ok(());
    };
    if let Some(known) = &mut url.capture
        && let Some(date) = date_of(&last.line.timestamp)
    {
        known.date = date;
        known.record = None;
        known.file.clone_from(&last.line.filename);
        known.offset = Some(last.line.extent.offset);
        known.is_revisit = true;
        known.status = last.status;
    }
    Ok(())
}

/// `2026-11-22T04:17:02Z` of `20261122041702`.
fn date_of(timestamp: &str) -> Option<String> {
    let time = Timestamp::strptime("%Y%m%d%H%M%S%z", format!("{timestamp}+0000"));
    Some(time.ok()?.to_string())
}

/// 1 if a promise is broken or a domain file has a mistake, 3 if something is not known. A flapping URL does not
/// count: each run says what it saw.
const fn exit_code(counts: &Counts) -> ExitCode {
    if counts.broken + counts.mistakes > 0 {
        ExitCode::Findings
    } else if counts.unconfirmed + counts.unknown > 0 {
        ExitCode::Unsure
    } else {
        ExitCode::Success
    }
}

fn of_urls(urls: &[UrlOverview], is_stale: bool) -> ExitCode {
    let code = |url: &UrlOverview| match url.condition {
        UrlCondition::Affected if !url.muted && !url.flapping => ExitCode::Findings,
        UrlCondition::Unconfirmed | UrlCondition::Unknown => ExitCode::Unsure,
        _ if is_stale => ExitCode::Unsure,
        _ => ExitCode::Success,
    };
    urls.iter().map(code).max().unwrap_or_default()
}
