//! Hosts that do not answer: their URLs have no result of their own.

use std::collections::{BTreeMap, HashSet};

use super::cause::Cause;
use super::edit::{RunEdit, RunFacts};
use super::outcome::UrlOutcome;

/// The hosts whose silence is believed, and that answered nothing in this run.
pub(super) fn silent_hosts<'a>(
    outcomes: &[&'a UrlOutcome],
    run: &RunFacts<'_>,
) -> HashSet<&'a str> {
    let believed = outcomes.iter().filter(|outcome| {
        outcome.is_believed() && outcome.cause().is_silence() && outcome.is_silent()
    });
    let hosts: HashSet<&str> = believed.map(|outcome| outcome.host.as_str()).collect();
    let untried: HashSet<&str> = outcomes
        .iter()
        .filter(|outcome| outcome.is_not_tried())
        .map(|outcome| outcome.host.as_str())
        .collect();
    let hosts = hosts.into_iter();
    hosts
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
        let mut departures = outcomes
            .iter()
            .filter_map(|outcome| edit.departure(outcome));
        departures.find_map(|(index, departure)| {
            let was_silence = departure.member.cause().is_some_and(Cause::is_silence);
            was_silence.then_some(index)
        })
    });
    let known = index.and_then(|index| cause_of_silence(edit, index));
    let Some(cause) = believed.map(|outcome| outcome.cause()).or(known) else {
        // The URLs that showed the silence are members elsewhere.
        return;
    };
    let index = index.unwrap_or_else(|| edit.open(host, &cause));
    // A URL that was not tried is affected since the host is.
    let silent = outcomes.iter().filter(|outcome| outcome.is_believed());
    let since = silent.map(|outcome| outcome.since()).min();
    for outcome in outcomes {
        let since = since.unwrap_or(edit.run.started);
        edit.join(index, outcome, (Some(&cause), false), since);
    }
}

/// The open incident with most URLs that are silent.
fn of_silence(edit: &RunEdit<'_>, host: &str) -> Option<usize> {
    let of_host = edit.logs.iter().enumerate();
    let of_host = of_host.filter(|(_, known)| known.log.host == host);
    let counts = of_host.map(|(index, known)| {
        let members = known.state.members.values();
        let silent = members.filter(|member| member.cause().is_some_and(Cause::is_silence));
        (index, silent.count())
    });
    let found = counts.filter(|(_, count)| *count > 0);
    let best = found.max_by_key(|(index, count)| (*count, std::cmp::Reverse(*index)));
    best.map(|(index, _)| index)
}

fn cause_of_silence(edit: &RunEdit<'_>, index: usize) -> Option<Cause> {
    let mut members = edit.logs[index].state.members.values();
    members
        .find_map(|member| member.cause().filter(|cause| cause.is_silence()))
        .cloned()
}

/// The one incident that has all URLs of a silent host says so, once in a window.
fn become_silent(edit: &mut RunEdit<'_>, host: &str) {
    let of_host = edit.logs.iter().enumerate();
    let open = of_host.filter(|(_, known)| known.log.host == host && known.state.is_open());
    let open: Vec<usize> = open.map(|(index, _)| index).collect();
    let &[index] = open.as_slice() else {
        return;
    };
    edit.become_silent(index);
}
