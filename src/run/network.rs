//! Our own network, as the runs of the past and this one found it.

use jiff::Timestamp;
use urldb_protocol::Coverage;
use urldb_verdict::incident::{BlindRuns, OwnNetwork};

use crate::ambient::in_seconds;
use crate::ledger::PastRun;

/// The facts of a run about our own network.
pub(super) struct NetworkFacts<'a> {
    pub(super) started: Timestamp,
    /// Whether the run has asked all URLs of the database.
    pub(super) is_whole: bool,
    pub(super) coverage: &'a Coverage,
    /// Whether any host answered.
    pub(super) has_answer: bool,
    /// The runs before, in their order.
    pub(super) past: &'a [PastRun],
    /// The number of runs in a row that are news.
    pub(super) confirm: u64,
}

impl NetworkFacts<'_> {
    /// Our own network after the run. Runs over a part, and those that ended early, neither belong to the row of
    /// runs without results, nor end it without a proof: bytes that arrived as promised.
    pub(super) fn network(&self) -> OwnNetwork {
        let Coverage {
            due,
            own_network,
            static_verified,
            ..
        } = *self.coverage;
        if !is_blind(own_network, due) {
            let has_seen = static_verified > 0 || self.is_whole && self.has_answer;
            return if has_seen {
                OwnNetwork::Works
            } else {
                OwnNetwork::Unknown
            };
        }
        let (mut runs, mut since) = (u64::from(self.is_whole), self.started);
        for run in self.past.iter().rev() {
            let is_blind = is_blind(run.own_network, run.due);
            let is_whole = run.is_complete() && !run.incomplete;
            match (is_whole, is_blind) {
                (true, true) => (runs, since) = (runs + 1, in_seconds(run.at)),
                (false, _) if is_blind || run.verified == 0 => {}
                _ => break,
            }
        }
        if !self.is_whole || runs < self.confirm {
            return OwnNetwork::Unknown;
        }
        OwnNetwork::Fails(BlindRuns {
            runs,
            since,
            urls: own_network,
            asked: due,
        })
    }
}

/// Whether our own network took the results of over half of the URLs.
fn is_blind(own_network: u64, due: u64) -> bool {
    own_network * 2 > due
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use urldb_verdict::Selection;

    use super::*;

    /// A run over ten URLs: whole, over a part, or ended early.
    #[derive(Debug, Clone, Copy)]
    struct Run {
        is_part: bool,
        is_cut: bool,
        own: u64,
        verified: u64,
    }

    fn run() -> impl Strategy<Value = Run> {
        let own = prop_oneof![Just(0_u64), Just(5), Just(6), Just(10)];
        (any::<[bool; 3]>(), own).prop_map(|([is_part, is_cut, verifies], own)| Run {
            is_part,
            is_cut,
            own,
            verified: if verifies { 10 - own } else { 0 },
        })
    }

    fn past(index: usize, run: Run) -> PastRun {
        PastRun {
            id: index.to_string(),
            // Clocks step: only the order counts.
            at: Timestamp::from_second(1000 - i64::try_from(index).unwrap()).unwrap(),
            selection: run.is_part.then(Selection::default),
            base: None,
            incomplete: run.is_cut,
            due: 10,
            verified: run.verified,
            own_network: run.own,
            limited: vec![],
            no_longer_limited: vec![],
            answered: run.verified > 0,
        }
    }

    proptest! {
        /// A network fails if this whole run and `confirm` - 1 whole ones before it were blind, and no run
        /// between them proved the contrary; it works only if a run saw something.
        #[test]
        fn only_whole_runs_in_a_row_without_results_say_that_the_network_fails(
            before in prop::collection::vec(run(), 0..6),
            last in run(),
            confirm in 1_u64..4,
        ) {
            let past: Vec<PastRun> = before.iter().enumerate().map(|(at, it)| past(at, *it)).collect();
            let coverage = Coverage {
                due: 10,
                own_network: last.own,
                static_verified: last.verified,
                ..Coverage::default()
            };
            let network = NetworkFacts {
                started: Timestamp::UNIX_EPOCH,
                is_whole: !last.is_part && !last.is_cut,
                coverage: &coverage,
                has_answer: last.verified > 0,
                past: &past,
                confirm,
            }
            .network();
            let sees = |run: &Run| run.own <= 5 && (run.verified > 0 || !run.is_part && !run.is_cut);
            let is_blind = |run: &&Run| run.own > 5 && !run.is_part && !run.is_cut;
            let all: Vec<Run> = before.iter().copied().chain([last]).collect();
            let from = all.iter().rposition(sees).map_or(0, |seeing| seeing + 1);
            let row = all[from..].iter().filter(is_blind).count() as u64;
            match network {
                OwnNetwork::Works => prop_assert!(sees(&last)),
                OwnNetwork::Fails(blind) => {
                    prop_assert!(is_blind(&&last));
                    prop_assert_eq!((blind.runs, blind.urls, blind.asked), (row, last.own, 10));
                    prop_assert!(row >= confirm);
                    let first = all[from..].iter().position(|run| is_blind(&run)).unwrap() + from;
                    let since = past.get(first).map_or(Timestamp::UNIX_EPOCH, |run| run.at);
                    prop_assert_eq!(blind.since, since);
                }
                OwnNetwork::Unknown => {
                    let fails = is_blind(&&last) && row >= confirm;
                    prop_assert!(!fails && (last.own > 5 || last.verified == 0));
                }
            }
        }
    }
}
