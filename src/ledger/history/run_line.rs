//! The line of a run for the history.

use std::collections::{BTreeSet, HashSet};

use urldb_protocol::{Envelope, Reason};
use urldb_verdict::{Rehash, Selection};

use super::{RehashDays, RunLine};

/// The point of the history from which a run starts.
#[derive(Debug)]
pub struct HistoryBase {
    /// The id of the run before; absent if the line of this run lists all unverified URLs.
    pub run: Option<String>,
    /// The days whose records this run reads in full.
    pub rehash: Rehash,
}

/// The static URLs that a run has not verified, compared with an earlier run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// The unverified URLs after the earlier run.
    pub before: HashSet<String>,
    /// URLs that were due, and whose bytes were not found as promised.
    pub unverified: BTreeSet<String>,
    /// URLs of `before` whose bytes were found as promised.
    pub verified_again: BTreeSet<String>,
    /// URLs of `before` that only answered 304.
    pub not_modified: BTreeSet<String>,
}

/// The hosts that a run could not check whole.
#[derive(Debug, Default)]
pub struct ImpairedHosts {
    /// Those of this run, if it was about all their URLs.
    pub impaired: Vec<String>,
    /// Those of earlier runs that are it no longer.
    pub no_longer: Vec<String>,
}

/// The line of a run.
pub fn run_line(
    envelope: &Envelope,
    selection: &Selection,
    HistoryBase { run: base, rehash }: HistoryBase,
    verification: Verification,
    hosts: ImpairedHosts,
) -> RunLine {
    let (run, coverage) = (&envelope.run, &envelope.summary.coverage);
    let is_everything = selection.is_everything();
    let mut line = RunLine {
        run: run.id.clone(),
        at: run.started,
        selection: (!is_everything).then(|| selection.clone()),
        base,
        incomplete: run.interrupted
            || envelope.unsure_because(&[Reason::RunEnded, Reason::NotAsked]) > 0,
        due: coverage.due,
        verified: coverage.static_verified,
        not_modified: coverage.not_modified,
        own_network: coverage.own_network,
        impaired: hosts.impaired,
        no_longer_impaired: hosts.no_longer,
        rehash: (coverage.not_modified > 0).then(|| RehashDays {
            every: rehash.every(),
            days: rehash.days(),
        }),
        states: envelope.summary.states.clone(),
        unverified: None,
        became_unverified: vec![],
        verified_again: vec![],
    };
    let verifies = coverage.static_verified > 0;
    if line.base.is_none() {
        let after = verification.unverified_after(verifies, is_everything);
        line.unverified = Some(after.into_iter().collect());
    } else if verifies {
        line.verified_again = verification.again().cloned().collect();
        let Verification {
            before, unverified, ..
        } = verification;
        let became = unverified.into_iter().filter(|url| !before.contains(url));
        line.became_unverified = became.collect();
    }
    line
}

impl Verification {
    /// The URLs that are verified again. A URL of several requests is verified if all of them are.
    fn again(&self) -> impl Iterator<Item = &String> {
        self.verified_again.difference(&self.unverified)
    }

    /// All unverified URLs after the run; `verifies` says whether it verified any URL.
    fn unverified_after(self, verifies: bool, is_everything: bool) -> BTreeSet<String> {
        if !verifies {
            return self.before.into_iter().collect();
        }
        if is_everything {
            // Records that are gone leave the list.
            return self
                .unverified
                .into_iter()
                .chain(self.not_modified)
                .collect();
        }
        let again: BTreeSet<String> = self.again().cloned().collect();
        self.before
            .into_iter()
            .filter(|url| !again.contains(url))
            .chain(self.unverified)
            .collect()
    }
}
