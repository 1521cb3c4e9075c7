//! The incidents after a run, and the totals of the whole database.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Incident, Phase, RunInfo, Totals};
use urldb_verdict::incident::{RunFacts, UrlOutcome, incidents_after};
use urldb_verdict::{Job, JobKey, SkippedRecords};

use super::outcomes::{Outcomes, SeenJob, UrlKey, key_of, key_of_job};
use crate::ambient::in_seconds;
use crate::archive::{ArchiveFiles, Catalogue, ContentPair};
use crate::config::Config;
use crate::ledger::{Entry, Incidents, Ledger, PastRun};

/// Most incidents of one run whose contents are compared.
const MOST_COMPARED: usize = 20;

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

    /// The outcomes of `check`, grouped like incidents: without ids, since no later run knows of them.
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
        let added = ledger.get(key)?.added;
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
