//! Selects the revisits of quiet periods that are left out.
//!
//! A quiet period of a URL is a series of revisits with one digest, between which the archive has nothing
//! else of the URL: no response, no failure.

use std::collections::HashMap;

use urldb_warc::CdxjLine;
use urldb_warc::cdxj::REVISIT_MIME;

use crate::config::KeepRevisits;

/// The position of a record: the name of its file, and its offset.
pub(super) type Position = (String, u64);

/// When the URLs failed without a response, as `YYYYMMDDhhmmss`, in any order.
pub(super) type Failures = HashMap<String, Vec<String>>;

/// Selects the revisits to leave out, from the lines of an index in their order.
#[derive(Debug)]
pub(super) struct RevisitThinner<'a> {
    policy: KeepRevisits,
    failures: &'a Failures,
    /// The key of the lines that were added last.
    key: String,
    /// The quiet periods of the URLs with this key that have not ended, by URL and `vary`.
    periods: HashMap<(String, Option<String>), QuietPeriod>,
}

#[derive(Debug)]
struct QuietPeriod {
    digest: String,
    /// The unit of time of the last revisit that is kept.
    kept_unit: String,
    /// The last revisit so far, unless it is kept in any case.
    last: Option<LeftOutRecord>,
    /// The timestamp of the last revisit so far.
    until: String,
}

/// A record to leave out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftOutRecord {
    pub(super) position: Position,
    /// The length of the record, in bytes.
    pub(super) length: u64,
}

impl LeftOutRecord {
    /// The record of a line.
    pub(super) fn of(line: &CdxjLine) -> Self {
        Self {
            position: (line.filename.clone(), line.extent.offset),
            length: line.extent.length,
        }
    }
}

impl<'a> RevisitThinner<'a> {
    pub(super) fn new(policy: KeepRevisits, failures: &'a Failures) -> Self {
        Self {
            policy,
            failures,
            key: String::new(),
            periods: HashMap::new(),
        }
    }

    /// Adds the next line, and returns an earlier revisit that is left out: one that turns out not to be
    /// the last of its period.
    pub(super) fn add(&mut self, line: &CdxjLine) -> Option<LeftOutRecord> {
        if self.policy == KeepRevisits::All {
            return None;
        }
        if self.key != line.key {
            self.periods.clear();
            self.key.clone_from(&line.key);
        }
        let subject = (line.url.clone(), line.vary.clone());
        if line.mime != REVISIT_MIME {
            self.periods.remove(&subject);
            return None;
        }
        let unit = self.unit_of(&line.timestamp);
        let failures = self.failures.get(&line.url);
        let period = self.periods.get_mut(&subject).filter(|period| {
            let failed = failures.is_some_and(|failures| {
                let is_between = |at: &String| *at >= period.until && *at <= line.timestamp;
                failures.iter().any(is_between)
            });
            period.digest == line.digest && !failed
        });
        let Some(period) = period else {
            let begun = QuietPeriod {
                digest: line.digest.clone(),
                kept_unit: unit,
                last: None,
                until: line.timestamp.clone(),
            };
            self.periods.insert(subject, begun);
            return None;
        };
        period.until.clone_from(&line.timestamp);
        // The first of a unit is kept; any other only as the last of the period.
        let left_out = period.last.take();
        if period.kept_unit == unit {
            period.last = Some(LeftOutRecord::of(line));
        } else {
            period.kept_unit = unit;
        }
        left_out
    }

    /// The day, week or month of a timestamp, in UTC.
    fn unit_of(&self, timestamp: &str) -> String {
        let day = timestamp.get(..8).unwrap_or(timestamp);
        match self.policy {
            KeepRevisits::All => timestamp.to_owned(),
            KeepRevisits::Daily => day.to_owned(),
            KeepRevisits::Monthly => timestamp.get(..6).unwrap_or(timestamp).to_owned(),
            KeepRevisits::Weekly => match jiff::civil::Date::strptime("%Y%m%d", day) {
                Ok(date) => {
                    let week = date.iso_week_date();
                    format!("{}-W{:02}", week.year(), week.week())
                }
                Err(_) => day.to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use urldb_warc::Extent;

    use super::*;

    fn line(day: u64, kind: char) -> CdxjLine {
        let date = jiff::civil::date(2026, 1, 1)
            .checked_add(jiff::Span::new().days(i64::try_from(day).unwrap()))
            .unwrap();
        CdxjLine {
            key: "k".to_owned(),
            timestamp: format!("{}060000", date.strftime("%Y%m%d")),
            url: "http://a.test/".to_owned(),
            mime: if kind.is_ascii_uppercase() {
                "text/plain"
            } else {
                REVISIT_MIME
            }
            .to_owned(),
            status: Some(200),
            digest: format!("sha256:{}", kind.to_ascii_lowercase()),
            extent: Extent {
                offset: day,
                length: 10,
            },
            filename: "urldb.warc.gz".to_owned(),
            request: None,
            vary: None,
            truncated: None,
        }
    }

    /// The days that are left out of a history with one letter a day: `A` is a response, `a` a revisit of
    /// it, `.` nothing, `!` a failure.
    fn left_out(policy: KeepRevisits, history: &str) -> Vec<u64> {
        let mut failures = Failures::new();
        let days = || (0..).zip(history.chars());
        for (day, _) in days().filter(|(_, kind)| *kind == '!') {
            let failed = failures.entry("http://a.test/".to_owned()).or_default();
            failed.push(line(day, 'x').timestamp);
        }
        let mut thinner = RevisitThinner::new(policy, &failures);
        let lines = days().filter(|(_, kind)| kind.is_ascii_alphabetic());
        let left_out = lines.filter_map(|(day, kind)| thinner.add(&line(day, kind)));
        left_out.map(|left_out| left_out.position.1).collect()
    }

    #[test]
    fn the_first_the_last_and_one_of_each_month_stay() {
        let history = format!("A{}", "a".repeat(99));
        let left_out: BTreeSet<u64> = left_out(KeepRevisits::Monthly, &history)
            .into_iter()
            .collect();
        let kept: Vec<u64> = (0..100).filter(|day| !left_out.contains(day)).collect();
        // The response, the first revisit, the first of February, March and April, the last revisit.
        assert_eq!(kept, [0, 1, 31, 59, 90, 99]);
    }

    #[test]
    fn a_change_and_a_failure_end_a_quiet_period() {
        let policy = KeepRevisits::Monthly;
        assert_eq!(left_out(policy, "AaaaaBbbbb"), [2, 3, 7, 8]);
        assert_eq!(left_out(policy, "Aaaa!aaaa"), [2, 6, 7]);
        assert_eq!(left_out(policy, "AaaaBaaa"), [2, 6]);
        assert_eq!(left_out(policy, "Aaabaa"), [] as [u64; 0]);
        assert_eq!(left_out(policy, "Aa..aa"), [4]);
        assert_eq!(left_out(KeepRevisits::Weekly, "Aaaaaaaaa"), [2, 3, 5, 6, 7]);
        assert_eq!(left_out(KeepRevisits::Daily, "Aaaaaa"), [] as [u64; 0]);
        assert_eq!(left_out(KeepRevisits::All, "Aaaaaa"), [] as [u64; 0]);
    }

    proptest! {
        /// With any history, responses stay, and around each revisit that is left out there is a kept
        /// revisit of the same content before and after, with only such revisits in between.
        #[test]
        fn what_is_left_out_is_within_a_quiet_period(history in "[ABab.!]{0,80}") {
            for policy in [KeepRevisits::Daily, KeepRevisits::Weekly, KeepRevisits::Monthly] {
                let left_out: BTreeSet<u64> = self::left_out(policy, &history).into_iter().collect();
                let kinds: Vec<char> = history.chars().collect();
                for day in &left_out {
                    let at = usize::try_from(*day).unwrap();
                    let kind = kinds[at];
                    prop_assert!(kind.is_ascii_lowercase());
                    let is_kept = |near: usize| {
                        kinds[near] == kind && !left_out.contains(&(near as u64))
                    };
                    let continues = |near: &usize| kinds[*near] == kind || kinds[*near] == '.';
                    let before = (0..at).rev().take_while(continues).any(is_kept);
                    let after = (at + 1..kinds.len()).take_while(continues).any(is_kept);
                    prop_assert!(before && after, "{} of {}", day, history);
                }
            }
        }
    }
}
