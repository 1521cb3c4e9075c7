//! The sentences of the status site.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use urldb_protocol::{BlindRun, ComesAndGoes, HostOverview, Overview, SeenResult, State};

use crate::numbers::{NO_BREAK, count, counted, number};
use crate::text::capitalized;

/// Counts of promises that a headline is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromiseCounts {
    /// All promises.
    pub all: u64,
    /// Those of open incidents, and those that are believed to be broken.
    pub affected: u64,
    /// The affected ones that come and go.
    pub intermittent: u64,
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
    /// A promise is broken.
    Broken,
    /// A promise comes and goes, and none is broken all the time.
    Unsteady,
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
            intermittent: {
                let incidents = overview.open.iter();
                let urls = incidents.flat_map(|it| it.incident.affected());
                urls.filter(|url| url.intermittent).count() as u64
            },
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
            intermittent: host.intermittent,
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

    /// `34 of 1,247 promises are broken; one comes and goes.`
    fn broken(&self, promises: &str) -> SiteHeadline {
        let intermittent = self.intermittent.min(self.affected);
        let broken = self.affected - intermittent;
        let share = |some: u64| match (some, self.all) {
            (1, 1) => "the only promise".to_owned(),
            (some, all) if some == all => format!("all {promises}"),
            (some, _) => format!("{} of {promises}", number(some)),
        };
        let (comes, came) = match intermittent {
            1 => ("comes and goes", "came and went"),
            _ => ("come and go", "came and went"),
        };
        let (is, was) = to_be(broken);
        let (mark, now, past) = match (broken, intermittent) {
            (0, 0) => {
                let subject = "No promise";
                let open = open_incidents(self.incidents);
                (
                    Mark::Broken,
                    format!(
                        "{subject} is broken, but {}.",
                        open.trim_end_matches('.').to_lowercase()
                    ),
                    format!("{subject} was broken {{ago}}, but an incident was open."),
                )
            }
            (0, some) => (
                Mark::Unsteady,
                format!("{} {comes}.", share(some)),
                format!("{} {came} {{ago}}.", share(some)),
            ),
            (_, 0) => (
                Mark::Broken,
                format!("{} {is} broken.", share(broken)),
                format!("{} {was} broken {{ago}}.", share(broken)),
            ),
            (_, some) => (
                Mark::Broken,
                format!("{} {is} broken; {} {comes}.", share(broken), in_words(some)),
                format!(
                    "{} {was} broken {{ago}}; {} {came}.",
                    share(broken),
                    in_words(some)
                ),
            ),
        };
        SiteHeadline {
            mark,
            now: capitalized(&now),
            past: capitalized(&past),
        }
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
    /// The sentence of the whole database.
    pub fn of(overview: &Overview) -> Self {
        match &overview.blind {
            Some(blind) => Self::timeless(Mark::Unknown, blind_sentence(blind)),
            None => PromiseCounts::of(overview).headline(),
        }
    }

    /// The sentence about the hosts of an overview: how many have broken promises.
    pub fn of_hosts(overview: &Overview) -> Self {
        let broken = |host: &&HostOverview| host.affected > host.intermittent;
        let hosts = overview.hosts.iter();
        let (broken, others): (Vec<_>, Vec<_>) = hosts.partition(broken);
        let unsteady = others.iter().filter(|host| host.intermittent > 0);
        let (broken, unsteady) = (broken.len() as u64, unsteady.count() as u64);
        if overview.blind.is_some() || broken + unsteady == 0 {
            return Self::of(overview);
        }
        let hosts = counted(overview.hosts.len() as u64, "host");
        let share = |some: u64| match (some, overview.hosts.len() as u64) {
            (1, 1) => "the only host".to_owned(),
            (some, all) if some == all => format!("all {hosts}"),
            (some, _) => format!("{} of {hosts}", number(some)),
        };
        let (comes, came) = match unsteady {
            1 => (
                "has a URL that comes and goes",
                "had a URL that came and went",
            ),
            _ => ("have URLs that come and go", "had URLs that came and went"),
        };
        let have = if broken == 1 { "has" } else { "have" };
        let (mark, now, past) = match (broken, unsteady) {
            (0, some) => (
                Mark::Unsteady,
                format!("{} {comes}.", share(some)),
                format!("{} {came} {{ago}}.", share(some)),
            ),
            (some, 0) => (
                Mark::Broken,
                format!("{} {have} broken promises.", share(some)),
                format!("{} had broken promises {{ago}}.", share(some)),
            ),
            (some, more) => {
                let (some, more) = (share(some), in_words(more));
                (
                    Mark::Broken,
                    format!("{some} {have} broken promises; {more} {comes}."),
                    format!("{some} had broken promises {{ago}}; {more} {came}."),
                )
            }
        };
        Self {
            mark,
            now: capitalized(&now),
            past: capitalized(&past),
        }
    }

    /// A sentence that is true at any time.
    fn timeless(mark: Mark, text: String) -> Self {
        Self {
            mark,
            now: text.clone(),
            past: text,
        }
    }
}

/// `Only 312 of 1,174 URLs could be checked on 22 November.`
pub fn blind_sentence(blind: &BlindRun) -> String {
    let day = blind.at.strftime("%-d %B");
    match blind.results {
        0 => format!("Nothing could be verified on {day}; it may be our own network."),
        results => format!(
            "Only {} of {} could be checked on {day}.",
            number(results),
            counted(blind.due, "URL")
        ),
    }
}

/// `None of 1,174 URLs gave a result.`; empty if some did.
pub fn without_results(blind: &BlindRun) -> String {
    match (blind.results, blind.due) {
        (0, 1) => "The only URL that was due gave no result.".to_owned(),
        (0, due) => format!(
            "None of {} that were due gave a result.",
            counted(due, "URL")
        ),
        _ => String::new(),
    }
}

/// `6 of the last 15 runs`: how often a URL was broken that comes and goes; `None` while fewer than two results are
/// known.
pub fn broken_runs(last: &ComesAndGoes) -> Option<String> {
    let number_of = |result| last.recent.iter().filter(|seen| **seen == result).count() as u64;
    let (broken, none) = (number_of(SeenResult::Broken), number_of(SeenResult::None));
    let runs = broken + number_of(SeenResult::Kept);
    let with_result = if none > 0 { " with a result" } else { "" };
    let text = format!("{broken} of the last {}{with_result}", counted(runs, "run"));
    (runs > 1).then_some(text)
}

/// `The same answer at each of the other 38 URLs, in each of 3 or more requests.`: the URLs of a chapter that has the
/// evidence of `shown` of them. `agreeing` has the fewest requests for a URL, if the run saw the state at each of them in all
/// requests. Empty if there is nothing to say.
pub fn other_urls(state: State, urls: u64, shown: u64, agreeing: Option<u32>) -> String {
    let others = urls.saturating_sub(shown);
    let other = if shown == 0 { "these" } else { "the other" };
    let what = match state {
        State::Changed => "Other bytes than promised",
        State::Unreachable => "The same failure",
        _ => "The same answer",
    };
    let which = match (others, shown) {
        (0, _) | (1, 0) => return String::new(),
        (1, _) => "the other URL".to_owned(),
        _ => format!("{other} {}", counted(others, "URL")),
    };
    let each = if others == 1 { "" } else { "each of " };
    match agreeing {
        Some(0 | 1) => format!("{what} at {each}{which}, in each request."),
        Some(some) => format!("{what} at {each}{which}, in each of {some} or more requests."),
        None if shown == 0 => String::new(),
        None => format!("The evidence of {which} is not stored."),
    }
}

/// `12 URIs are held, not checked (ftp 9, urn 3).`; `None` if there are none.
pub fn held_uris(kinds: &BTreeMap<String, u64>) -> Option<String> {
    let all: u64 = kinds.values().sum();
    let kinds = kinds
        .iter()
        .map(|(kind, uris)| format!("{kind}{NO_BREAK}{}", number(*uris)));
    let kinds: Vec<String> = kinds.collect();
    let verb = if all == 1 { "is" } else { "are" };
    let (all_uris, kinds) = (count(all, "URI"), kinds.join(", "));
    (all > 0).then(|| format!("{all_uris} {verb} held, not checked ({kinds})."))
}

/// `Unchanged: the run saw each of the 32 broken URLs as before.`
pub fn unchanged(urls: u64) -> String {
    match urls {
        1 => "Unchanged: the run saw the URL as before.".to_owned(),
        some => format!(
            "Unchanged: the run saw each of the {} as before.",
            counted(some, "broken URL")
        ),
    }
}

/// `Three incidents are open.`; empty without one.
pub fn open_incidents(incidents: u64) -> String {
    match incidents {
        0 => String::new(),
        1 => "One incident is open.".to_owned(),
        some => capitalized(&format!("{} incidents are open.", in_words(some))),
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
    fn a_run_with_few_results_is_no_news_about_promises() {
        let overview = |results| Overview {
            blind: Some(BlindRun {
                at: "2026-11-22T05:02:11Z".parse().unwrap(),
                due: 1_174,
                results,
            }),
            ..Overview::default()
        };
        let SiteHeadline { mark, now, past } = SiteHeadline::of(&overview(0));
        let sentence = "Nothing could be verified on 22 November; it may be our own network.";
        assert_eq!((mark, now.as_str()), (Mark::Unknown, sentence));
        assert_eq!(past, now);
        let some = SiteHeadline::of(&overview(312)).now;
        assert_eq!(
            some,
            "Only 312 of 1,174 URLs could be checked on 22 November."
        );
    }

    #[test]
    fn sentences_count_hosts() {
        let host = |affected, intermittent| HostOverview {
            urls: 9,
            affected,
            intermittent,
            ..HostOverview::default()
        };
        let kept = || vec![host(0, 0); 3];
        for (others, now, past) in [
            (
                vec![host(2, 0), host(2, 1), host(1, 1)],
                "2 of 6 hosts have broken promises; one has a URL that comes and goes.",
                "2 of 6 hosts had broken promises {ago}; one had a URL that came and went.",
            ),
            (
                vec![host(1, 0)],
                "1 of 4 hosts has broken promises.",
                "1 of 4 hosts had broken promises {ago}.",
            ),
            (
                vec![host(1, 1)],
                "1 of 4 hosts has a URL that comes and goes.",
                "1 of 4 hosts had a URL that came and went {ago}.",
            ),
        ] {
            let overview = Overview {
                hosts: [others, kept()].concat(),
                ..Overview::default()
            };
            let headline = SiteHeadline::of_hosts(&overview);
            assert_eq!((headline.now.as_str(), headline.past.as_str()), (now, past));
        }
        let of = |hosts| {
            let overview = Overview {
                hosts,
                totals: urldb_protocol::Totals {
                    urls: 9,
                    ..urldb_protocol::Totals::default()
                },
                ..Overview::default()
            };
            SiteHeadline::of_hosts(&overview).now
        };
        assert_eq!(of(vec![host(9, 0)]), "The only host has broken promises.");
        assert_eq!(of(vec![host(9, 0); 2]), "All 2 hosts have broken promises.");
        assert_eq!(of(kept()), "All 9 promises are kept.");
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
                "141 of 1,247 promises are broken.",
                "141 of 1,247 promises were broken {ago}.",
            ),
            (
                (240, 1, 1),
                "1 of 240 promises is broken.",
                "1 of 240 promises was broken {ago}.",
            ),
            (
                (100, 100, 1),
                "All 100 promises are broken.",
                "All 100 promises were broken {ago}.",
            ),
            (
                (1, 1, 1),
                "The only promise is broken.",
                "The only promise was broken {ago}.",
            ),
            (
                (30, 12, 12),
                "12 of 30 promises are broken.",
                "12 of 30 promises were broken {ago}.",
            ),
            (
                (30, 0, 1),
                "No promise is broken, but one incident is open.",
                "No promise was broken {ago}, but an incident was open.",
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
        for (affected, intermittent, now, past) in [
            (
                35,
                1,
                "34 of 1,247 promises are broken; one comes and goes.",
                "34 of 1,247 promises were broken {ago}; one came and went.",
            ),
            (
                1,
                1,
                "1 of 1,247 promises comes and goes.",
                "1 of 1,247 promises came and went {ago}.",
            ),
            (
                2,
                2,
                "2 of 1,247 promises come and go.",
                "2 of 1,247 promises came and went {ago}.",
            ),
        ] {
            let counts = PromiseCounts {
                all: 1_247,
                affected,
                intermittent,
                incidents: 1,
                ..PromiseCounts::default()
            };
            let SiteHeadline {
                now: is, past: was, ..
            } = counts.headline();
            assert_eq!((is.as_str(), was.as_str()), (now, past));
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
