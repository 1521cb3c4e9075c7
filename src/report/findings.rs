//! The findings and changes of single jobs.

use jiff::Timestamp;
use urldb_protocol::{CertificateDates, Finding, Severity, State, UrlUses};
use urldb_text::Shown;
use urldb_verdict::incident::time_of;
use urldb_verdict::{
    CanonicalMismatch, HostCertificates, Job, JudgedJob, UrlStatus, Verdict, Warning,
};

use super::evidence::{evidence, redirect, shown};
use crate::ledger::{JobRecord, StatusUpdate};

/// The code of a finding about a cname; the finding's state says how the cname differs.
pub const ALIAS_DIFFERS: &str = "alias-differs";

/// The finding about the URL's state, unless its promise holds without a remark.
pub(super) fn state_finding(
    record: &JobRecord,
    update: Option<&StatusUpdate<'_>>,
) -> Option<Finding> {
    let judged = &record.judged;
    let Verdict { classification, .. } = &judged.verdict;
    let code = match (classification.state, classification.warning) {
        (State::Ok, None) => return None,
        (State::Ok, Some(warning)) => warning.as_str(),
        (state, _) if state.is_broken() && judged.job.key.alias.is_some() => ALIAS_DIFFERS,
        (state, _) => state.as_str(),
    };
    let message = match classification.warning {
        // The verdict has the number of requests.
        Some(Warning::ContentUnstable) | None => message(judged),
        Some(warning) => shown(warning.message()),
    };
    let status = update.map(|update| &update.status);
    let pending = status.is_some_and(|status| status.state != classification.state);
    let not_archived = record.archived.not_archived.as_deref().map(shown);
    let (file, line) = judged.job.place();
    Some(Finding {
        sentence: classification.warning.is_none().then(|| sentence(record)),
        code: code.to_owned(),
        severity: if classification.state.is_broken() {
            Severity::Error
        } else {
            Severity::Warning
        },
        url: judged.job.url.to_string(),
        variant: judged.job.key.variant.clone(),
        file: file.to_owned(),
        line,
        uses: uses(&judged.job),
        categories: judged.job.categories.to_vec(),
        message,
        state: classification.state,
        reason: classification.reason.map(|reason| reason.to_string()),
        expected: expected(judged),
        observed: classification
            .expected
            .is_some()
            .then(|| shown(&classification.observed)),
        not_archived: not_archived.filter(|_| classification.expected.is_some()),
        copies: None,
        attempts: judged.observations.len(),
        since: status.map(|status| since(status, classification.state)),
        pending: pending && classification.state != State::Inconclusive,
        new: false,
        muted: judged.job.muted,
    })
}

/// The words of messages about the URL.
fn sentence(record: &JobRecord) -> Shown {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = &record.judged;
    let (state, reason) = (verdict.state(), verdict.classification.reason);
    let seen = observations.get(verdict.observation);
    let redirect = seen.and_then(|seen| redirect(state, seen));
    let domain = job.key.alias.as_ref().map(|_| &*job.key.domain);
    let evidence = evidence(record);
    let text = urldb_render::url_sentence((state, reason), redirect.as_deref(), domain, &evidence);
    shown(&text)
}

/// The mismatch of the canonical URL, if the page is as promised. Aliases serve the domain's pages, so
/// they are not compared.
pub(super) fn canonical_mismatch(judged: &JudgedJob) -> Option<CanonicalMismatch> {
    let Verdict { observation, .. } = &judged.verdict;
    let seen = judged.observations.get(*observation)?;
    let counts = judged.verdict.state() == State::Ok && judged.job.key.alias.is_none();
    urldb_verdict::canonical_mismatch(&judged.job, seen).filter(|_| counts)
}

/// The warning about a flapping URL, in a run that sees it as promised.
pub(super) fn flapping(judged: &JudgedJob, update: &StatusUpdate<'_>) -> Option<Finding> {
    let last = time_of(update.breaks.last()?)?.strftime("%Y-%m-%d");
    let message = format!("flapping, and broke on {last} last");
    let is_good = judged.verdict.state() == State::Ok;
    (update.flaps && is_good).then(|| warning_finding(judged, Warning::Flapping, &message))
}

/// The warning about a certificate that ends soon.
pub(super) fn certificate_ends(host: &HostCertificates, dates: &CertificateDates) -> Finding {
    let end = dates.not_after;
    let issuer = match dates.issuer.as_str() {
        "" => String::new(),
        issuer => format!("; its issuer is {issuer}"),
    };
    let certificate = match &dates.authority {
        Some(name) => format!("intermediate certificate {name}"),
        None => "certificate".to_owned(),
    };
    let message = format!("the {certificate} of {} ends at {end}{issuer}", host.host);
    let (line, url) = &host.first;
    Finding {
        categories: host.categories.iter().cloned().collect(),
        muted: host.is_muted(),
        ..Finding::warning(
            Warning::CertificateEnds.as_str(),
            url,
            (&host.file, *line),
            &message,
        )
    }
}

/// A warning that is independent of the verdict.
pub(super) fn warning_finding(judged: &JudgedJob, warning: Warning, message: &str) -> Finding {
    let job = &judged.job;
    Finding {
        uses: uses(job),
        variant: job.key.variant.clone(),
        categories: job.categories.to_vec(),
        state: judged.verdict.state(),
        attempts: judged.observations.len(),
        muted: job.muted,
        ..Finding::warning(warning.as_str(), job.url.as_str(), job.place(), message)
    }
}

/// One sentence for people; with both names for an alias.
pub(super) fn message(judged: &JudgedJob) -> Shown {
    let message = judged.verdict.classification.message();
    match alias_of(&judged.job) {
        Some(alias) if judged.verdict.state() != State::Ok => shown(&format!("{alias}, {message}")),
        _ => shown(&message),
    }
}

fn expected(judged: &JudgedJob) -> Option<Shown> {
    let expected = judged.verdict.classification.expected.as_ref()?;
    Some(match alias_of(&judged.job) {
        Some(alias) => shown(&format!("{expected} ({alias})")),
        None => shown(expected),
    })
}

fn uses(job: &Job) -> UrlUses {
    job.uses.as_deref().cloned().unwrap_or_default()
}

fn alias_of(job: &Job) -> Option<String> {
    let alias = job.key.alias.as_ref()?;
    Some(format!("{alias}, a cname of {}", job.key.domain))
}

fn since(url_status: &UrlStatus, state: State) -> Timestamp {
    let pending = url_status
        .pending
        .as_ref()
        .filter(|pending| pending.state == state);
    pending.map_or(url_status.since, |pending| pending.first)
}
