//! What a run knows for the incidents: the outcomes of URLs that are not as promised, and their
//! evidence.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use urldb_protocol::{
    AffectedUrl, CertificateDates, Evidence, Incident, Observed, Phase, Reason, RunInfo, State,
    Totals,
};
use urldb_text::Shown;
use urldb_verdict::incident::{RunFacts, UrlOutcome, incidents_after};
use urldb_verdict::{
    Certificate, Classification, Job, JobKey, JudgedJob, Observation, SkippedRecords, UrlStatus,
};

use super::{doubt, in_seconds};
use crate::archive::{ArchiveFiles, Catalogue, ContentPair};
use crate::config::Config;
use crate::ledger::{Entry, Incidents, Ledger, PastRun};
use crate::report;

/// Most incidents of one run whose contents are compared.
const MOST_COMPARED: usize = 20;

/// A URL and its canonical request.
type UrlKey = (String, Option<String>);

/// The URLs of a run, while it plans: how many there are, and which affected URLs have no record.
#[derive(Debug, Default)]
pub(super) struct PlannedUrls {
    by_host: BTreeMap<String, u64>,
    without_record: HashSet<UrlKey>,
}

impl PlannedUrls {
    /// Expects the affected URLs of the open incidents.
    pub(super) fn expecting(open: &[Incident]) -> Self {
        let urls = open.iter().flat_map(Incident::affected);
        Self {
            by_host: BTreeMap::new(),
            without_record: urls.map(key_of).collect(),
        }
    }

    /// Expects no longer the URL of a job that is planned.
    pub(super) fn see(&mut self, job: &Job) {
        if !self.without_record.is_empty() {
            self.without_record.remove(&key_of_job(job));
        }
    }

    /// Counts the planned URLs of each host, and those that are not selected.
    pub(super) fn count(&mut self, planned: &BTreeMap<String, u64>, skipped: &SkippedRecords) {
        for (host, urls) in planned.iter().chain(&skipped.urls_not_selected) {
            *self.by_host.entry(host.clone()).or_default() += urls;
        }
    }
}

/// Collects the outcomes of a run.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// The affected URLs of the open incidents.
    members: HashSet<UrlKey>,
    urls: Vec<UrlOutcome>,
    jobs: HashMap<UrlKey, SeenJob>,
    /// The first URL of each host and cause: it has the evidence.
    first: HashMap<CauseKey, usize>,
    /// The contents of URLs with evidence, which the archive may have.
    contents: HashMap<String, ContentPair>,
    /// Number of URLs that are believed to be broken.
    broken: u64,
}

/// A job among the outcomes.
#[derive(Debug)]
struct SeenJob {
    key: JobKey,
    /// The URL was as promised before the run.
    was_good: bool,
}

/// Host, state, reason and target of the redirect.
type CauseKey = (String, State, Option<Reason>, Option<Shown>);

/// A job that a run has recorded.
pub(super) struct RecordedJob<'a> {
    pub(super) judged: &'a JudgedJob,
    pub(super) url_status: UrlStatus,
    /// Whether the run changed the believed state.
    pub(super) is_news: bool,
    pub(super) not_archived: Option<&'a str>,
    /// The URL was as promised before the run.
    pub(super) was_good: bool,
    /// The URL is as promised, and the same bytes were not before.
    pub(super) is_accepted: bool,
    /// The URI of the content that the ledger had before the run.
    pub(super) known_uri: Option<&'a str>,
}

impl<'a> RecordedJob<'a> {
    /// A job of `check`, which believes what it sees and keeps nothing.
    pub(super) fn of_check(judged: &'a JudgedJob, now: Timestamp) -> Self {
        let Classification { state, reason, .. } = &judged.verdict.classification;
        let (state, reason) = if state.is_broken() {
            (*state, reason.map(|reason| reason.to_string()))
        } else {
            (State::Ok, None)
        };
        Self {
            judged,
            url_status: UrlStatus {
                state,
                since: now,
                reason,
                pending: None,
            },
            is_news: true,
            not_archived: None,
            was_good: false,
            is_accepted: false,
            known_uri: None,
        }
    }
}

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
    pub(super) fn add(&mut self, recorded: &RecordedJob<'_>) {
        let RecordedJob {
            judged,
            ref url_status,
            is_news,
            is_accepted,
            ..
        } = *recorded;
        let JudgedJob {
            job,
            observations,
            verdict,
        } = judged;
        self.broken += u64::from(url_status.state.is_broken());
        let is_fine = url_status.is_untroubled() && verdict.state() == State::Ok;
        if is_fine && !self.is_member(job) {
            return;
        }
        let seen = observations.get(verdict.observation);
        let reason = verdict.classification.reason;
        let redirect = seen.and_then(|seen| redirect(verdict.state(), seen));
        let host = job.host().to_owned();
        let seen_job = SeenJob {
            key: job.key.clone(),
            was_good: recorded.was_good,
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
            status: url_status.clone(),
            is_news,
            seen: verdict.state(),
            seen_reason: reason.map(|reason| reason.to_string()),
            redirect: redirect.clone(),
            is_accepted,
            evidence: None,
        });
        if verdict.state() != State::Ok && reason != Some(Reason::HostSilent) {
            self.add_evidence((host, verdict.state(), reason, redirect), recorded);
        }
    }

    /// Gives the last outcome evidence if it is the first URL of its cause, and takes that of the URL
    /// that was the first until now.
    fn add_evidence(&mut self, cause: CauseKey, recorded: &RecordedJob<'_>) {
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
            job, observations, ..
        } = recorded.judged;
        self.urls[index].evidence = Some(Box::new(evidence(recorded)));
        let seen = observations.get(recorded.judged.verdict.observation);
        let observed = seen.and_then(Observation::complete_body);
        if let Some(promised) = job.promise.sha256
            && let Some(observed) = observed.filter(|_| recorded.not_archived.is_none())
            && job.key.request.is_none()
        {
            let last = seen.and_then(Observation::last);
            let uris = [
                Some(job.url.as_str()),
                recorded.known_uri,
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

/// The input for finishing the incidents of a run.
pub(super) struct RunIncidents<'a> {
    pub(super) config: &'a Config,
    pub(super) run: &'a RunInfo,
    pub(super) now: Timestamp,
    pub(super) is_complete: bool,
    pub(super) past: &'a [PastRun],
    pub(super) planned: PlannedUrls,
    /// The hosts whose files have no mistakes.
    pub(super) understood: &'a [String],
}

impl RunIncidents<'_> {
    /// The incidents after the run, and the totals of the whole database. The ledger gets the id of the
    /// incident of each URL.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(super) fn finish(
        &self,
        open: &Incidents,
        ledger: &mut Ledger,
        outcomes: Outcomes,
    ) -> anyhow::Result<(Vec<Incident>, Totals)> {
        let Outcomes {
            urls: outcomes,
            jobs,
            contents,
            broken,
            ..
        } = outcomes;
        let complete = self.past.iter().filter(|run| run.is_complete());
        let understood: HashSet<&str> = self.understood.iter().map(String::as_str).collect();
        let is_gone = |url: &AffectedUrl| {
            let file = Path::new(&url.file);
            let is_readable = || {
                understood.contains(urldb_format::host_of(file).as_str())
                    || !urldb_files::is_there(&self.config.root.join(file))
            };
            self.is_complete && self.planned.without_record.contains(&key_of(url)) && is_readable()
        };
        let facts = RunFacts {
            id: &self.run.id,
            project: &self.run.project,
            started: self.run.started,
            now: self.now,
            last_complete: complete.map(|run| run.at).max(),
            is_gone: &is_gone,
            is_taken: &|id| open.is_taken(id),
        };
        let mut incidents = incidents_after(open.open().to_vec(), &outcomes, &facts);
        for incident in &mut incidents {
            self.complete(incident, &jobs, ledger)?;
        }
        self.compare(&mut incidents, &contents);
        self.note(&incidents, &jobs, ledger)?;
        let totals = self.totals(&incidents, &outcomes, broken);
        Ok((incidents, totals))
    }

    /// What `check` sees, grouped like incidents: without ids, since no later run knows of them.
    pub(super) fn of_check(&self, outcomes: &Outcomes) -> (Vec<Incident>, Totals) {
        let facts = RunFacts {
            id: &self.run.id,
            project: &self.run.project,
            started: self.run.started,
            now: self.now,
            last_complete: None,
            is_gone: &|_| false,
            is_taken: &|_| false,
        };
        let mut incidents = incidents_after(vec![], &outcomes.urls, &facts);
        for incident in &mut incidents {
            incident.id.clear();
            incident.key.clear();
            incident.opened_by.clear();
            incident.opened = None;
            incident.host_urls = self.host_urls(incident);
        }
        let totals = self.totals(&incidents, &outcomes.urls, outcomes.broken);
        (incidents, totals)
    }

    /// Number of URLs of the host in the database, as far as the run knows.
    fn host_urls(&self, incident: &Incident) -> u64 {
        let planned = self.planned.by_host.get(&incident.host).copied();
        let affected = incident.affected().count() as u64;
        planned.unwrap_or(incident.host_urls).max(affected)
    }

    /// Adds what the history and the plan know. Points in time within files are whole seconds.
    fn complete(
        &self,
        incident: &mut Incident,
        jobs: &HashMap<UrlKey, SeenJob>,
        ledger: &mut Ledger,
    ) -> anyhow::Result<()> {
        incident.host_urls = self.host_urls(incident);
        if incident.id.is_empty() && incident.phase == Phase::Unknown {
            return Ok(());
        }
        if !incident.id.is_empty() {
            // By their order: a clock may have stepped back since.
            let later = self.past.iter().rev().filter(|run| run.is_complete());
            let later = later.take_while(|run| in_seconds(run.at) > incident.since);
            // The first run that saw the cause began before it did.
            let is_first = incident.since >= in_seconds(self.run.started);
            let runs = if is_first { 1 } else { 2 + later.count() };
            incident.runs = u32::try_from(runs).unwrap_or(u32::MAX);
        }
        let is_new = matches!(incident.phase, Phase::Opened | Phase::Unconfirmed);
        if is_new && !incident.silent {
            let first = incident.affected().next();
            if let Some(job) = first.and_then(|url| jobs.get(&key_of(url))) {
                ledger.open_at(&job.key)?;
                incident.last_good = self.last_good(incident, job, ledger);
                ledger.close(&job.key.domain);
            }
        }
        Ok(())
    }

    /// The start of the last run before the cause was first seen, if the first URL, that of `job`, was in
    /// the database by then.
    fn last_good(&self, incident: &Incident, job: &SeenJob, ledger: &Ledger) -> Option<Timestamp> {
        let key = &job.key;
        let checked = self.past.iter();
        let checked = checked.filter(|run| run.has_checked(&key.domain, &key.path));
        let starts: Vec<Timestamp> = checked.map(|run| in_seconds(run.at)).collect();
        if job.was_good {
            // Exact also where runs are within one second.
            return starts.last().copied();
        }
        let added = ledger.get(key)?.added?;
        let before = starts.iter().rposition(|at| *at <= incident.since);
        let mut until = before.map_or(0, |last| last + 1);
        if incident.since < in_seconds(self.run.started) {
            // The last of these runs saw the cause first.
            until = until.saturating_sub(1);
        }
        let good = *starts[..until].last()?;
        let next = starts.get(until).copied();
        let was_there = added < next.unwrap_or_else(|| in_seconds(self.run.started));
        was_there.then_some(good)
    }

    /// Compares promised and observed contents of the incidents that the run opened.
    fn compare(&self, incidents: &mut [Incident], contents: &HashMap<String, ContentPair>) {
        let opened = incidents.iter_mut();
        let opened = opened.filter(|incident| incident.phase == Phase::Opened && !incident.silent);
        let pairs = opened.filter_map(|incident| {
            let pair = contents.get(&incident.evidence.url)?;
            Some((incident, pair))
        });
        let mut pairs = pairs.take(MOST_COMPARED).peekable();
        if pairs.peek().is_none() {
            return;
        }
        // Without an archive, or with a part of it, there is less evidence.
        let Ok(catalogue) = ArchiveFiles::open(self.config).and_then(Catalogue::open) else {
            return;
        };
        for (incident, pair) in pairs {
            if let Ok(Some(difference)) = pair.compare(&catalogue) {
                incident.evidence.first_difference = Some(difference.first);
                incident.evidence.text = difference.text;
            }
        }
    }

    /// Notes the incident of each URL in the ledger.
    fn note(
        &self,
        incidents: &[Incident],
        jobs: &HashMap<UrlKey, SeenJob>,
        ledger: &mut Ledger,
    ) -> anyhow::Result<()> {
        let open = incidents.iter().filter(|incident| incident.is_open());
        let by_url: HashMap<UrlKey, &str> = open
            .flat_map(|incident| {
                let urls = incident.affected();
                urls.map(|url| (key_of(url), incident.id.as_str()))
            })
            .collect();
        let mut keys: Vec<(&UrlKey, &JobKey)> =
            jobs.iter().map(|(url, job)| (url, &job.key)).collect();
        keys.sort_by_key(|(_, key)| *key);
        for of_domain in keys.chunk_by(|one, other| one.1.domain == other.1.domain) {
            let domain = &of_domain[0].1.domain;
            for (url, key) in of_domain {
                ledger.open_at(key)?;
                let incident = by_url.get(url).map(|id| (*id).to_owned());
                if let Some(entry) = ledger.get(key).cloned() {
                    ledger.set(key, Entry { incident, ..entry }, self.now);
                }
            }
            ledger.close(domain);
        }
        Ok(())
    }

    fn totals(&self, incidents: &[Incident], outcomes: &[UrlOutcome], broken: u64) -> Totals {
        let asked: HashSet<&str> = outcomes
            .iter()
            .map(|outcome| outcome.url.as_str())
            .collect();
        let open = || incidents.iter().filter(|incident| incident.is_open());
        let affected = || open().flat_map(Incident::affected);
        let broken_elsewhere = open()
            .filter(|incident| incident.state.is_broken())
            .flat_map(Incident::affected)
            .filter(|url| !url.not_tried && !asked.contains(url.url.as_str()));
        let of_phase = |phase| {
            let groups = incidents.iter().filter(|incident| incident.phase == phase);
            groups.map(|incident| incident.urls.len() as u64).sum()
        };
        Totals {
            urls: self.planned.by_host.values().sum(),
            broken: broken + broken_elsewhere.count() as u64,
            affected: affected().count() as u64,
            muted: affected().filter(|url| url.muted).count() as u64,
            unconfirmed: of_phase(Phase::Unconfirmed),
            unknown: of_phase(Phase::Unknown),
        }
    }
}

/// The evidence of one run about one URL.
fn evidence(recorded: &RecordedJob<'_>) -> Evidence {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = recorded.judged;
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
        not_archived: recorded.not_archived.map(shown),
        last_modified: last.and_then(|hop| hop.header("last-modified")).map(shown),
        certificate: rejected.map(certificate_dates),
        doubt: doubt(recorded.judged).as_deref().map(shown),
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

fn key_of(url: &AffectedUrl) -> UrlKey {
    (url.url.clone(), url.request.clone())
}

fn key_of_job(job: &Job) -> UrlKey {
    (job.url.to_string(), job.key.request.clone())
}
