//! What a run's observations of one job come to, or that another is needed.

use std::time::Duration;

use urldb_protocol::State;

use super::patience::{backoff, retry_after};
use super::{Assessment, Policy, Sight, Warning, look};
use crate::fetch::{FailureKind, Observation};
use crate::plan::Job;

/// Whether enough has been seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Look again.
    Again {
        /// After this long.
        wait: Duration,
        /// On a new connection, past caches.
        fresh: bool,
    },
    /// This is what the run says.
    Settled(Assessment),
}

/// What `seen`, all of a run's observations of one job in order, come to.
pub fn judge(job: &Job, seen: &[Observation], policy: &Policy) -> Judgement {
    let sights: Vec<Sight> = seen
        .iter()
        .map(|observation| look(&job.promise, observation, &policy.challenges))
        .collect();
    let Some(last) = sights.last() else {
        return Judgement::Again {
            wait: Duration::ZERO,
            fresh: false,
        };
    };
    if !job.request.is_safe() && seen.iter().any(may_have_arrived) {
        return seen_once(last, &job.request.method, seen);
    }
    let end = if sights.iter().any(is_content_doubt) {
        best_of_three(&sights, policy.retries)
    } else if !is_worth_a_retry(last, seen) || seen.len() > policy.retries {
        Some(settle(&sights, last.clone(), seen.len() - 1))
    } else {
        None
    };
    end.unwrap_or_else(|| Judgement::Again {
        // Votes keep their distance too: what is being replaced just now soon is in one piece.
        wait: seen
            .last()
            .and_then(Observation::last)
            .and_then(retry_after)
            .unwrap_or_else(|| backoff(policy, &job.key, seen.len())),
        fresh: true,
    })
}

/// What is said of a job that was given up before enough was seen.
pub fn unsettled(seen: &[Observation]) -> Assessment {
    let sight = Sight::given_up();
    Assessment {
        sight,
        observation: seen.len().saturating_sub(1),
        sure: false,
    }
}

/// Whether the server may have got a request: it is then not sent again if it may change something.
fn may_have_arrived(seen: &Observation) -> bool {
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    !(seen.hops.is_empty() && matches!(failure, Some(FailureKind::Dns | FailureKind::Connect)))
}

/// What cannot be looked at a second time in this run; so later runs must confirm it.
fn seen_once(sight: &Sight, method: &str, seen: &[Observation]) -> Judgement {
    let mut sight = sight.clone();
    if is_content_doubt(&sight) || is_worth_a_retry(&sight, seen) {
        sight.observed = format!("{} (seen once: {method} is not repeated)", sight.observed);
    }
    let sure = matches!(sight.state, State::Ok | State::Redirected);
    settled(sight, seen.len() - 1, sure)
}

/// Other bytes, type or status than promised: caches and mirrors may disagree about those.
fn is_content_doubt(sight: &Sight) -> bool {
    sight.state == State::Changed
}

/// Two of three decide; fetches that failed have no vote. `None` when another one is needed: the
/// first vote is cast over whatever connection there was, the others are independent of it.
fn best_of_three(sights: &[Sight], retries: usize) -> Option<Judgement> {
    let votes = |state: State| {
        sights
            .iter()
            .filter(move |sight| sight.state == state)
            .count()
    };
    let latest = |state: State| sights.iter().rposition(|sight| sight.state == state);
    if votes(State::Changed) >= 2 {
        let index = latest(State::Changed).unwrap_or_default();
        return Some(settled(sights[index].clone(), index, true));
    }
    if votes(State::Ok) >= 2 {
        let index = latest(State::Ok).unwrap_or_default();
        let sight = Sight {
            warning: Some(Warning::ContentUnstable),
            ..sights[index].clone()
        };
        return Some(settled(sight, index, true));
    }
    let abstained = sights.len() - votes(State::Changed) - votes(State::Ok);
    (abstained > retries).then(|| {
        let index = sights.len() - 1;
        settled(sights[index].clone(), index, false)
    })
}

fn settle(sights: &[Sight], last: Sight, index: usize) -> Judgement {
    let sure = match last.state {
        State::Ok | State::Redirected | State::Changed => true,
        State::Gone | State::Truncated => sights.iter().all(|sight| sight.state == last.state),
        _ => false,
    };
    settled(last, index, sure)
}

fn settled(sight: Sight, observation: usize, sure: bool) -> Judgement {
    Judgement::Settled(Assessment {
        sight,
        observation,
        sure,
    })
}

/// Whether the same question may be answered better a little later.
fn is_worth_a_retry(sight: &Sight, seen: &[Observation]) -> bool {
    let status = seen
        .last()
        .and_then(Observation::last)
        .map(|last| last.status);
    match sight.state {
        // About the connection rather than the URL; the first often comes on one that was kept.
        State::ClientError => matches!(status, Some(408 | 421 | 425)),
        State::Gone | State::Truncated | State::ServerError => true,
        State::Unreachable => {
            matches!(
                sight.reason,
                Some("dns" | "connect" | "timeout" | "protocol" | "tls")
            )
        }
        State::Blocked => sight.reason == Some("too-many-requests"),
        // Other connections end meanwhile.
        State::Inconclusive => sight.reason == Some("own-limit"),
        _ => false,
    }
}
