//! The knowledge of a run about one URL that is not as promised.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use urldb_format::Digest;
use urldb_protocol::{Evidence, Observed, Promised, State};
use urldb_text::Shown;
use urldb_verdict::{Certificate, Job, JudgedJob, Observation, Promise};

use crate::ledger::JobRecord;

/// The evidence of one run about one URL, without a doubt about the answer.
pub(crate) fn evidence(record: &JobRecord) -> Evidence {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = &record.judged;
    let seen = observations.get(verdict.observation);
    let last = seen.and_then(Observation::last);
    let failure = seen.and_then(|seen| seen.failure.as_ref());
    let rejected = failure.and_then(|failure| failure.certificate.as_deref());
    Evidence {
        url: job.url.to_string(),
        variant: job.key.variant.clone(),
        promised: promised(&job.promise),
        observed: seen.map_or_else(Observed::default, |seen| observed(job, seen)),
        detail: shown(&verdict.classification.observed),
        requests: count(observations.len()),
        agreeing: count(urldb_verdict::agreeing(&record.judged)),
        tried: 0,
        first_difference: None,
        text: None,
        contents: None,
        not_archived: record.archived.not_archived.as_deref().map(shown),
        last_modified: last.and_then(|hop| hop.header("last-modified")).map(shown),
        certificate: rejected.map(Certificate::dates),
        doubt: None,
        explanation: verdict.explanation.as_deref().cloned().map(Box::new),
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The target of the redirect that brought about the state.
pub(crate) fn redirect(state: State, seen: &Observation) -> Option<Shown> {
    let hop = match state {
        State::Redirected => 0,
        _ => seen.hops.len().checked_sub(2)?,
    };
    seen.hops
        .get(hop)?
        .shown_redirect_target()
        .as_deref()
        .map(shown)
}

/// A promise, for reports.
pub(crate) fn promised(promise: &Promise) -> Promised {
    Promised {
        length: promise.length,
        sha256: promise
            .sha256
            .as_ref()
            .map(|digest| HEXLOWER.encode(digest)),
        digests: digests(&promise.digests),
        content_type: promise.content_type.clone(),
        status: promise.status,
        redirects_to: promise.redirects_to.clone(),
    }
}

/// Digests in hexadecimal digits by the names of their algorithms.
fn digests(digests: &[Digest]) -> BTreeMap<String, String> {
    digests
        .iter()
        .map(|digest| {
            let name = digest.algorithm().name();
            (name.to_owned(), digest.hex().to_owned())
        })
        .collect()
}

/// An observation, for reports.
pub(crate) fn observed(job: &Job, seen: &Observation) -> Observed {
    let last = seen.last();
    let body = seen.body.as_ref();
    let served = urldb_verdict::observed_bytes(&job.promise, seen);
    let redirect = seen
        .first()
        .and_then(|hop| Some((hop.status, hop.shown_redirect_target()?)));
    Observed {
        status: last.map(|hop| hop.status),
        final_url: last
            .map(|hop| hop.url.as_str())
            .filter(|url| *url != job.url.as_str())
            .map(shown),
        length: served
            .map(|served| served.length)
            .or_else(|| last.and_then(urldb_verdict::observed_length))
            .or(body.map(|body| body.length)),
        sha256: served.map(|served| HEXLOWER.encode(&served.sha256)),
        digests: served.map_or_else(BTreeMap::new, |served| digests(served.further)),
        content_type: last.and_then(|hop| hop.header("content-type")).map(shown),
        redirect_status: redirect.as_ref().map(|(status, _)| *status),
        redirect: redirect.map(|(_, target)| shown(&target)),
        address: last
            .and_then(|hop| hop.address)
            .map(|address| address.to_string()),
    }
}

pub(super) fn shown(text: &str) -> Shown {
    Shown::new(text, Shown::LONGEST)
}
