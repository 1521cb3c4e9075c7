//! URLs that no incident affects, and that are not as promised.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use urldb_protocol::EventKind;

use super::cause::Cause;
use super::edit::RunEdit;
use super::flapping::RunResult;
use super::groups::grouped;
use super::log_edit::LogEdit;
use super::notice::is_expired;
use super::outcome::UrlOutcome;
use super::state::Member;

/// Lets each URL join whose trouble is confirmed by the result of this run, or that flaps and is not as promised.
pub(super) fn join(edit: &mut RunEdit<'_>, outcomes: Vec<&UrlOutcome>) {
    let mut unplaced = vec![];
    let mut alike = Alike::of(&edit.logs);
    // URLs that return come first, so that others of the same cause join them.
    let returns = |outcome: &&UrlOutcome| edit.departure(outcome).is_some();
    let (returning, others): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(returns);
    for outcome in returning.into_iter().chain(others) {
        let is_broken = outcome
            .result
            .is_some_and(|result| result != RunResult::Good);
        let flaps = is_broken && outcome.flaps(edit.run.started);
        let is_believed = outcome.is_believed() && outcome.result == Some(RunResult::Bad);
        if !is_believed && !flaps {
            continue;
        }
        let is_bad = outcome.result == Some(RunResult::Bad);
        let cause = is_bad.then(|| cause_of(outcome));
        let place = edit.departure(outcome).map(|(index, _)| index);
        let alike_index = || alike.most(&outcome.host, cause.as_ref()?, flaps);
        let place = place.or_else(alike_index);
        let noticed = edit.ended.get(&outcome.host).map(|(index, _)| *index);
        let place = place.or(noticed.filter(|_| cause.as_ref().is_some_and(is_expired)));
        let Some(index) = place else {
            unplaced.push((outcome, flaps));
            continue;
        };
        place_in(edit, index, outcome, cause.as_ref(), flaps);
        let placed = &edit.logs[index];
        if let Some(member) = placed.state.members.get(&outcome.key) {
            alike.add(index, &placed.log.host, member);
        }
    }
    for flaps in [false, true] {
        let alike_urls: Vec<&UrlOutcome> = unplaced
            .iter()
            .filter(|(_, it)| *it == flaps)
            .map(|(outcome, _)| *outcome)
            .collect();
        for ((host, cause), urls) in grouped(alike_urls, cause_of) {
            let index = edit.open(&host, &cause);
            for outcome in urls {
                let is_bad = outcome.result == Some(RunResult::Bad);
                let cause = Some(&cause).filter(|_| is_bad);
                place_in(edit, index, outcome, cause, flaps);
            }
        }
    }
}

fn place_in(
    edit: &mut RunEdit<'_>,
    index: usize,
    outcome: &UrlOutcome,
    cause: Option<&Cause>,
    flaps: bool,
) {
    let cause = (cause, !outcome.is_believed());
    edit.join(index, outcome, cause, outcome.since());
    if flaps {
        edit.logs[index].tell(edit.run.id, EventKind::Flapping, &outcome.key);
    }
}

/// The confirmed cause, or else that which this run saw.
fn cause_of(outcome: &UrlOutcome) -> Cause {
    if outcome.is_believed() {
        outcome.cause()
    } else {
        outcome.seen_cause()
    }
}

/// The open incidents of each host, cause and flapping or not, with the number of such members.
#[derive(Default)]
struct Alike(HashMap<(String, Cause, bool), BTreeMap<usize, usize>>);

impl Alike {
    fn of(logs: &[LogEdit]) -> Self {
        let mut alike = Self::default();
        for (index, known) in logs.iter().enumerate() {
            for member in known.state.members.values() {
                alike.add(index, &known.log.host, member);
            }
        }
        alike
    }

    fn add(&mut self, index: usize, host: &str, member: &Member) {
        if let Some(cause) = &member.cause {
            let key = (host.to_owned(), cause.clone(), member.flapping.is_some());
            *self.0.entry(key).or_default().entry(index).or_default() += 1;
        }
    }

    /// The incident with most members of this host, cause, and flapping or not.
    fn most(&self, host: &str, cause: &Cause, flaps: bool) -> Option<usize> {
        self.0
            .get(&(host.to_owned(), cause.clone(), flaps))?
            .iter()
            .max_by_key(|(index, count)| (**count, Reverse(**index)))
            .map(|(index, _)| *index)
    }
}
