//! What a run's observations of one job come to, or that another is needed.

use std::time::Duration;

use urldb_protocol::{Reason, State};

use super::patience::{backoff, retry_after};
use super::{Classification, Verdict, VerdictOptions, Warning, classify};
use crate::Job;
use crate::{FailureKind, Observation};

/// Whether enough has been seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Fetch the job again.
    Retry {
        /// After this long.
        wait: Duration,
        /// On a new connection, past caches.
        fresh: bool,
    },
    /// This is what the run says.
    Final(Verdict),
}

/// Decides what `seen`, all observations of a job in one run, oldest first, amount to.
pub fn decide(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Decision {
    let attempts = classify_all(job, seen, options);
    let Some(last) = attempts.last() else {
        return Decision::Retry {
            wait: Duration::ZERO,
            fresh: false,
        };
    };
    let opinion = if !job.request.is_safe() && seen.iter().any(may_have_arrived) {
        Some(seen_once(last, &job.request.method, seen))
    } else if attempts.iter().any(is_content_doubt) {
        best_of_three(&attempts, options.retries)
    } else if !is_worth_a_retry(last, seen) || seen.len() > options.retries {
        Some(last_attempt(&attempts, last.clone()))
    } else {
        None
    };
    match opinion {
        Some(opinion) => Decision::Final(opinion.into_verdict(attempts)),
        None => Decision::Retry {
            // Votes keep their distance too: a file that is being replaced is complete a little later.
            wait: seen
                .last()
                .and_then(Observation::last)
                .and_then(retry_after)
                .unwrap_or_else(|| backoff(options, &job.key, seen.len())),
            fresh: true,
        },
    }
}

/// The verdict on a job that was given up before it could be decided.
pub fn undecided(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Verdict {
    let opinion = Opinion {
        classification: Classification::given_up(),
        observation: seen.len().saturating_sub(1),
        sure: false,
    };
    opinion.into_verdict(classify_all(job, seen, options))
}

fn classify_all(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Vec<Classification> {
    seen.iter()
        .map(|observation| classify(&job.promise, observation, &options.challenges))
        .collect()
}

/// A verdict without the attempts that led to it.
struct Opinion {
    classification: Classification,
    observation: usize,
    sure: bool,
}

impl Opinion {
    fn into_verdict(self, attempts: Vec<Classification>) -> Verdict {
        Verdict {
            classification: self.classification,
            observation: self.observation,
            sure: self.sure,
            attempts,
        }
    }
}

/// Whether the server may have got a request: it is then not sent again if it may change something.
fn may_have_arrived(seen: &Observation) -> bool {
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    !(seen.hops.is_empty() && matches!(failure, Some(FailureKind::Dns | FailureKind::Connect)))
}

/// What cannot be looked at a second time in this run; so later runs must confirm it.
fn seen_once(classification: &Classification, method: &str, seen: &[Observation]) -> Opinion {
    let mut classification = classification.clone();
    if is_content_doubt(&classification) || is_worth_a_retry(&classification, seen) {
        classification.observed = format!(
            "{} (seen once: {method} is not repeated)",
            classification.observed
        );
    }
    let sure = matches!(classification.state, State::Ok | State::Redirected);
    opinion(classification, seen.len() - 1, sure)
}

/// Other bytes, type or status than promised: caches and mirrors may disagree about those.
fn is_content_doubt(classification: &Classification) -> bool {
    classification.state == State::Changed
}

/// Two of three decide; fetches that failed have no vote. `None` when another one is needed: the
/// first vote is cast over whatever connection there was, the others are independent of it.
fn best_of_three(classifications: &[Classification], retries: usize) -> Option<Opinion> {
    let votes = |state: State| {
        classifications
            .iter()
            .filter(move |classification| classification.state == state)
            .count()
    };
    let latest = |state: State| {
        classifications
            .iter()
            .rposition(|classification| classification.state == state)
    };
    if votes(State::Changed) >= 2 {
        let index = latest(State::Changed).unwrap_or_default();
        return Some(opinion(classifications[index].clone(), index, true));
    }
    if votes(State::Ok) >= 2 {
        let index = latest(State::Ok).unwrap_or_default();
        let classification = Classification {
            warning: Some(Warning::ContentUnstable),
            ..classifications[index].clone()
        };
        return Some(opinion(classification, index, true));
    }
    let abstained = classifications.len() - votes(State::Changed) - votes(State::Ok);
    (abstained > retries).then(|| {
        let index = classifications.len() - 1;
        opinion(classifications[index].clone(), index, false)
    })
}

fn last_attempt(classifications: &[Classification], last: Classification) -> Opinion {
    let sure = match last.state {
        State::Ok | State::Redirected | State::Changed => true,
        State::Gone | State::Truncated => classifications
            .iter()
            .all(|classification| classification.state == last.state),
        _ => false,
    };
    opinion(last, classifications.len() - 1, sure)
}

fn opinion(classification: Classification, observation: usize, sure: bool) -> Opinion {
    Opinion {
        classification,
        observation,
        sure,
    }
}

/// Whether the same question may be answered better a little later.
fn is_worth_a_retry(classification: &Classification, seen: &[Observation]) -> bool {
    let status = seen
        .last()
        .and_then(Observation::last)
        .map(|last| last.status);
    match classification.state {
        // About the connection rather than the URL; the first often comes on one that was kept.
        State::ClientError => matches!(status, Some(408 | 421 | 425)),
        State::Gone | State::Truncated | State::ServerError => true,
        State::Unreachable | State::Blocked | State::Inconclusive => {
            classification.reason.is_some_and(Reason::is_transient)
        }
        _ => false,
    }
}
