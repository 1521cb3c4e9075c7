//! Why an answer should not become the promise.

use std::collections::HashSet;

use urldb_protocol::{Reason, State};
use urldb_verdict::{Hop, JudgedJob, Observation, ServedBytes, promisable};

use super::served::{UNSTABLE, UNSTABLE_REDIRECT};

/// Why `urldb accept` refuses the answer without `--force`, and why no message offers to accept the
/// answer: it differs from fetch to fetch, or it may be a page that stands in for the content.
pub fn doubt(judged: &JudgedJob) -> Option<String> {
    let JudgedJob {
        job,
        observations: seen,
        verdict,
    } = judged;
    match verdict.classification.reason {
        Some(Reason::Unstable) if job.promise.is_static() => return Some(UNSTABLE.to_owned()),
        Some(Reason::Uploading | Reason::SameContent) => {
            return Some(verdict.classification.observed.clone());
        }
        _ => {}
    }
    let bodies: HashSet<ServedBytes> = seen
        .iter()
        .filter(|observation| observation.is_whole())
        .filter_map(|observation| observation.body.as_ref()?.served())
        .collect();
    if bodies.len() > 1 && job.promise.is_static() {
        return Some(UNSTABLE.to_owned());
    }
    let targets: HashSet<_> = seen
        .iter()
        .filter_map(Observation::first)
        .map(Hop::redirect_target)
        .collect();
    if targets.len() > 1 && job.promise.redirects_to.is_some() {
        return Some(UNSTABLE_REDIRECT.to_owned());
    }
    let is_changed = verdict.state() == State::Changed;
    if is_changed && !verdict.sure && job.request.is_safe() {
        return Some(verdict.classification.message());
    }
    // A check reads no further than to the end of the promise, and then says nothing of the rest.
    let seen = seen.get(verdict.observation).filter(|it| it.is_whole())?;
    let has_body = is_changed && job.promise.is_static() && job.request.method != "HEAD";
    let odd = has_body.then(|| promisable(seen, &[]).err())??;
    Some(odd.message())
}
