//! Hosts that do not answer: their URLs have no result of their own.

use std::collections::{BTreeMap, HashSet};

use super::cause::Cause;
use super::edit::{RunEdit, RunFacts};
use super::outcome::UrlOutcome;

/// The hosts whose silence is confirmed, and that answered nothing in this run.
pub(super) fn silent_hosts<'a>(
    outcomes: &[&'a UrlOutcome],
    run: &RunFacts<'_>,
) -> HashSet<&'a str> {
    let hosts: HashSet<&str> = outcomes
        .iter()
        .filter(|outcome| {
            outcome.is_believed() && outcome.cause().is_silence() && outcome.is_silent()
        })
        .map(|outcome| outcome.host.as_str())
        .collect();
    let untried: HashSet<&str> = outcomes
        .iter()
        .filter(|outcome| outcome.is_not_tried())
        .map(|outcome| outcome.host.as_str())
        .collect();
    hosts
        .into_iter()
        .filter(|host| untried.contains(host) || !(run.has_answered)(host))
        .collect()
}

/// Lets the URLs of silent hosts that no incident affects join the incident of the silence.
pub(super) fn join(edit: &mut RunEdit<'_>, silent: &HashSet<&str>, outcomes: Vec<&UrlOutcome>) {
    let mut by_host: BTreeMap<&str, Vec<&UrlOutcome>> = BTreeMap::new();
    for outcome in outcomes {
        by_host.entry(&outcome.host).or_default().push(outcome);
    }
    let mut silent: Vec<&str> = silent.iter().copied().collect();
    silent.sort_unstable();
    for host in silent {
        match by_host.remove(host) {
            Some(outcomes) => join_host(edit, host, &outcomes),
            // The notice says so.
            None if edit.ended.contains_key(host) => {}
            None => become_silent(edit, host),
        }
    }
}

fn join_host(edit: &mut RunEdit<'_>, host: &str, outcomes: &[&UrlOutcome]) {
    let believed = outcomes.iter().find(|outcome| outcome.is_believed());
    let noticed = edit.ended.get(host).map(|(index, _)| *index);
    let index = of_silence(edit, host).or(noticed).or_else(|| {
        outcomes
            .iter()
            .filter_map(|outcome| edit.departure(outcome))
            .find_map(|(index, departure)| {
                departure
                    .member
                    .cause
                    .as_ref()
                    .is_some_and(Cause::is_silence)
                    .then_some(index)
            })
    });
    let known = index.and_then(|index| cause_of_silence(edit, index));
    let Some(cause) = believed.map(|outcome| outcome.cause()).or(known) else {
        // The URLs that showed the silence are members elsewhere.
        return;
    };
    let index = index.unwrap_or_else(|| edit.open(host, &cause));
    // A URL that was not tried is affected since the host is.
    let since = outcomes
        .iter()
        .filter(|outcome| outcome.is_believed())
        .map(|outcome| outcome.since())
        .min();
    for outcome in outcomes {
        let since = since.unwrap_or(edit.run.started);
        edit.join(index, outcome, (Some(&cause), false), since);
    }
}

/// The open incident with most URLs that are silent.
fn of_silence(edit: &RunEdit<'_>, host: &str) -> Option<usize> {
    edit.logs
        .iter()
        .enumerate()
        .filter(|(_, known)| known.log.host == host)
        .map(|(index, known)| {
            let silent = known
                .state
                .members
                .values()
                .filter(|member| member.cause.as_ref().is_some_and(Cause::is_silence));
            (index, silent.count())
        })
        .filter(|(_, count)| *count > 0)
        .max_by_key(|(index, count)| (*count, std::cmp::Reverse(*index)))
        .map(|(index, _)| index)
}

fn cause_of_silence(edit: &RunEdit<'_>, index: usize) -> Option<Cause> {
    edit.logs[index]
        .state
        .members
        .values()
        .find_map(|member| member.cause.as_ref().filter(|cause| cause.is_silence()))
        .cloned()
}

/// The one incident that has all URLs of a silent host says so, once in a window.
fn become_silent(edit: &mut RunEdit<'_>, host: &str) {
    let open: Vec<usize> = edit
        .logs
        .iter()
        .enumerate()
        .filter(|(_, known)| known.log.host == host && known.state.is_open())
        .map(|(index, _)| index)
        .collect();
    let &[index] = open.as_slice() else {
        return;
    };
    edit.become_silent(index);
}
