//! Combines a run's observations of one job into a verdict, or asks for another observation.

use std::time::Duration;

use urldb_protocol::{Reason, State};

use crate::backoff::{backoff, retry_after, too_long_a_wait};
use crate::classify::classify;
use crate::failure::FailureKind;
use crate::job::{BodyUse, Job, Promise};
use crate::observation::Observation;
use crate::options::VerdictOptions;
use crate::page;
use crate::refusal::refused_to_the_end;
use crate::verdict::{Classification, JudgedJob, Verdict, Warning};
use crate::vote::{Outcome, Votes};

/// A verdict, or the need for another observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Fetch the job again.
    Retry {
        /// Time before the retry.
        wait: Duration,
        /// Whether to use a new connection and to bypass caches.
        fresh: bool,
    },
    /// The verdict of the run.
    Final(Verdict),
}

/// A rule by which the observations of a job become a decision: [`decide`] or [`decide_promise`].
pub type Decide = fn(&Job, &[Observation], &VerdictOptions) -> Decision;

/// Decides what the observations `seen` of a job in one run, oldest first, amount to.
pub fn decide(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Decision {
    let attempts = classify_all(job, seen, options);
    let Some(last) = attempts.last() else {
        return Decision::Retry {
            wait: Duration::ZERO,
            fresh: false,
        };
    };
    let opinion = if last.reason == Some(Reason::DigestsDisagree) {
        // One digest proves that the bytes are the promised ones: no other request can keep the promise.
        Some(last_attempt(&attempts, last.clone()))
    } else if !job.request.is_safe() && seen.iter().any(may_have_arrived) {
        Some(opinion_of_one(last, &job.request.method, seen))
    } else if attempts.iter().any(is_content_doubt) {
        let opinion = by_votes(job, seen, &attempts, options.retries);
        opinion.map(|opinion| doubted(opinion, job, seen))
    } else if !is_worth_a_retry(last, seen) || seen.len() > options.retries {
        Some(last_attempt(&attempts, failure(&attempts, last)))
    } else {
        None
    };
    match opinion {
        Some(opinion) => Decision::Final(opinion.into_verdict(attempts)),
        None => Decision::Retry {
            // Votes wait too: a file that is being replaced is complete a little later.
            wait: seen
                .last()
                .and_then(Observation::last)
                .and_then(retry_after)
                .unwrap_or_else(|| backoff(options, &job.key, seen.len())),
            fresh: true,
        },
    }
}

/// Like [`decide`], for a command that makes the observed answer the new promise: two observations
/// must show the state that becomes the promise. A request that may change something is not repeated.
pub fn decide_promise(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Decision {
    let decision = decide(job, seen, options);
    let Decision::Final(verdict) = &decision else {
        return decision;
    };
    let becomes_promise = match verdict.state() {
        State::Ok => job.promise == Promise::default() && job.body != BodyUse::Skip,
        state => matches!(state, State::Changed | State::Redirected),
    };
    let alike = verdict
        .attempts
        .iter()
        .filter(|attempt| attempt.state == verdict.state());
    if becomes_promise && job.request.is_safe() && alike.count() < 2 {
        return Decision::Retry {
            wait: backoff(options, &job.key, seen.len()),
            fresh: true,
        };
    }
    decision
}

/// Judges a job of which there is no further observation.
pub fn judge(
    job: Job,
    observations: Vec<Observation>,
    decide: impl Fn(&Job, &[Observation], &VerdictOptions) -> Decision,
    options: &VerdictOptions,
) -> JudgedJob {
    let verdict = match decide(&job, &observations, options) {
        Decision::Final(verdict) => verdict,
        Decision::Retry { .. } => refused_to_the_end(&job, &observations, options)
            .unwrap_or_else(|| undecided(&job, &observations, options)),
    };
    JudgedJob {
        job,
        observations,
        verdict,
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

/// The verdict on a job that no request was made for; `cause` is for people.
pub fn not_asked(cause: &str) -> Verdict {
    let opinion = Opinion {
        classification: Classification::not_asked(cause),
        observation: 0,
        sure: false,
    };
    opinion.into_verdict(vec![])
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
            explanation: None,
        }
    }
}

/// Whether the request may have reached the server. An unsafe request is then not repeated.
fn may_have_arrived(seen: &Observation) -> bool {
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    !(seen.hops.is_empty() && matches!(failure, Some(FailureKind::Dns | FailureKind::Connect)))
}

/// The opinion on a request that cannot be repeated in this run; later runs must confirm it.
fn opinion_of_one(classification: &Classification, method: &str, seen: &[Observation]) -> Opinion {
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

/// Whether bytes, type or status differ: caches and mirrors may disagree about them.
fn is_content_doubt(classification: &Classification) -> bool {
    classification.state == State::Changed
}

/// The opinion of the votes. `None` if another observation is needed. Retries use new connections, so their
/// votes are independent of the first one.
fn by_votes(
    job: &Job,
    seen: &[Observation],
    attempts: &[Classification],
    retries: usize,
) -> Option<Opinion> {
    let votes = Votes::of(&job.promise, seen, attempts);
    let outcome = votes.outcome();
    if outcome == Outcome::Open {
        return (votes.abstained() > retries).then(|| {
            let index = attempts.len() - 1;
            opinion(failure(attempts, &attempts[index]), index, false)
        });
    }
    let index = votes.deciding(outcome)?;
    let decisive = attempts[index].clone();
    let sentence = votes.sentence(outcome);
    let (classification, sure) = match (outcome, sentence) {
        (Outcome::Promised, Some(observed)) => {
            let unstable = decisive.warning(Warning::ContentUnstable);
            (
                Classification {
                    observed,
                    ..unstable
                },
                true,
            )
        }
        (Outcome::Unstable, Some(observed)) => (
            Classification::new(State::Changed, Reason::Unstable, observed),
            false,
        ),
        (Outcome::Uploading, Some(observed)) => (
            Classification::new(State::Changed, Reason::Uploading, observed),
            false,
        ),
        _ => (decisive, true),
    };
    Some(opinion(classification, index, sure))
}

/// Number of observations of a job with the same result as the one that its verdict rests on.
pub fn agreeing(judged: &JudgedJob) -> usize {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = judged;
    let attempts = &verdict.attempts;
    let Some(decided) = attempts.get(verdict.observation) else {
        return 0;
    };
    if decided.state == State::Changed {
        return Votes::of(&job.promise, observations, attempts).agreeing(verdict.observation);
    }
    let is_like = |attempt: &&Classification| {
        (decided.state, decided.reason, &decided.observed)
            == (attempt.state, attempt.reason, &attempt.observed)
    };
    attempts.iter().filter(is_like).count()
}

/// The same opinion, not sure if its evidence may be a page that stands in for the content. Later runs
/// must then confirm it.
fn doubted(mut opinion: Opinion, job: &Job, seen: &[Observation]) -> Opinion {
    let Classification { state, reason, .. } = opinion.classification;
    // The promised bytes with another type are no such page.
    let has_promised_bytes = reason == Some(Reason::ContentType) && job.promise.is_static();
    if state != State::Changed || has_promised_bytes {
        return opinion;
    }
    let evidence = seen.get(opinion.observation);
    if let Some(doubt) = evidence.and_then(|seen| page::doubt(&job.promise, seen)) {
        opinion.sure = false;
        let observed = &opinion.classification.observed;
        opinion.classification.observed = format!("{observed} (answers with {doubt})");
    }
    opinion
}

/// The last failure of these attempts. A server needs HTTP/2, or other TLS, only if each attempt met it: one of several
/// servers may have a fault.
fn failure(attempts: &[Classification], last: &Classification) -> Classification {
    let is_limit = matches!(
        last.reason,
        Some(Reason::NeedsHttp2 | Reason::UnsupportedTls)
    );
    if is_limit && !attempts.iter().all(|it| it.reason == last.reason) {
        return Classification::new(State::Unreachable, Reason::Tls, last.observed.clone());
    }
    last.clone()
}

fn last_attempt(classifications: &[Classification], last: Classification) -> Opinion {
    let sure = match last.state {
        State::Ok | State::Redirected | State::Changed => true,
        // The page of a parking company may be a mistake of a resolver.
        State::Gone if last.reason == Some(Reason::Parked) => false,
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

/// Whether the same request may have another result a little later.
fn is_worth_a_retry(classification: &Classification, seen: &[Observation]) -> bool {
    let last = seen.last().and_then(Observation::last);
    let status = last.map(|last| last.status);
    if last.is_some_and(|last| too_long_a_wait(last).is_some()) {
        return false;
    }
    match classification.state {
        // The answer to our own condition; retries have none.
        State::ClientError if status == Some(412) => {
            last.is_some_and(|last| last.sent.is_conditional)
        }
        // These statuses are about the connection; a server often sends them on a reused one.
        State::ClientError => matches!(status, Some(408 | 421 | 425)),
        State::Gone => classification.reason != Some(Reason::Parked),
        State::Truncated | State::ServerError => true,
        State::Unreachable | State::Blocked | State::Inconclusive => {
            classification.reason.is_some_and(Reason::is_transient)
        }
        _ => false,
    }
}
