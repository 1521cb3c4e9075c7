//! Responses by which a host refuses a request for now, because it gets too many or cannot serve any.

use std::time::Duration;

use urldb_protocol::{Reason, State};

use crate::backoff::{is_explicit_refusal, is_refusal, requested_pause};
use crate::classify::classify;
use crate::failure::FailureKind;
use crate::job::Job;
use crate::observation::Observation;
use crate::options::VerdictOptions;
use crate::verdict::{Classification, Verdict};

/// A response by which a host refuses a request for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Whether the response names the number of requests as its cause. Any dead server behind a proxy
    /// answers 503.
    pub is_explicit: bool,
    /// The pause that an explicit refusal asks for, at most two minutes.
    pub pause: Option<Duration>,
}

/// The refusal that an observation of a job ends with; `None` for every other answer, for a promised
/// status and for a challenge.
pub fn refusal(job: &Job, seen: &Observation, options: &VerdictOptions) -> Option<Refusal> {
    let last = seen.last().filter(|last| is_refusal(last))?;
    let classification = classify(&job.promise, seen, &options.challenges);
    let is_refused = classification.state == State::ServerError
        || classification.reason == Some(Reason::RateLimited);
    let is_explicit = is_explicit_refusal(last);
    is_refused.then(|| Refusal {
        is_explicit,
        pause: requested_pause(last).filter(|_| is_explicit),
    })
}

/// The verdict on a job whose host refused it to the end: the last refusal counts, without a retry.
pub(crate) fn refused_to_the_end(
    job: &Job,
    seen: &[Observation],
    options: &VerdictOptions,
) -> Option<Verdict> {
    let last = seen.last()?;
    let failure = last.failure.as_ref().map(|failure| failure.kind);
    let is_limited = failure == Some(FailureKind::RateLimited);
    if !is_limited && refusal(job, last, options).is_none() {
        return None;
    }
    let attempts: Vec<Classification> = seen
        .iter()
        .map(|seen| classify(&job.promise, seen, &options.challenges))
        .collect();
    Some(Verdict {
        classification: attempts.last()?.clone(),
        observation: seen.len() - 1,
        sure: false,
        attempts,
        explanation: None,
    })
}
