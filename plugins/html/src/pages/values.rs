//! Values that several pages show: times, figures, counts.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use urldb_protocol::FileCounts;
use urldb_render::numbers::{counted, number};
use urldb_render::{day_in_words, moment_in_words};

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
    pub(crate) fn bytes(name: &'static str, bytes: u64) -> Self {
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        Self::new(name, number(bytes), unit)
    }

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

/// The figures of the whole database or of one host: kept and all promises, static URLs, days without
/// incident and known days.
pub(super) fn promise_figures(
    (kept, promises): (u64, u64),
    files: &FileCounts,
    (good_days, known_days): (usize, usize),
) -> Vec<Figure> {
    vec![
        Figure::new("Kept", number(kept), of(promises, "promise", "")),
        Figure::new(
            "Verified byte for byte",
            number(files.verified),
            of(files.all, "file", ", within 7 days"),
        ),
        Figure::new(
            "In the archive",
            number(files.archived),
            of(files.all, "file", ""),
        ),
        Figure::new(
            "Days without incident",
            good_days.to_string(),
            format!("of the last {known_days}"),
        ),
    ]
}

/// The date of a time, in UTC.
pub(super) fn date(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}
