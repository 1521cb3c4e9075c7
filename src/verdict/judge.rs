//! What a run's observations of one job come to, or that another is needed.

use std::time::Duration;

use urldb_protocol::State;

use super::{Assessment, Policy, Sight, Warning, look};
use crate::fetch::Observation;
use crate::plan::Promise;

/// The longest that a server's `Retry-After` is obeyed within a run.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

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
pub fn judge(promise: &Promise, seen: &[Observation], policy: &Policy) -> Judgement {
    let sights: Vec<Sight> = seen
        .iter()
        .map(|observation| look(promise, observation, &policy.challenges))
        .collect();
    let Some(last) = sights.last() else {
        return Judgement::Again {
            wait: Duration::ZERO,
            fresh: false,
        };
    };
    if sights.iter().any(is_content_doubt) {
        return best_of_three(&sights, policy);
    }
    if last.state == State::Ok || !is_worth_a_retry(last) || seen.len() > policy.retries {
        return settle(&sights, last.clone(), seen.len() - 1);
    }
    let wait = seen
        .last()
        .and_then(retry_after)
        .unwrap_or_else(|| backoff(policy, seen.len()));
    Judgement::Again { wait, fresh: true }
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

/// Other bytes, type or status than promised: caches and mirrors may disagree about those.
fn is_content_doubt(sight: &Sight) -> bool {
    sight.state == State::Changed
}

/// Two of three decide; fetches that failed have no vote.
fn best_of_three(sights: &[Sight], policy: &Policy) -> Judgement {
    let votes = |state: State| {
        sights
            .iter()
            .filter(move |sight| sight.state == state)
            .count()
    };
    let latest = |state: State| sights.iter().rposition(|sight| sight.state == state);
    if votes(State::Changed) >= 2 {
        let index = latest(State::Changed).unwrap_or_default();
        return settled(sights[index].clone(), index, true);
    }
    if votes(State::Ok) >= 2 {
        let index = latest(State::Ok).unwrap_or_default();
        let sight = Sight {
            warning: Some(Warning::ContentUnstable),
            ..sights[index].clone()
        };
        return settled(sight, index, true);
    }
    let abstained = sights.len() - votes(State::Changed) - votes(State::Ok);
    if abstained > policy.retries {
        let index = sights.len() - 1;
        return settled(sights[index].clone(), index, false);
    }
    // The first vote is cast over whatever connection there was; the others are independent of it.
    Judgement::Again {
        wait: if abstained > 0 {
            backoff(policy, abstained)
        } else {
            Duration::ZERO
        },
        fresh: true,
    }
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
fn is_worth_a_retry(sight: &Sight) -> bool {
    match sight.state {
        State::Gone | State::Truncated | State::ServerError => true,
        State::Unreachable => {
            matches!(
                sight.reason,
                Some("dns" | "connect" | "timeout" | "protocol" | "tls")
            )
        }
        State::Blocked => sight.reason == Some("too-many-requests"),
        _ => false,
    }
}

fn backoff(policy: &Policy, attempts: usize) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1))
        .unwrap_or(u32::MAX)
        .min(10);
    policy
        .retry_wait
        .saturating_mul(1 << doublings)
        .min(LONGEST_WAIT)
}

/// The wait that a server asks for, in seconds or as a date, clamped.
fn retry_after(seen: &Observation) -> Option<Duration> {
    let last = seen.last()?;
    if last.status != 429 && last.status != 503 {
        return None;
    }
    let text = last.header("retry-after")?.trim();
    let wait = if let Ok(seconds) = text.parse::<u64>() {
        Duration::from_secs(seconds)
    } else {
        let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
        Duration::try_from(date.duration_since(last.at)).unwrap_or_default()
    };
    Some(wait.min(LONGEST_WAIT))
}
