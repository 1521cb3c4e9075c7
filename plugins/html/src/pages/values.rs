//! Values that several pages show: times, figures, counts.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use urldb_protocol::{Counts, FileCounts, HostOverview, Incident};
use urldb_render::numbers::{counted, number};
use urldb_render::{day_in_words, moment_in_words, short_day};

/// Text such as `of 1,247 promises`; `rest` follows the noun.
pub(super) fn of(all: u64, noun: &str, rest: &str) -> String {
    format!("of {}{rest}", counted(all, noun))
}

/// `1 byte`, `364 bytes`.
pub(crate) fn bytes(number: u64) -> String {
    counted(number, "byte")
}

/// A point in time: for programs, and in words.
#[derive(Debug, Serialize)]
pub(crate) struct Time {
    pub(super) iso: String,
    words: String,
}

impl Time {
    pub(crate) fn moment(time: Timestamp) -> Self {
        Self {
            iso: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            words: moment_in_words(time),
        }
    }

    pub(crate) fn day(time: Timestamp) -> Self {
        Self {
            iso: time.strftime("%Y-%m-%d").to_string(),
            words: day_in_words(time),
        }
    }
}

/// A name with a number.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    name: &'static str,
    value: String,
    rest: String,
}

impl Figure {
    pub(crate) fn new(
        name: &'static str,
        value: impl Into<String>,
        rest: impl Into<String>,
    ) -> Self {
        Self {
            name,
            value: value.into(),
            rest: rest.into(),
        }
    }
}

/// The oldest date at which a run had read a file; absent without files. `now` is in the year that is left out.
pub(super) fn last_verified<'h>(
    hosts: impl Iterator<Item = &'h HostOverview>,
    now: Timestamp,
) -> Option<String> {
    let mut oldest: Option<Timestamp> = None;
    let mut hosts = hosts.filter(|host| host.files.all > 0).peekable();
    hosts.peek()?;
    for host in hosts {
        let Some(verified) = host.all_verified else {
            return Some("never".to_owned());
        };
        oldest = Some(oldest.unwrap_or(verified).min(verified));
    }
    oldest.map(|oldest| short_day(date(oldest), now))
}

/// The figures of the whole database or of one host: kept promises, the last verification of files, days
/// without incident and known days. `is_impaired`: the last run says nothing about most of them.
pub(super) fn promise_figures(
    counts: &Counts,
    (files, verified): (&FileCounts, Option<String>),
    (good_days, known_days): (usize, usize),
    is_impaired: bool,
) -> Vec<Figure> {
    let kept = of(counts.urls, "promise", "");
    let known = number(counts.ok);
    let (value, kept) = if is_impaired {
        ("not known".to_owned(), format!("before: {known} {kept}"))
    } else {
        (known, kept)
    };
    let mut figures = vec![Figure::new("Kept", value, kept)];
    if let Some(verified) = verified {
        let never = files.ages[4];
        let which = match never {
            0 if files.all == 1 => "the only file".to_owned(),
            0 => format!("the oldest of {}", counted(files.all, "file")),
            never => format!("{} of {}", number(never), counted(files.all, "file")),
        };
        let within = format!("{which}; {} within 7 days", number(files.verified));
        figures.push(Figure::new("Files last verified", verified, within));
    }
    if files.all > 0 {
        let of = of(files.all, "file", "");
        figures.push(Figure::new("In the archive", number(files.archived), of));
    }
    let known = match known_days {
        1 => "of 1 day".to_owned(),
        days => format!("of the last {days} days"),
    };
    figures.push(Figure::new(
        "Days without incident",
        good_days.to_string(),
        known,
    ));
    figures
}

/// The date of a time, in UTC.
pub(super) fn date(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// The first run that saw an incident, however often it closed and opened again.
pub(super) fn first_seen(incident: &Incident) -> Timestamp {
    let since = incident.since;
    incident.opened.map_or(since, |opened| opened.min(since))
}
