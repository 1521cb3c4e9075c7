//! The sentences of the status site.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use urldb_protocol::{HostOverview, Overview};

use crate::numbers::{counted, number};
use crate::text::capitalized;

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

/// The mark of a page: how good the state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// All promises are kept.
    Kept,
    /// A promise is affected.
    Broken,
    /// Nothing is known.
    Unknown,
}

/// The sentence at the top of a page, and the sentence for a page that is out of date.
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
    pub fn headline(&self) -> SiteHeadline {
        let all = self.all;
        if all == 0 {
            return SiteHeadline::timeless(Mark::Unknown, "No promises yet.".to_owned());
        }
        let promises = counted(all, "promise");
        if self.unknown == all {
            let text = format!("{promises}, none checked yet.");
            return SiteHeadline::timeless(Mark::Unknown, text);
        }
        if self.affected > 0 || self.incidents > 0 {
            return self.broken(&promises);
        }
        if self.in_doubt > 0 || self.unknown > 0 {
            return self.unsure(&promises);
        }
        let (subject, is, was) = match all {
            1 => ("The one promise".to_owned(), "is", "was"),
            _ => (format!("All {promises}"), "are", "were"),
        };
        SiteHeadline {
            mark: Mark::Kept,
            now: format!("{subject} {is} kept."),
            past: format!("{subject} {was} kept {{ago}}."),
        }
    }

    /// `Three incidents affect 141 of 1,247 promises.` Without incidents, the promises are the subject.
    fn broken(&self, promises: &str) -> SiteHeadline {
        let affected = match (self.affected, self.all) {
            (1, 1) => "the only promise".to_owned(),
            (affected, all) if affected == all => format!("all {promises}"),
            (affected, _) => format!("{} of {promises}", number(affected)),
        };
        let (now, past) = if self.incidents == 0 {
            let (is, was) = to_be(self.affected);
            (
                capitalized(&format!("{affected} {is} broken.")),
                capitalized(&format!("{affected} {was} broken {{ago}}.")),
            )
        } else {
            let (noun, verb) = match self.incidents {
                1 => ("incident", "affects"),
                _ => ("incidents", "affect"),
            };
            let subject = capitalized(&format!("{} {noun}", in_words(self.incidents)));
            (
                format!("{subject} {verb} {affected}."),
                format!("{subject} affected {affected} {{ago}}."),
            )
        };
        let mark = Mark::Broken;
        SiteHeadline { mark, now, past }
    }

    /// `No incident is open; 5 of 1,247 promises are in doubt.`
    fn unsure(&self, promises: &str) -> SiteHeadline {
        let (mut now, mut past) = (vec![], vec![]);
        if self.in_doubt > 0 {
            let (is, was) = to_be(self.in_doubt);
            let share = format!("{} of {promises}", number(self.in_doubt));
            now.push(format!("{share} {is} in doubt"));
            past.push(format!("{share} {was} in doubt"));
        }
        if self.unknown > 0 {
            let text = format!("{} of {promises} could not be judged", number(self.unknown));
            now.push(text.clone());
            past.push(text);
        }
        SiteHeadline {
            mark: Mark::Kept,
            now: format!("No incident is open; {}.", now.join(", ")),
            past: format!("No incident was open {{ago}}; {}.", past.join(", ")),
        }
    }
}

impl SiteHeadline {
    /// A sentence that is true at any time.
    fn timeless(mark: Mark, text: String) -> Self {
        Self {
            mark,
            now: text.clone(),
            past: text,
        }
    }
}

/// Present and past of *to be*, for a subject of so many.
const fn to_be(number: u64) -> (&'static str, &'static str) {
    match number {
        1 => ("is", "was"),
        _ => ("are", "were"),
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
