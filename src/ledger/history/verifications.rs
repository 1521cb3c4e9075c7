//! The verifications of static URLs, as the history tells them: the URLs that were unverified after a run,
//! and when each URL was verified last.
//!
//! A run refers to the run that it started from. Two runs that start from the same one, on two machines
//! or branches, are two branches of the history, whatever the order of their lines after a merge. So
//! the runs form trees. The trees are cut into chains, and each URL that was ever unverified has the
//! places in the chains where it became unverified, or was verified again.
//!
//! A chain starts from a run of an earlier chain, so that each walk back comes to an end.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use urldb_verdict::{JobKey, Rehash, Selection};

use super::RehashDays;
use super::order::Starts;

pub(super) const DAY: i64 = 24 * 60 * 60;

/// When each static URL was verified last.
///
/// Memory grows with the runs (about 200 bytes for each), with the URLs that were ever unverified (each
/// with its text once), and with the times that they became unverified or were verified again (12 bytes
/// for each). It does not grow with the URLs of the database.
#[derive(Debug, Default)]
pub struct Verifications {
    /// In their order.
    pub(super) runs: Vec<Run>,
    pub(super) starts: Starts,
    /// The number of the run before now.
    pub(super) present: Option<u32>,
    /// The chains, in the order of their first runs.
    pub(super) chains: Vec<Chain>,
    /// The numbers of the URLs that were ever unverified.
    pub(super) urls: HashMap<String, u32>,
    /// The changes of each of these URLs, sorted.
    pub(super) changes: Vec<Vec<Change>>,
}

/// A static URL whose last verification is sought.
#[derive(Debug, Clone, Copy)]
pub struct SoughtUrl<'a> {
    /// The URL, as in the history.
    pub url: &'a str,
    /// Its job. Aliases are not asked in each run, so that their verifications are unknown.
    pub key: &'a JobKey,
    /// The categories of its record.
    pub categories: &'a [String],
    /// When a run first saw the job, from the ledger; earlier runs have not verified it.
    pub added: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) at: Timestamp,
    pub(super) id: String,
    pub(super) selection: Option<Selection>,
    /// Whether it verified any URL, at a time that is known.
    pub(super) verifies: bool,
    pub(super) rehash: Option<RehashDays>,
    pub(super) place: ChainPosition,
}

/// Runs, each of which starts from the one before.
#[derive(Debug)]
pub(super) struct Chain {
    /// Numbers of runs, ascending.
    pub(super) runs: Vec<u32>,
    /// The start of the first run.
    pub(super) start: Start,
    /// The start of the latest run that verified any URL, in this chain or one before.
    pub(super) latest: Timestamp,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// No URL is unverified: the first run lists all that are.
    Nothing,
    /// A run of an earlier chain, by its place there.
    Run(ChainPosition),
    /// A run whose line is lost. Of a URL that the chain does not name, nothing is known.
    Unknown,
}

/// A run, by chain and by its number in the chain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChainPosition {
    pub(super) chain: u32,
    pub(super) number: u32,
}

/// A run after which a URL is unverified and was not before, or the other way round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) place: ChainPosition,
    pub(super) is_unverified: bool,
}

impl Verifications {
    /// The ids of the runs, in their order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.id.as_str())
    }

    /// The unverified URLs after a run; `None` if the history does not tell.
    pub(super) fn unverified_after(&self, run: &Run) -> Option<HashSet<String>> {
        let mut start = run.place;
        loop {
            match self.chains[start.chain as usize].start {
                Start::Unknown => return None,
                Start::Nothing => break,
                Start::Run(earlier) => start = earlier,
            }
        }
        Some(
            self.urls
                .iter()
                .filter(|(_, url)| self.is_unverified(**url, run.place))
                .map(|(text, _)| text.clone())
                .collect(),
        )
    }

    /// When the last run began that read all bytes of this URL and found them as promised. With
    /// `rehash-every`, a run with 304s counts only for the URLs whose turn it was: a URL that was read in
    /// full without need may have been verified later.
    pub fn last(&self, sought: &SoughtUrl<'_>) -> Option<Timestamp> {
        if sought.key.alias.is_some() {
            return None;
        }
        let url = self.urls.get(sought.url).copied();
        let has_read = self.has_read(sought);
        let mut best: Option<Timestamp> = None;
        for (number, chain) in self.chains.iter().enumerate().rev() {
            if best.is_some_and(|best| best >= chain.latest) {
                break;
            }
            best = best.max(self.last_in(chain, number, url, &has_read));
        }
        best
    }

    /// When the first run of the present series began: each run since then that read all bytes of this URL
    /// found them as promised. `None` if the last such run did not, or if none did.
    pub fn since(&self, sought: &SoughtUrl<'_>) -> Option<Timestamp> {
        if sought.key.alias.is_some() {
            return None;
        }
        let changes = self
            .urls
            .get(sought.url)
            .map_or(&[][..], |url| &self.changes[*url as usize]);
        let has_read = self.has_read(sought);
        let mut end = self.runs[self.present? as usize].place;
        let mut since = None;
        loop {
            let chain = &self.chains[end.chain as usize];
            let until = changes.partition_point(|change| change.place <= end);
            let last = changes[..until].last();
            let last = last.filter(|last| last.place.chain == end.chain);
            if last.is_some_and(|last| last.is_unverified) {
                return since;
            }
            let begin = last.map_or(0, |last| last.place.number as usize);
            let read = chain.runs[begin..=end.number as usize]
                .iter()
                .find(&has_read);
            since = read.map(|run| self.runs[*run as usize].at).or(since);
            if last.is_some() {
                return since;
            }
            end = match chain.start {
                Start::Unknown => return since,
                Start::Run(earlier) => earlier,
                // The first run of a month lists all unverified URLs, and this one is not among them.
                Start::Nothing => match chain.runs[0].checked_sub(1) {
                    Some(earlier) => self.runs[earlier as usize].place,
                    None => return since,
                },
            };
        }
    }

    /// When the last run of a chain verified a URL.
    fn last_in(
        &self,
        chain: &Chain,
        number: usize,
        url: Option<u32>,
        has_read: &impl Fn(&&u32) -> bool,
    ) -> Option<Timestamp> {
        let verified = |runs: &[u32]| {
            let read = runs.iter().rev().find(has_read)?;
            Some(self.runs[*read as usize].at)
        };
        let changes = url.map_or(&[][..], |url| &self.changes[url as usize]);
        let from = changes.partition_point(|change| (change.place.chain as usize) < number);
        let until = changes.partition_point(|change| change.place.chain as usize <= number);
        let mut end = chain.runs.len();
        for change in changes[from..until].iter().rev() {
            let begin = change.place.number as usize;
            if !change.is_unverified
                && let Some(found) = verified(&chain.runs[begin..end])
            {
                return Some(found);
            }
            end = begin;
        }
        if self.is_unverified_at(chain.start, url) {
            None
        } else {
            verified(&chain.runs[..end])
        }
    }

    /// Tells of a run whether it asked for a URL, and read all its bytes if they were not as promised
    /// before.
    fn has_read(&self, sought: &SoughtUrl<'_>) -> impl Fn(&&u32) -> bool {
        let first = sought.added.map(|added| self.starts.first_since(added));
        move |run| {
            let number = **run as usize;
            first.is_none_or(|first| number >= first) && self.runs[number].has_read(sought)
        }
    }

    /// Whether a URL is unverified after the run at this place.
    fn is_unverified(&self, url: u32, place: ChainPosition) -> bool {
        self.is_unverified_at(Start::Run(place), Some(url))
    }

    fn is_unverified_at(&self, mut start: Start, url: Option<u32>) -> bool {
        let changes = url.map_or(&[][..], |url| &self.changes[url as usize]);
        loop {
            match start {
                Start::Nothing => return false,
                Start::Unknown => return true,
                Start::Run(place) => {
                    let until = changes.partition_point(|change| change.place <= place);
                    let last = changes[..until].last();
                    if let Some(last) = last.filter(|last| last.place.chain == place.chain) {
                        return last.is_unverified;
                    }
                    start = self.chains[place.chain as usize].start;
                }
            }
        }
    }
}

impl Run {
    fn has_read(&self, sought: &SoughtUrl<'_>) -> bool {
        let selects = |selection: &Selection| selection.wants_job(sought.key, sought.categories);
        let is_due = |rehash: RehashDays| {
            let day = u64::try_from(self.at.as_second() / DAY).unwrap_or_default();
            Rehash::of_days(rehash.every, day, rehash.days).is_due(sought.key)
        };
        self.verifies
            && self.selection.as_ref().is_none_or(selects)
            && self.rehash.is_none_or(is_due)
    }
}
