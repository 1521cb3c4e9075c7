//! Tells from the `Date` of responses (RFC 9110, 6.6.1) that our own clock is wrong.
//!
//! Each registrable domain has one vote, and an address has one of its own: many hosts of one owner
//! cannot set our clock. The vote is the latest `Date` of the domain's responses, compared with when
//! each request was sent: a cache can only make a `Date` older. Only the first response of a fetch
//! counts, since servers choose where their redirects lead.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use crate::diagnosis::registrable_domain;
use crate::observation::{Hop, Observation};
use crate::verdict::JudgedJob;

/// Fewest domains that agree on another time than ours.
const FEWEST: usize = 3;

/// Votes agree that differ by at most this number of seconds.
const AGREEMENT: i64 = 5 * 60;

/// The smallest difference that makes our clock wrong, in minutes.
const SMALLEST: u64 = 60;

/// The years of a `Date` that counts. Servers without a clock send the first or the last time that they
/// can write.
const YEARS: std::ops::RangeInclusive<i16> = 1971..=9998;

/// The votes of a run's domains on our clock.
#[derive(Debug, Default)]
pub struct ClockVotes {
    /// By how many seconds the clock of each domain is ahead of ours.
    ahead: BTreeMap<String, i64>,
}

/// Our clock is wrong, by the clocks of most domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongClock {
    /// By how many seconds our clock is behind; negative if it is ahead.
    pub seconds_behind: i64,
    /// Number of domains that agree.
    pub domains: usize,
}

impl ClockVotes {
    /// Adds the responses to a job. Those with `Age` come from a cache (RFC 9111, 5.1), and do not count;
    /// nor do those without exactly one `Date` that is a time.
    pub fn add(&mut self, judged: &JudgedJob) {
        let Some(ahead) = judged
            .observations
            .iter()
            .filter_map(Observation::first)
            .filter_map(seconds_ahead)
            .max()
        else {
            return;
        };
        let latest = self
            .ahead
            .entry(registrable_domain(judged))
            .or_insert(ahead);
        *latest = ahead.max(*latest);
    }

    /// The mistake of our clock, if most domains, and at least three, agree within five minutes on a time
    /// that differs by an hour from ours.
    pub fn wrong_clock(&self) -> Option<WrongClock> {
        wrong_clock(self.ahead.values().copied().collect())
    }
}

/// By how many seconds the clock of a server is ahead of ours.
fn seconds_ahead(hop: &Hop) -> Option<i64> {
    let mut dates = hop.values("date");
    let (Some(date), None, None) = (dates.next(), dates.next(), hop.values("age").next()) else {
        return None;
    };
    let date = jiff::fmt::rfc2822::parse(date.trim()).ok()?;
    YEARS
        .contains(&date.year())
        .then(|| date.timestamp().as_second() - hop.at.as_second())
}

fn wrong_clock(mut votes: Vec<i64>) -> Option<WrongClock> {
    votes.sort_unstable();
    let groups = votes.iter().enumerate().map(|(first, vote)| {
        let end = votes.partition_point(|other| *other <= vote + AGREEMENT);
        &votes[first..end]
    });
    // Of two groups of one size, the one nearer to our clock counts.
    let nearest = |group: &[i64]| group.iter().map(|vote| vote.abs()).min();
    let group = groups.max_by_key(|group| (group.len(), Reverse(nearest(group))))?;
    if group.len() < FEWEST || 2 * group.len() <= votes.len() {
        return None;
    }
    let seconds_behind = group[group.len() / 2];
    // To the nearest minute: a `Date` has whole seconds, and an answer takes a while.
    let minutes = (seconds_behind.unsigned_abs() + 30) / 60;
    (minutes >= SMALLEST).then_some(WrongClock {
        seconds_behind,
        domains: group.len(),
    })
}

impl std::error::Error for WrongClock {}

impl fmt::Display for WrongClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = (self.seconds_behind.unsigned_abs() + 1800) / 3600;
        let days = (hours + 12) / 24;
        let (number, unit) = match days {
            0..=1 => (hours, "hour"),
            2..=730 => (days, "day"),
            _ => (days / 365, "year"),
        };
        let plural = if number == 1 { "" } else { "s" };
        let side = match self.seconds_behind {
            1.. => "behind",
            _ => "ahead of",
        };
        write!(
            f,
            "the clock of this machine is {number} {unit}{plural} {side} that of {} domains",
            self.domains
        )
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;

    fn said(votes: &[i64]) -> Option<String> {
        let wrong = wrong_clock(votes.to_vec())?;
        let text = wrong.to_string();
        let text = text.strip_prefix("the clock of this machine is ");
        Some(text.unwrap().replace(" domains", ""))
    }

    #[test]
    fn most_of_three_or_more_domains_tell_that_our_clock_is_wrong() {
        let many = [vec![3 * DAY; 41], vec![0; 40]].concat();
        for (votes, expected) in [
            (&[][..], None),
            (&[DAY], None),
            (&[DAY, DAY], None),
            (&[DAY, DAY, DAY], Some("24 hours behind that of 3")),
            (&[-DAY, -DAY, -DAY], Some("24 hours ahead of that of 3")),
            // Two of one attacker do not decide, however few others vote.
            (&[DAY, DAY, 0], None),
            (&[DAY, DAY, DAY, 0], Some("24 hours behind that of 3")),
            // Half are not most.
            (&[DAY, DAY, DAY, 0, 0, 0], None),
            (&[DAY, DAY, DAY, 0, 9 * DAY, -DAY], None),
            (&many, Some("3 days behind that of 41")),
            // They agree with each other, not only one after the other.
            (
                &[DAY, DAY + 150, DAY + 300],
                Some("24 hours behind that of 3"),
            ),
            (&[DAY, DAY + 150, DAY + 301], None),
            (&[DAY, DAY + 200, DAY + 400, DAY + 600], None),
            // The hour is a whole one, although answers take a second.
            (
                &[HOUR - 1, HOUR - 1, HOUR - 2],
                Some("1 hour behind that of 3"),
            ),
            (&[HOUR - 60, HOUR - 60, HOUR - 60], None),
            (&[60 - HOUR, 60 - HOUR, 60 - HOUR], None),
            (&[-HOUR, -HOUR, -HOUR], Some("1 hour ahead of that of 3")),
            (&[47 * HOUR; 3], Some("2 days behind that of 3")),
            (&[400 * DAY; 3], Some("400 days behind that of 3")),
            (
                &[-7_971 * 365 * DAY; 4],
                Some("7971 years ahead of that of 4"),
            ),
        ] {
            assert_eq!(said(votes).as_deref(), expected, "{votes:?}");
        }
    }

    /// The vote of one response with these headers, to a request of 2026-11-22T04:17:00Z.
    fn vote(headers: &[(&str, &str)]) -> Option<i64> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_owned());
        seconds_ahead(&Hop {
            url: "http://a.example/".to_owned(),
            at: "2026-11-22T04:17:00Z".parse::<Timestamp>().unwrap(),
            address: None,
            certificate: None,
            sent: crate::Sent::default(),
            version: "HTTP/1.1".into(),
            protocols: vec![],
            authority: None,
            origin: crate::observation::Origin::default(),
            status: 200,
            reason_phrase: String::new(),
            headers: headers.iter().map(own).collect(),
            beginning: crate::Beginning::default(),
        })
    }

    #[test]
    fn a_response_votes_with_its_only_date_unless_a_cache_kept_it() {
        let date = |date| vote(&[("date", date)]);
        assert_eq!(date("Sun, 22 Nov 2026 04:17:01 GMT"), Some(1));
        assert_eq!(date("Sun, 22 Nov 2026 03:17:00 GMT"), Some(-HOUR));
        assert_eq!(date(" Mon, 23 Nov 2026 04:17:00 GMT "), Some(DAY));
        for wrong in [
            "",
            "0",
            "2026-11-22T04:17:01Z",
            "Sat, 22 Nov 2026 04:17:01 GMT",
            "Sun, 22 Nov 2026 04:17:61 GMT",
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Fri, 31 Dec 9999 23:59:59 GMT",
            "Sun, 22 Nov 99999 04:17:01 GMT",
        ] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
        let good = ("date", "Sun, 22 Nov 2026 04:17:01 GMT");
        assert_eq!(vote(&[]), None);
        assert_eq!(vote(&[good, good]), None);
        assert_eq!(vote(&[good, ("age", "0")]), None);
        assert_eq!(vote(&[good, ("age", "")]), None);
        assert_eq!(vote(&[good, ("x-cache", "MISS")]), Some(1));
    }

    proptest! {
        #[test]
        fn a_decision_needs_three_domains_and_most_of_them(
            votes in prop::collection::vec(
                prop_oneof![
                    -400..400_i64,
                    (-3..3_i64, -200..200_i64).prop_map(|(days, seconds)| days * DAY + seconds),
                    -(1_i64 << 38)..(1 << 38),
                ],
                0..12,
            ),
            rotate in any::<prop::sample::Index>(),
        ) {
            let decision = wrong_clock(votes.clone());
            let mut rotated = votes.clone();
            if !votes.is_empty() {
                rotated.rotate_left(rotate.index(votes.len()));
            }
            prop_assert_eq!(wrong_clock(rotated), decision);
            let Some(WrongClock { seconds_behind, domains }) = decision else {
                return Ok(());
            };
            prop_assert!(domains >= 3 && 2 * domains > votes.len());
            prop_assert!(seconds_behind.abs() >= HOUR - 30);
            let agree = votes.iter().filter(|vote| (**vote - seconds_behind).abs() <= AGREEMENT);
            prop_assert!(agree.count() >= domains);
        }

        #[test]
        fn fewer_liars_than_half_change_nothing_where_the_others_say_that_our_clock_is_right(
            honest in prop::collection::vec(-150..=150_i64, 1..12),
            lies in prop::collection::vec(prop_oneof![Just(3 * DAY), -(1_i64 << 38)..(1 << 38)], 0..12),
        ) {
            let lies = lies.into_iter().take(honest.len() - 1);
            prop_assert_eq!(wrong_clock(honest.iter().copied().chain(lies).collect()), None);
        }
    }
}
