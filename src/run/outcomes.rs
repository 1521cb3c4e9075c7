//! The outcomes of a run that incidents need: those of URLs that are not as promised, and their evidence.

use std::collections::{HashMap, HashSet};

use urldb_protocol::{AffectedUrl, CertificateDates, Evidence, Incident, Observed, Reason, State};
use urldb_text::Shown;
use urldb_verdict::incident::UrlOutcome;
use urldb_verdict::{Certificate, Job, JobKey, JudgedJob, Observation};

use super::doubt::doubt;
use crate::archive::ContentPair;
use crate::ledger::{JobRecord, StatusUpdate};
use crate::report;

/// A URL and its canonical request.
pub(super) type UrlKey = (String, Option<String>);

/// Collects the outcomes of a run.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// The affected URLs of the open incidents.
    members: HashSet<UrlKey>,
    pub(super) urls: Vec<UrlOutcome>,
    pub(super) jobs: HashMap<UrlKey, SeenJob>,
    /// The first URL of each host and cause: it has the evidence.
    first: HashMap<CauseKey, usize>,
    /// The contents of URLs with evidence, which the archive may have.
    pub(super) contents: HashMap<String, ContentPair>,
    /// Number of URLs that are believed to be broken.
    pub(super) broken: u64,
}

/// A job among the outcomes.
#[derive(Debug)]
pub(super) struct SeenJob {
    pub(super) key: JobKey,
    /// The URL was as promised before the run.
    pub(super) was_good: bool,
}

/// Host, state, reason and target of the redirect.
type CauseKey = (String, State, Option<Reason>, Option<Shown>);

impl Outcomes {
    pub(super) fn of(open: &[Incident]) -> Self {
        let members = open.iter().flat_map(Incident::affected);
        Self {
            members: members.map(key_of).collect(),
            urls: vec![],
            jobs: HashMap::new(),
            first: HashMap::new(),
            contents: HashMap::new(),
            broken: 0,
        }
    }

    /// Whether an open incident affects the URL of the job.
    pub(super) fn is_member(&self, job: &Job) -> bool {
        !self.members.is_empty() && self.members.contains(&key_of_job(job))
    }

    /// Adds a job, unless its URL is as promised and in no incident.
    pub(super) fn add(&mut self, record: &JobRecord, update: &StatusUpdate<'_>) {
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &record.judged;
        let status = &update.status;
        self.broken += u64::from(status.state.is_broken());
        let is_fine = status.is_untroubled() && verdict.state() == State::Ok;
        if is_fine && !self.is_member(job) {
            return;
        }
        let seen = observations.get(verdict.observation);
        let reason = verdict.classification.reason;
        let redirect = seen.and_then(|seen| redirect(verdict.state(), seen));
        let host = job.host().to_owned();
        let seen_job = SeenJob {
            key: job.key.clone(),
            was_good: update.was_good(),
        };
        self.jobs.insert(key_of_job(job), seen_job);
        self.urls.push(UrlOutcome {
            url: job.url.to_string(),
            request: job.key.request.clone(),
            categories: job.categories.clone(),
            file: job.file.clone(),
            line: job.line,
            host: host.clone(),
            muted: job.muted,
            status: status.clone(),
            is_news: update.transition.is_some(),
            seen: verdict.state(),
            seen_reason: reason.map(|reason| reason.to_string()),
            redirect: redirect.clone(),
            is_accepted: update.is_accepted(record),
            evidence: None,
        });
        if verdict.state() != State::Ok && reason != Some(Reason::HostSilent) {
            let cause = (host, verdict.state(), reason, redirect);
            self.add_evidence(cause, record, update);
        }
    }

    /// Gives the last outcome evidence if it is the first URL of its cause, and takes that of the URL
    /// that was the first until now.
    fn add_evidence(&mut self, cause: CauseKey, record: &JobRecord, update: &StatusUpdate<'_>) {
        let index = self.urls.len() - 1;
        let place = |index: usize| {
            let outcome = &self.urls[index];
            (&outcome.file, outcome.line, &outcome.url)
        };
        let known = self.first.get(&cause).copied();
        if known.is_some_and(|known| place(known) <= place(index)) {
            return;
        }
        self.first.insert(cause, index);
        if let Some(known) = known {
            let outcome = &mut self.urls[known];
            outcome.evidence = None;
            self.contents.remove(&outcome.url);
        }
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &record.judged;
        self.urls[index].evidence = Some(Box::new(evidence(record)));
        let seen = observations.get(verdict.observation);
        let observed = seen.and_then(Observation::complete_body);
        if let Some(promised) = job.promise.sha256
            && let Some(observed) = observed.filter(|_| record.archived.not_archived.is_none())
            && job.key.request.is_none()
        {
            let last = seen.and_then(Observation::last);
            let uris = [
                Some(job.url.as_str()),
                update.known_capture().map(|capture| capture.uri.as_str()),
                last.map(|hop| hop.url.as_str()),
            ];
            let pair = ContentPair {
                uris: uris.into_iter().flatten().map(str::to_owned).collect(),
                promised,
                observed: observed.sha256,
                length: job.promise.length.unwrap_or_default().max(observed.length),
            };
            self.contents.insert(job.url.to_string(), pair);
        }
    }
}

/// The evidence of one run about one URL.
fn evidence(record: &JobRecord) -> Evidence {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = &record.judged;
    let seen = observations.get(verdict.observation);
    let last = seen.and_then(Observation::last);
    let decided = verdict.attempts.get(verdict.observation);
    let alike = verdict.attempts.iter().filter(|attempt| {
        decided.is_some_and(|decided| {
            (decided.state, decided.reason, &decided.observed)
                == (attempt.state, attempt.reason, &attempt.observed)
        })
    });
    let failure = seen.and_then(|seen| seen.failure.as_ref());
    let rejected = failure.and_then(|failure| failure.certificate.as_deref());
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Evidence {
        url: job.url.to_string(),
        promised: report::promised(&job.promise),
        observed: seen.map_or_else(Observed::default, |seen| report::observed(job, seen)),
        detail: shown(&verdict.classification.observed),
        requests: count(observations.len()),
        agreeing: count(alike.count()),
        tried: 0,
        first_difference: None,
        text: None,
        not_archived: record.archived.not_archived.as_deref().map(shown),
        last_modified: last.and_then(|hop| hop.header("last-modified")).map(shown),
        certificate: rejected.map(certificate_dates),
        doubt: doubt(&record.judged).as_deref().map(shown),
    }
}

fn shown(text: &str) -> Shown {
    Shown::new(text, Shown::LONGEST)
}

/// The part of a certificate that reports and the ledger have.
pub(super) fn certificate_dates(certificate: &Certificate) -> CertificateDates {
    let mut names = certificate.issuer.split(',').map(str::trim);
    let common_name = names.find_map(|name| name.strip_prefix("CN="));
    CertificateDates {
        not_before: certificate.not_before,
        not_after: certificate.not_after,
        // The server chooses the issuer's name.
        issuer: shown(common_name.unwrap_or_default()),
    }
}

/// The target of the redirect that brought about the state.
fn redirect(state: State, seen: &Observation) -> Option<Shown> {
    let hop = match state {
        State::Redirected => 0,
        _ => seen.hops.len().checked_sub(2)?,
    };
    let target = seen.hops.get(hop)?.shown_redirect_target();
    target.as_deref().map(shown)
}

pub(super) fn key_of(url: &AffectedUrl) -> UrlKey {
    (url.url.clone(), url.request.clone())
}

pub(super) fn key_of_job(job: &Job) -> UrlKey {
    (job.url.to_string(), job.key.request.clone())
}
