//! URLs that no incident affects, and that are not as promised.

use std::collections::HashMap;

use super::cause::Cause;
use super::edit::RunEdit;
use super::groups::grouped;
use super::mark::RunResult;
use super::outcome::UrlOutcome;

/// Lets each URL join whose trouble is believed by the result of this run, or that breaks for the third time
/// in its window.
pub(super) fn join(edit: &mut RunEdit<'_>, outcomes: Vec<&UrlOutcome>) {
    let mut unplaced = vec![];
    for outcome in outcomes {
        let marks = edit.is_third_break(outcome);
        let is_believed = outcome.is_believed() && outcome.result == Some(RunResult::Bad);
        if !is_believed && !marks {
            end_mark(edit, outcome);
            continue;
        }
        let is_bad = outcome.result == Some(RunResult::Bad);
        let cause = is_bad.then(|| cause_of(outcome));
        let place = edit.departure(outcome).map(|(index, _)| index);
        match place.or_else(|| alike(edit, outcome, cause.as_ref(), marks)) {
            Some(index) => place_in(edit, index, outcome, cause.as_ref(), marks),
            None => unplaced.push((outcome, marks)),
        }
    }
    for marks in [false, true] {
        let of_mark = unplaced.iter().filter(|(_, mark)| *mark == marks);
        let of_mark: Vec<&UrlOutcome> = of_mark.map(|(outcome, _)| *outcome).collect();
        for ((host, cause), urls) in grouped(of_mark, cause_of) {
            let index = edit.open(&host, &cause);
            for outcome in urls {
                let is_bad = outcome.result == Some(RunResult::Bad);
                let cause = Some(&cause).filter(|_| is_bad);
                place_in(edit, index, outcome, cause, marks);
            }
        }
    }
}

fn place_in(
    edit: &mut RunEdit<'_>,
    index: usize,
    outcome: &UrlOutcome,
    cause: Option<&Cause>,
    marks: bool,
) {
    let cause = (cause, !outcome.is_believed());
    edit.join(index, outcome, cause, outcome.since());
    if marks {
        edit.mark(index, outcome, outcome.result.unwrap_or(RunResult::Bad));
    }
}

/// The believed cause, or else that which this run saw.
fn cause_of(outcome: &UrlOutcome) -> Cause {
    if outcome.is_believed() {
        outcome.cause()
    } else {
        outcome.seen_cause()
    }
}

/// The open incident with most members of this host, cause and mark.
fn alike(
    edit: &RunEdit<'_>,
    outcome: &UrlOutcome,
    cause: Option<&Cause>,
    marks: bool,
) -> Option<usize> {
    let cause = cause?;
    let mut members: HashMap<usize, usize> = HashMap::new();
    let of_host = edit.logs.iter().enumerate();
    for (index, known) in of_host.filter(|(_, known)| known.log.host == outcome.host) {
        let alike = known.state.members.values().filter(|member| {
            member.cause() == Some(cause) && member.intermittent.is_some() == marks
        });
        members.insert(index, alike.count());
    }
    let found = members.into_iter().filter(|(_, count)| *count > 0);
    let best = found.max_by_key(|(index, count)| (*count, std::cmp::Reverse(*index)));
    best.map(|(index, _)| index)
}

/// A URL that no incident affects, as its file is gone, does not keep its mark for ever.
fn end_mark(edit: &mut RunEdit<'_>, outcome: &UrlOutcome) {
    let mark = outcome.mark.as_ref();
    if mark.is_some_and(|mark| mark.is_good_for_long(edit.run.started)) {
        edit.set_mark(outcome.key(), None);
    }
}
