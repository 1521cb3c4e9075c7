//! The sentences of the status site.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use urldb_protocol::{Counts, ImpairedRun, Overview};

use crate::numbers::{NO_BREAK, count, counted, headline, number};
use crate::text::capitalized;

/// The mark of a page: how good the state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// All promises are kept.
    Kept,
    /// A promise is broken.
    Broken,
    /// A promise flaps, and none is broken all the time.
    Unsteady,
    /// Nothing is known.
    Unknown,
}

impl Mark {
    /// The mark of so many URLs.
    pub const fn of(counts: &Counts) -> Self {
        if counts.broken + counts.muted > 0 {
            Self::Broken
        } else if counts.flapping > 0 {
            Self::Unsteady
        } else if counts.unknown == counts.urls {
            Self::Unknown
        } else {
            Self::Kept
        }
    }
}

/// The mark and the headline of the whole database: counts, unless the last run says nothing about most URLs.
pub fn site_headline(overview: &Overview) -> (Mark, String) {
    match &overview.impaired {
        Some(impaired) => (Mark::Unknown, impaired_sentence(impaired)),
        None => (Mark::of(&overview.counts), headline(&overview.counts)),
    }
}

/// `Only 312 of 1,174 URLs could be checked on 22 November.` It names no cause: the network may have failed, or somebody
/// interrupted the run.
pub fn impaired_sentence(impaired: &ImpairedRun) -> String {
    let results = match impaired.results {
        0 => "None".to_owned(),
        results => format!("Only {}", number(results)),
    };
    let day = impaired.at.strftime("%-d %B");
    format!(
        "{results} of {} could be checked on {day}.",
        counted(impaired.due, "URL")
    )
}

/// `12 URIs are held, not checked (ftp 9, urn 3).`; `None` if there are none.
pub fn held_uris(kinds: &BTreeMap<String, u64>) -> Option<String> {
    let all: u64 = kinds.values().sum();
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, uris)| format!("{kind}{NO_BREAK}{}", number(*uris)))
        .collect();
    let verb = if all == 1 { "is" } else { "are" };
    let (all_uris, kinds) = (count(all, "URI"), kinds.join(", "));
    (all > 0).then(|| format!("{all_uris} {verb} held, not checked ({kinds})."))
}

/// `Three incidents are open.`; empty without one.
pub fn open_incidents(incidents: u64) -> String {
    match incidents {
        0 => String::new(),
        1 => "One incident is open.".to_owned(),
        some => capitalized(&format!("{} incidents are open.", in_words(some))),
    }
}

/// One to nine are words.
fn in_words(count: u64) -> String {
    const WORDS: [&str; 10] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    ];
    usize::try_from(count)
        .ok()
        .and_then(|count| WORDS.get(count))
        .map_or_else(|| number(count), |word| (*word).to_owned())
}

/// `22 November 2026, 05:14 UTC`
pub fn moment_in_words(time: Timestamp) -> String {
    time.strftime("%-d %B %Y, %H:%M UTC").to_string()
}

/// `22 November 2026`
pub fn day_in_words(time: Timestamp) -> String {
    time.strftime("%-d %B %Y").to_string()
}

/// `22 Nov`, with the year if it is another than that of `now`.
pub fn short_day(day: Date, now: Timestamp) -> String {
    let this_year = now.to_zoned(TimeZone::UTC).year();
    if day.year() == this_year {
        day.strftime("%-d %b").to_string()
    } else {
        day.strftime("%-d %b %Y").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_few_results_is_no_news_about_promises() {
        let overview = |results| Overview {
            impaired: Some(ImpairedRun {
                at: "2026-11-22T05:02:11Z".parse().unwrap(),
                due: 1_174,
                results,
            }),
            ..Overview::default()
        };
        for (results, share) in [(0, "None"), (312, "Only 312")] {
            let text = format!("{share} of 1,174 URLs could be checked on 22 November.");
            assert_eq!(site_headline(&overview(results)), (Mark::Unknown, text));
        }
    }
}
