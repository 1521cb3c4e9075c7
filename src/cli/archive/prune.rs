//! `urldb archive prune`.

use anyhow::Context as _;
use data_encoding::HEXLOWER_PERMISSIVE;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use urldb_protocol::Evidence;
use urldb_warc::WarcDate;

use super::rewrite::{RewriteArgs, plan_and_carry_out};
use super::{Context, ExitCode};
use crate::ambient::Ambient;
use crate::archive::{NeededCaptures, plan_removal};
use crate::ledger::{Incidents, Ledger};

/// Remove old captures that nothing needs
///
/// Captures with promised bytes, the latest captures of each URL, the
/// captures of URLs in incidents, and the originals of revisits that stay
/// are never removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive prune --older-than 365d --dry-run
  urldb archive prune --older-than 2y")]
pub(super) struct Args {
    /// Remove only captures that are older, such as 90d, 18mo or 2y
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    older_than: Span,
    #[command(flatten)]
    rewrite: RewriteArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    let limit = limit((Ambient::SYSTEM.now)(), args.older_than)?;
    let needed = needed(context)?;
    plan_and_carry_out(&args.rewrite, context, |catalogue| {
        plan_removal(catalogue, &context.config.archive, &needed, &limit)
    })
}

fn parse_age(text: &str) -> Result<Span, String> {
    let is_age = |span: &Span| {
        let now = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
        let day = Span::new().days(1);
        let at_least_a_day = |then: jiff::Zoned| now.checked_sub(day).is_ok_and(|day| then <= day);
        now.checked_sub(*span).is_ok_and(at_least_a_day)
    };
    text.parse::<Span>()
        .ok()
        .filter(is_age)
        .ok_or_else(|| format!("{text:?} is no age of at least a day, such as 90d, 18mo or 2y"))
}

/// The time before which captures are old, as `YYYYMMDDhhmmss` in UTC.
fn limit(now: Timestamp, age: Span) -> anyhow::Result<String> {
    Ok(now
        .to_zoned(TimeZone::UTC)
        .checked_sub(age)
        .context("no capture can be that old")?
        .strftime("%Y%m%d%H%M%S")
        .to_string())
}

/// The captures that records, the ledger and incidents need.
fn needed(context: &Context) -> anyhow::Result<NeededCaptures> {
    let mut needed = NeededCaptures::default();
    let mut hosts = vec![];
    for parsed in context.config.open_database()?.read() {
        let file = parsed?.file;
        hosts.push(file.host().to_owned());
        let promised = file.records().filter_map(|entry| entry.record().sha256());
        needed.digests.extend(promised);
    }
    let ledger = Ledger::load(&context.ledger(), hosts.iter().map(String::as_str))?;
    for key in ledger.keys() {
        let archived = ledger.get(&key).and_then(|entry| entry.content);
        if let Some(capture) = archived.and_then(|content| content.capture)
            && let Ok(date) = capture.date.parse::<WarcDate>()
        {
            let timestamp = date.to_timestamp14();
            needed.captures.insert((capture.uri, timestamp));
        }
    }
    let incidents = Incidents::all(&context.ledger())?;
    // The captures that such an incident needs are not known.
    if let Some(unreadable) = incidents.unreadable().first() {
        anyhow::bail!("nothing was removed: {unreadable}");
    }
    let events = incidents
        .into_known()
        .into_iter()
        .flat_map(|file| file.log.events);
    for event in events {
        needed
            .urls
            .extend(event.urls.into_iter().map(|affected| affected.key.url));
        needed_contents(&mut needed, event.evidence);
    }
    Ok(needed)
}

/// Adds the promised and the observed contents of evidence.
fn needed_contents(needed: &mut NeededCaptures, evidence: Vec<Evidence>) {
    for evidence in evidence {
        // Behind a redirect, they are captures of another URL.
        let digests = [evidence.promised.sha256, evidence.observed.sha256]
            .into_iter()
            .flatten()
            .filter_map(|digest| {
                let bytes = HEXLOWER_PERMISSIVE.decode(digest.as_bytes()).ok()?;
                <[u8; 32]>::try_from(bytes).ok()
            });
        needed.digests.extend(digests);
        needed.urls.insert(evidence.url);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_days_or_longer() {
        for text in ["1d", "365d", "2y", "18mo", "1y 6mo", "24h"] {
            parse_age(text).expect(text);
        }
        for text in ["", "365", "1h", "-1d", "0d", "soon", "100000y"] {
            parse_age(text).expect_err(text);
        }
        let now = "2026-11-22T08:00:00Z".parse().unwrap();
        assert_eq!(
            limit(now, parse_age("1y").unwrap()).unwrap(),
            "20251122080000"
        );
    }
}
