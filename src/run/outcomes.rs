//! The outcomes of a run that incidents need: those of URLs that are not as promised, and their evidence.

use std::collections::{HashMap, HashSet};

use urldb_protocol::{Evidence, Reason, State};
use urldb_text::Shown;
use urldb_verdict::incident::{MemberKey, RunResult, UrlOutcome};
use urldb_verdict::{FailureKind, Job, JobKey, JudgedJob, Observation, Promise};

use super::doubt::doubt;
use crate::archive::ContentPair;
use crate::config::Owners;
use crate::ledger::{JobRecord, StatusUpdate};
use crate::report;

/// Most URLs of one host and cause with evidence: the first of each owner and set of categories, muted or not, and of each
/// [`Novelty`].
const MOST_EVIDENCE: usize = 5;

/// Why no message offers to accept what an own file or a rule does not promise.
const BY_HAND: &str = "accept cannot edit the list: change its file";

/// Whether the state that a run has seen is news. Messages show news, which has evidence of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Novelty {
    Doubtful,
    New,
    Old,
}

/// Collects the outcomes of a run.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// The affected URLs of the open incidents.
    members: HashSet<MemberKey>,
    owners: Owners,
    pub(super) urls: Vec<UrlOutcome>,
    pub(super) jobs: HashMap<MemberKey, JobKey>,
    /// The hosts that answered.
    pub(super) answered: HashSet<String>,
    /// The first URL of each host, cause, set of readers and novelty, which has the evidence: its position.
    first: HashMap<CauseKey, Vec<(usize, Novelty)>>,
    /// The contents of URLs with evidence, which the archive may have.
    pub(super) contents: HashMap<MemberKey, ContentPair>,
}

/// Host, state, reason and target of the redirect.
type CauseKey = (String, State, Option<Reason>, Option<Shown>);

impl Outcomes {
    /// The outcomes of a run, before which incidents affect these URLs.
    pub(super) fn of(members: HashSet<MemberKey>, owners: Owners) -> Self {
        Self {
            members,
            owners,
            urls: vec![],
            jobs: HashMap::new(),
            answered: HashSet::new(),
            first: HashMap::new(),
            contents: HashMap::new(),
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
        let seen = observations.get(verdict.observation);
        if seen.is_some_and(is_answered) && !self.answered.contains(job.host()) {
            self.answered.insert(job.host().to_owned());
        }
        let is_member = self.is_member(job);
        let is_fine = status.is_untroubled() && verdict.state() == State::Ok;
        let is_mixed = update.result == Some(RunResult::Mixed);
        if is_fine && !is_member && !is_mixed {
            return;
        }
        let reason = verdict.classification.reason;
        let redirect = seen.and_then(|seen| report::redirect(verdict.state(), seen));
        let host = job.host().to_owned();
        self.jobs.insert(key_of_job(job), job.key.clone());
        self.urls.push(UrlOutcome {
            key: key_of_job(job),
            record: (job.key.domain.as_str().into(), job.key.path.clone()),
            categories: job.categories.clone(),
            owner: self
                .owners
                .of(&job.key.domain, &job.key.path)
                .map(str::to_owned),
            file: job.file.clone(),
            line: job.line,
            host: host.clone(),
            muted: job.muted,
            promise: promise_text(&job.promise),
            known_since: update.before.map(|entry| entry.added),
            was_good: update.was_good(),
            status: status.clone(),
            result: update.result,
            breaks: update.breaks.clone(),
            seen: verdict.state(),
            seen_reason: reason.map(|reason| reason.to_string()),
            redirect: redirect.clone(),
            evidence: None,
        });
        let has_evidence = verdict.state() != State::Ok || is_member;
        if has_evidence && reason != Some(Reason::HostSilent) {
            let cause = (host, verdict.state(), reason, redirect);
            self.add_evidence(cause, record, update);
        }
    }

    /// Gives the last outcome evidence if it is the first URL of its cause, readers and novelty, and takes that of the URL
    /// that was the first until now. A muted URL has other readers than one that is not.
    fn add_evidence(&mut self, cause: CauseKey, record: &JobRecord, update: &StatusUpdate<'_>) {
        let index = self.urls.len() - 1;
        let place = |index: usize| {
            let outcome = &self.urls[index];
            (&outcome.file, outcome.line, &outcome.key.url)
        };
        let before = update.before.map(|entry| entry.url_status.state);
        let novelty = match self.urls[index].seen {
            seen if before == Some(seen) => Novelty::Old,
            seen if update.status.state == seen => Novelty::New,
            _ => Novelty::Doubtful,
        };
        let this = (index, novelty);
        let known = self.first.entry(cause).or_default();
        let readers = |(index, novelty): (usize, Novelty)| {
            let outcome = &self.urls[index];
            (&outcome.owner, &outcome.categories, outcome.muted, novelty)
        };
        let same = known
            .iter()
            .position(|known| readers(*known) == readers(this));
        let replaced = match same {
            Some(same) if place(known[same].0) <= place(index) => return,
            Some(same) => Some(std::mem::replace(&mut known[same], this)),
            None if known.len() >= MOST_EVIDENCE => return,
            None => {
                known.push(this);
                None
            }
        };
        if let Some((known, _)) = replaced {
            let outcome = &mut self.urls[known];
            outcome.evidence = None;
            self.contents.remove(&outcome.key);
        }
        let by_hand = record
            .judged
            .job
            .uses
            .as_ref()
            .filter(|uses| uses.by_hand)
            .map(|_| BY_HAND.to_owned());
        let doubt = doubt(&record.judged).or(by_hand);
        let doubt = doubt.map(|doubt| Shown::new(&doubt, Shown::LONGEST));
        self.urls[index].evidence = Some(Box::new(Evidence {
            doubt,
            ..report::evidence(record)
        }));
        if let Some(pair) = contents(record, update) {
            self.contents.insert(key_of_job(&record.judged.job), pair);
        }
    }
}

/// The promised and the observed content, if the archive may have both.
fn contents(record: &JobRecord, update: &StatusUpdate<'_>) -> Option<ContentPair> {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = &record.judged;
    let seen = observations.get(verdict.observation)?;
    let known = || {
        update
            .before?
            .content
            .as_ref()?
            .verified_sha256(&job.promise.strongest_digest()?)
    };
    let promised = job.promise.sha256.or_else(known)?;
    let observed = seen.complete_body()?;
    if record.archived.not_archived.is_some() || job.key.request.is_some() {
        return None;
    }
    let uris = [
        Some(job.url.as_str()),
        update.known_capture().map(|capture| capture.uri.as_str()),
        seen.last().map(|hop| hop.url.as_str()),
    ];
    Some(ContentPair {
        uris: uris.into_iter().flatten().map(str::to_owned).collect(),
        promised,
        observed: observed.sha256,
        length: job.promise.length.unwrap_or_default().max(observed.length),
    })
}

/// The promise as one text. Any change of it counts.
fn promise_text(promise: &Promise) -> String {
    let Promise {
        length,
        sha256,
        digests,
        content_type,
        redirect_status,
        status,
        redirects_to,
        canonical,
        redirect_ok,
        content_type_change_ok,
        has_text_of_challenge: _,
    } = promise;
    let digest = sha256.map(|digest| urldb_warc::Digest::sha256(digest).to_string());
    let flag = |flag: bool| flag.then(|| "yes".to_owned());
    [
        ("", digest),
        (
            "length ",
            length.filter(|_| sha256.is_none()).map(|it| it.to_string()),
        ),
        (
            "digests ",
            (!digests.is_empty()).then(|| {
                let texts: Vec<String> = digests.iter().map(ToString::to_string).collect();
                texts.join(" ")
            }),
        ),
        ("type ", content_type.clone()),
        ("redirect-status ", redirect_status.map(|it| it.to_string())),
        ("status ", status.map(|it| it.to_string())),
        ("redirects-to ", redirects_to.clone()),
        ("canonical ", canonical.as_deref().map(str::to_owned)),
        ("redirect-ok ", flag(*redirect_ok)),
        ("type-change-ok ", flag(*content_type_change_ok)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(format!("{name}{}", value?)))
    .collect::<Vec<_>>()
    .join(", ")
}

/// Whether the host answered, if only that it needs what urldb lacks.
fn is_answered(seen: &Observation) -> bool {
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    !seen.hops.is_empty() || failure.is_some_and(FailureKind::is_unsupported)
}

pub(super) fn key_of_job(job: &Job) -> MemberKey {
    MemberKey {
        url: job.url.to_string(),
        request: job.key.request.clone(),
        variant: job.key.variant.clone(),
    }
}
