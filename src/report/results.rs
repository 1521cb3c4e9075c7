//! Promise, observation and result of a job, as reports have them.

use data_encoding::HEXLOWER;
use urldb_protocol::{JobResult, Observed, Promised, Severity, State};
use urldb_verdict::{CanonicalMismatch, Job, Observation, Promise, Verdict};

use super::findings::{message, shown};
use crate::ledger::JobRecord;

/// The result of a job, as JSON has it.
pub(super) fn result(record: &JobRecord, mismatch: Option<&CanonicalMismatch>) -> JobResult {
    let judged = &record.judged;
    let Verdict {
        classification,
        observation,
        ..
    } = &judged.verdict;
    let severity = match classification.state {
        State::Ok => None,
        state if state.is_broken() => Some(Severity::Error),
        _ => Some(Severity::Warning),
    };
    JobResult {
        url: judged.job.url.to_string(),
        file: judged.job.file.to_string(),
        line: judged.job.line,
        method: judged.job.request.method.clone(),
        state: classification.state,
        reason: classification.reason.map(|reason| reason.to_string()),
        message: message(judged),
        promised: promised(&judged.job.promise),
        observed: judged
            .observations
            .get(*observation)
            .map(|seen| observed(&judged.job, seen))
            .unwrap_or_default(),
        not_archived: record.archived.not_archived.as_deref().map(shown),
        warnings: classification
            .warning
            .into_iter()
            .chain(mismatch.map(|mismatch| mismatch.warning))
            .map(|warning| warning.as_str().to_owned())
            .collect(),
        attempts: judged.observations.len(),
        severity,
    }
}

/// A promise, for reports.
pub(crate) fn promised(promise: &Promise) -> Promised {
    Promised {
        length: promise.length,
        sha256: promise
            .sha256
            .as_ref()
            .map(|digest| HEXLOWER.encode(digest)),
        content_type: promise.content_type.clone(),
        status: promise.status,
        redirects_to: promise.redirects_to.clone(),
    }
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
        content_type: last.and_then(|hop| hop.header("content-type")).map(shown),
        redirect_status: redirect.as_ref().map(|(status, _)| *status),
        redirect: redirect.map(|(_, target)| shown(&target)),
        address: last
            .and_then(|hop| hop.address)
            .map(|address| address.to_string()),
    }
}
