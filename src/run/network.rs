//! Our own network, as the runs of the past and this one found it.

use jiff::Timestamp;
use urldb_protocol::Coverage;
use urldb_verdict::incident::ImpairedFacts;

use super::impaired::Row;
use crate::ambient::in_seconds;
use crate::ledger::RunLine;

/// The facts of a run about our own network.
pub(super) struct NetworkFacts<'a> {
    pub(super) started: Timestamp,
    /// Whether the run has asked all URLs of the database.
    pub(super) is_whole: bool,
    pub(super) coverage: &'a Coverage,
    /// Whether any host answered.
    pub(super) has_answer: bool,
    /// The runs before, in their order.
    pub(super) past: &'a [RunLine],
    /// The number of runs in a row that are news.
    pub(super) confirm: u64,
}

impl NetworkFacts<'_> {
    /// Adds our own network to what impairs the run, under an empty name. Runs over a part, and those that ended early,
    /// neither belong to the row of impaired runs, nor end it without a proof: bytes that arrived as promised.
    pub(super) fn add_to(&self, facts: &mut ImpairedFacts) {
        let Coverage {
            due,
            own_network,
            static_verified,
            ..
        } = *self.coverage;
        if !is_impaired(own_network, due) {
            if static_verified > 0 || self.is_whole && self.has_answer {
                facts.ended.insert(String::new());
            }
            return;
        }
        let (mut runs, mut since) = (u64::from(self.is_whole), self.started);
        for run in self.past.iter().rev() {
            let is_impaired = is_impaired(run.own_network, run.due);
            let is_whole = run.is_complete() && !run.incomplete;
            match (is_whole, is_impaired) {
                (true, true) => (runs, since) = (runs + 1, in_seconds(run.at)),
                (false, _) if is_impaired || run.verified == 0 => {}
                _ => break,
            }
        }
        if self.is_whole && runs >= self.confirm {
            let notice = Row { runs, since }.notice(own_network, REASON);
            facts.notices.insert(String::new(), notice);
        }
    }
}

const REASON: &str = "Most URLs got no result";

/// Whether our own network took the results of over half of the URLs.
fn is_impaired(own_network: u64, due: u64) -> bool {
    own_network * 2 > due
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use urldb_protocol::State;
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

    fn past(index: usize, run: Run) -> RunLine {
        RunLine {
            run: index.to_string(),
            // Clocks step: only the order counts.
            at: Timestamp::from_second(1000 - i64::try_from(index).unwrap()).unwrap(),
            selection: run.is_part.then(Selection::default),
            incomplete: run.is_cut,
            due: 10,
            verified: run.verified,
            own_network: run.own,
            states: (run.verified > 0)
                .then_some((State::Ok, run.verified))
                .into_iter()
                .collect(),
            ..RunLine::default()
        }
    }

    proptest! {
        /// A network fails if this whole run and `confirm` - 1 whole ones before it were impaired, and no run
        /// between them proved the contrary; it works only if a run saw something.
        #[test]
        fn only_whole_runs_in_a_row_without_results_say_that_the_network_fails(
            before in prop::collection::vec(run(), 0..6),
            last in run(),
            confirm in 1_u64..4,
        ) {
            let past: Vec<RunLine> = before.iter().enumerate().map(|(at, it)| past(at, *it)).collect();
            let coverage = Coverage {
                due: 10,
                own_network: last.own,
                static_verified: last.verified,
                ..Coverage::default()
            };
            let mut facts = ImpairedFacts::default();
            NetworkFacts {
                started: Timestamp::UNIX_EPOCH,
                is_whole: !last.is_part && !last.is_cut,
                coverage: &coverage,
                has_answer: last.verified > 0,
                past: &past,
                confirm,
            }
            .add_to(&mut facts);
            let sees = |run: &Run| run.own <= 5 && (run.verified > 0 || !run.is_part && !run.is_cut);
            let is_impaired = |run: &&Run| run.own > 5 && !run.is_part && !run.is_cut;
            let all: Vec<Run> = before.iter().copied().chain([last]).collect();
            let from = all.iter().rposition(sees).map_or(0, |seeing| seeing + 1);
            let row = all[from..].iter().filter(is_impaired).count() as u64;
            let works = facts.ended.contains("");
            prop_assert!(!works || sees(&last));
            let Some(notice) = facts.notices.get("") else {
                let fails = is_impaired(&&last) && row >= confirm;
                prop_assert!(!fails && (works || last.own > 5 || last.verified == 0));
                return Ok(());
            };
            prop_assert!(!works && is_impaired(&&last) && row >= confirm);
            prop_assert_eq!((notice.runs, notice.endangered), (Some(row), Some(last.own)));
            let first = all[from..].iter().position(|run| is_impaired(&run)).unwrap() + from;
            let since = past.get(first).map_or(Timestamp::UNIX_EPOCH, |run| run.at);
            prop_assert_eq!(notice.since, Some(since));
        }
    }
}
