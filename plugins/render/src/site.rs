//! The sentences of the status site.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use urldb_protocol::{HostOverview, Overview};

use crate::numbers::number;

/// Counts of promises that a headline is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromiseCounts {
    /// All promises.
    pub all: u64,
    /// Those of open incidents, and those that are believed to be broken.
    pub affected: u64,
    /// Those that failed without being confirmed.
    pub in_doubt: u64,
    /// Those that were never checked, or about which nothing is believed.
    pub unknown: u64,
    /// The open incidents.
    pub incidents: u64,
}

/// How good the state is: the mark of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// All promises are kept.
    Kept,
    /// A promise is affected.
    Broken,
    /// Nothing is known.
    Unknown,
}

/// The sentence at the top of a page, and the same for a page that is out of date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteHeadline {
    /// The mark.
    pub mark: Mark,
    /// `All 1,247 promises are kept.`
    pub now: String,
    /// `All 1,247 promises were kept {ago}.` A script replaces `{ago}`.
    pub past: String,
}

impl PromiseCounts {
    /// The counts of the whole database.
    pub fn of(overview: &Overview) -> Self {
        Self {
            all: overview.totals.urls,
            affected: overview.totals.affected,
            in_doubt: overview.totals.unconfirmed,
            unknown: overview.totals.unknown,
            incidents: overview.open.len() as u64,
        }
    }

    /// The counts of one host.
    pub fn of_host(host: &HostOverview) -> Self {
        Self {
            all: host.urls,
            affected: host.affected,
            in_doubt: host.unconfirmed,
            unknown: host.unknown,
            incidents: host.incidents.len() as u64,
        }
    }

    /// The sentence of these counts.
    #[expect(clippy::too_many_lines)]
    pub fn headline(&self) -> SiteHeadline {
        let Self {
            all,
            affected,
            in_doubt,
            unknown,
            incidents,
        } = *self;
        let sentence = |mark, now: String, past: String| SiteHeadline { mark, now, past };
        if all == 0 {
            let text = "No promises yet.".to_owned();
            return sentence(Mark::Unknown, text.clone(), text);
        }
        let promises = match all {
            1 => "1 promise".to_owned(),
            all => format!("{} promises", number(all)),
        };
        if unknown == all {
            let text = format!("{promises}, none checked yet.");
            return sentence(Mark::Unknown, text.clone(), text);
        }
        if affected > 0 || incidents > 0 {
            let what = match (affected, all) {
                (1, 1) => "the only promise".to_owned(),
                (affected, all) if affected == all => format!("all {promises}"),
                (affected, _) => format!("{} of {promises}", number(affected)),
            };
            let (one, several) = match incidents {
                0 => {
                    let is = if affected == 1 { "is" } else { "are" };
                    let was = if affected == 1 { "was" } else { "were" };
                    let now = capitalized(&format!("{what} {is} broken."));
                    let past = capitalized(&format!("{what} {was} broken {{ago}}."));
                    return sentence(Mark::Broken, now, past);
                }
                1 => ("affects", "affected"),
                _ => ("affect", "affected"),
            };
            let noun = if incidents == 1 {
                "incident"
            } else {
                "incidents"
            };
            let subject = capitalized(&format!("{} {noun}", in_words(incidents)));
            let now = format!("{subject} {one} {what}.");
            return sentence(
                Mark::Broken,
                now,
                format!("{subject} {several} {what} {{ago}}."),
            );
        }
        let mut rest = vec![];
        let mut past = vec![];
        if in_doubt > 0 {
            let (is, was) = if in_doubt == 1 {
                ("is", "was")
            } else {
                ("are", "were")
            };
            rest.push(format!("{} of {promises} {is} in doubt", number(in_doubt)));
            past.push(format!("{} of {promises} {was} in doubt", number(in_doubt)));
        }
        if unknown > 0 {
            let text = format!("{} of {promises} could not be judged", number(unknown));
            rest.push(text.clone());
            past.push(text);
        }
        if !rest.is_empty() {
            let now = format!("No incident is open; {}.", rest.join(", "));
            let past = format!("No incident was open {{ago}}; {}.", past.join(", "));
            return sentence(Mark::Kept, now, past);
        }
        match all {
            1 => sentence(
                Mark::Kept,
                "The one promise is kept.".to_owned(),
                "The one promise was kept {ago}.".to_owned(),
            ),
            _ => sentence(
                Mark::Kept,
                format!("All {promises} are kept."),
                format!("All {promises} were kept {{ago}}."),
            ),
        }
    }
}

/// One to nine are words.
fn in_words(count: u64) -> String {
    const WORDS: [&str; 10] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    ];
    let word = usize::try_from(count)
        .ok()
        .and_then(|count| WORDS.get(count));
    word.map_or_else(|| number(count), |word| (*word).to_owned())
}

pub(crate) fn capitalized(text: &str) -> String {
    crate::text::Text::from(text).capitalized()
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

    fn headline(all: u64, affected: u64, incidents: u64) -> (String, String) {
        let counts = PromiseCounts {
            all,
            affected,
            incidents,
            ..PromiseCounts::default()
        };
        let SiteHeadline { now, past, .. } = counts.headline();
        (now, past)
    }

    #[test]
    fn sentences_count_promises() {
        for (counts, now, past) in [
            ((0, 0, 0), "No promises yet.", "No promises yet."),
            (
                (1_247, 0, 0),
                "All 1,247 promises are kept.",
                "All 1,247 promises were kept {ago}.",
            ),
            (
                (1, 0, 0),
                "The one promise is kept.",
                "The one promise was kept {ago}.",
            ),
            (
                (1_247, 141, 3),
                "Three incidents affect 141 of 1,247 promises.",
                "Three incidents affected 141 of 1,247 promises {ago}.",
            ),
            (
                (240, 1, 1),
                "One incident affects 1 of 240 promises.",
                "One incident affected 1 of 240 promises {ago}.",
            ),
            (
                (100, 100, 1),
                "One incident affects all 100 promises.",
                "One incident affected all 100 promises {ago}.",
            ),
            (
                (1, 1, 1),
                "One incident affects the only promise.",
                "One incident affected the only promise {ago}.",
            ),
            (
                (30, 12, 12),
                "12 incidents affect 12 of 30 promises.",
                "12 incidents affected 12 of 30 promises {ago}.",
            ),
            (
                (3, 1, 0),
                "1 of 3 promises is broken.",
                "1 of 3 promises was broken {ago}.",
            ),
        ] {
            assert_eq!(
                headline(counts.0, counts.1, counts.2),
                (now.to_owned(), past.to_owned())
            );
        }
        let counts = PromiseCounts {
            all: 1_247,
            in_doubt: 5,
            unknown: 12,
            ..PromiseCounts::default()
        };
        assert_eq!(
            counts.headline().now,
            "No incident is open; 5 of 1,247 promises are in doubt, 12 of 1,247 promises could not be judged."
        );
        let counts = PromiseCounts {
            all: 2,
            unknown: 2,
            ..PromiseCounts::default()
        };
        assert_eq!(counts.headline().now, "2 promises, none checked yet.");
    }
}
