//! Groups URLs by host and cause.

use std::collections::BTreeMap;

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Evidence, Incident, Phase, State};

use super::cause::Cause;
use super::outcome::UrlOutcome;

/// The groups of the URLs that no incident has: those that failed without being confirmed, and those
/// about which there is no conclusion.
pub fn unconfirmed_and_unknown(outcomes: Vec<&UrlOutcome>, now: Timestamp) -> Vec<Incident> {
    let (doubted, rest): (Vec<_>, Vec<_>) = outcomes
        .into_iter()
        .partition(|outcome| outcome.is_doubted());
    let mut unconfirmed = grouped(doubted, UrlOutcome::seen_cause);
    let mut unknown = vec![];
    for outcome in rest {
        let silent = unconfirmed
            .iter_mut()
            .filter(|((host, cause), _)| *host == outcome.host && cause.is_silence())
            .filter(|_| outcome.is_not_tried())
            .max_by_key(|((_, cause), urls)| (cause.redirect.is_none(), urls.len()));
        match silent {
            Some((_, urls)) => urls.push(outcome),
            None if outcome.seen != State::Ok => unknown.push(outcome),
            None => {}
        }
    }
    let cause = |outcome: &UrlOutcome| Cause::new(outcome.seen, outcome.seen_reason.as_deref());
    let unknown = grouped(unknown, cause);
    unconfirmed
        .into_iter()
        .map(|group| (Phase::Unconfirmed, group))
        .chain(unknown.into_iter().map(|group| (Phase::Unknown, group)))
        .map(|(phase, ((host, cause), outcomes))| group_of(phase, host, &cause, &outcomes, now))
        .collect()
}

fn group_of(
    phase: Phase,
    host: String,
    cause: &Cause,
    outcomes: &[&UrlOutcome],
    now: Timestamp,
) -> Incident {
    let doubts = || {
        outcomes
            .iter()
            .filter(|_| phase == Phase::Unconfirmed)
            .filter_map(|outcome| outcome.status.pending.as_ref())
    };
    let mut urls: Vec<AffectedUrl> = outcomes.iter().map(|outcome| outcome.affected()).collect();
    sort_urls(&mut urls);
    let tried = outcomes
        .iter()
        .filter(|outcome| outcome.seen != State::Inconclusive)
        .count() as u64;
    let first = outcomes
        .iter()
        .find_map(|outcome| outcome.evidence.as_deref())
        .cloned();
    let since = doubts().map(|pending| pending.first).min();
    Incident {
        urls,
        runs: doubts()
            .map(|pending| pending.count)
            .max()
            .unwrap_or_default(),
        evidence: Evidence {
            tried,
            ..first.unwrap_or_default()
        },
        ..group(phase, host, cause, since.unwrap_or(now))
    }
}

/// An incident without URLs that is known to nobody.
pub(super) fn group(phase: Phase, host: String, cause: &Cause, since: Timestamp) -> Incident {
    Incident {
        reason: cause.reason.clone(),
        redirect: cause.redirect.clone(),
        ..Incident::group(phase, host, cause.state, since)
    }
}

type Groups<'o> = BTreeMap<(String, Cause), Vec<&'o UrlOutcome>>;

/// URLs by host and cause. A redirect is a part of the cause if several URLs have the same target, or
/// if only one URL has the rest of the cause; URLs that each redirect to a target of their own are one
/// group.
pub(super) fn grouped<'o>(
    outcomes: Vec<&'o UrlOutcome>,
    cause_of: impl Fn(&UrlOutcome) -> Cause,
) -> Vec<((String, Cause), Vec<&'o UrlOutcome>)> {
    let mut by_target: Groups<'o> = BTreeMap::new();
    for outcome in outcomes {
        let key = (outcome.host.clone(), cause_of(outcome));
        by_target.entry(key).or_default().push(outcome);
    }
    let mut groups: Groups<'o> = BTreeMap::new();
    let mut single: Groups<'o> = BTreeMap::new();
    for ((host, cause), urls) in by_target {
        if cause.redirect.is_some() && urls.len() == 1 {
            let rest = cause.with_redirect(None);
            single.entry((host, rest)).or_default().extend(urls);
        } else {
            groups.insert((host, cause), urls);
        }
    }
    for ((host, rest), urls) in single {
        let known = groups.get_mut(&(host.clone(), rest.clone()));
        match (known, urls.as_slice()) {
            (Some(known), _) => known.extend(urls),
            (None, [only]) => {
                groups.insert((host, cause_of(only)), urls);
            }
            (None, _) => {
                groups.insert((host, rest), urls);
            }
        }
    }
    groups.into_iter().collect()
}

pub(super) fn sort_urls(urls: &mut [AffectedUrl]) {
    urls.sort_by(|a, b| {
        (&a.file, a.line, &a.url, &a.request, &a.variant)
            .cmp(&(&b.file, b.line, &b.url, &b.request, &b.variant))
    });
}
