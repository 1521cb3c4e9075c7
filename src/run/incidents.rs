//! The incidents after a run, and the counts of the whole database.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use url::Url;
use urldb_canon::{Scheme, authority};
use urldb_fetch::Mapping;
use urldb_protocol::{AffectedUrl, Because, Counts, Incident, Notice, NoticeKind, RunInfo};
use urldb_verdict::incident::{
    Appended, EvidenceFacts, FileFacts, FileMistakes, ImpairedFacts, IncidentLog, MemberKey,
    RunFacts, RunResult, UrlOutcome, append, key_of_content, time_of, unconfirmed_and_unknown,
    view_since,
};
use urldb_verdict::{CertificateFacts, HostCertificates, Job, JobKey, SkippedRecords};

use super::lost_evidence::lost_contents;
use super::outcomes::{Outcomes, key_of_job};
use crate::ambient::in_seconds;
use crate::archive::{ArchiveFiles, Catalogue};
use crate::config::Config;
use crate::ledger::{IncidentFile, Incidents, Ledger, RunLine};

/// Most incidents of one run whose contents are compared.
const MOST_COMPARED: usize = 20;

/// The URLs of a run, while it plans: how many there are, which affected URLs have no record, and which hosts
/// with a notice have no URL over https.
#[derive(Debug, Default)]
pub(super) struct PlannedUrls {
    by_host: BTreeMap<String, u64>,
    without_record: HashSet<MemberKey>,
    without_https: HashSet<String>,
}

impl PlannedUrls {
    /// Expects the URLs that open incidents affect or whose lost bytes notices tell of, and URLs of hosts with a notice.
    pub(super) fn expecting(known: &[IncidentFile]) -> Self {
        let mut without_record = members(known);
        without_record.extend(lost_contents(known).map(|content| key_of_content(&content)));
        let noticed = known.iter().filter(|file| {
            let state = file.log.state();
            let notice = state.open_notice();
            notice.is_some_and(|notice| {
                matches!(
                    notice.kind,
                    NoticeKind::CertificateEnds | NoticeKind::UnsupportedTls
                )
            })
        });
        Self {
            by_host: BTreeMap::new(),
            without_record,
            without_https: noticed.map(|file| file.log.host.clone()).collect(),
        }
    }

    /// Expects no longer the URL of a job that is planned.
    pub(super) fn see(&mut self, job: &Job) {
        if !self.without_record.is_empty() {
            self.without_record.remove(&key_of_job(job));
        }
        if !self.without_https.is_empty() && job.key.scheme == Scheme::Https {
            self.without_https.remove(job.host());
        }
    }

    /// Whether the host has neither a planned URL nor one that is not selected.
    pub(super) fn has_no_url(&self, host: &str) -> bool {
        self.of(host) == 0
    }

    /// Number of URLs of the host; of all hosts, if the name is empty.
    fn of(&self, host: &str) -> u64 {
        match self.by_host.get(host) {
            Some(urls) => *urls,
            None if host.is_empty() => self.by_host.values().sum(),
            None => 0,
        }
    }

    /// Counts the planned URLs of each host, and those that are not selected.
    pub(super) fn count(&mut self, planned: &BTreeMap<String, u64>, skipped: &SkippedRecords) {
        for (host, urls) in planned.iter().chain(&skipped.urls_not_selected) {
            *self.by_host.entry(host.clone()).or_default() += urls;
        }
    }
}

/// The URLs that incidents affect.
pub(super) fn members(known: &[IncidentFile]) -> HashSet<MemberKey> {
    known
        .iter()
        .flat_map(|file| file.log.state().members.into_keys())
        .collect()
}

/// The input for finishing the incidents of a run.
pub(super) struct RunIncidents<'a> {
    pub(super) config: &'a Config,
    pub(super) run: &'a RunInfo,
    pub(super) now: Timestamp,
    pub(super) is_complete: bool,
    pub(super) past: &'a [RunLine],
    pub(super) planned: PlannedUrls,
    /// The hosts whose files have no mistakes.
    pub(super) understood: &'a [String],
    /// The certificates that notices may be about.
    pub(super) certificates: &'a [HostCertificates],
    /// The hosts that impair the run.
    pub(super) impaired: &'a ImpairedFacts,
    /// The promised bytes that the archive lost.
    pub(super) evidence: &'a EvidenceFacts,
    /// The domain files that the run has read.
    pub(super) files: &'a [FileMistakes],
}

/// The incidents after a run.
pub(super) struct FinishedIncidents {
    /// Their files.
    pub(super) files: Vec<IncidentFile>,
    /// Those that are open or were closed by the run, and the groups that are none.
    pub(super) report: Vec<Incident>,
    /// The counts of their URLs, and of all.
    pub(super) counts: Counts,
}

impl RunIncidents<'_> {
    /// The incidents after the run, and the counts of the whole database. The ledger gets the id of the
    /// incident of each URL.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(super) fn finish(
        &self,
        known: &Incidents,
        ledger: &mut Ledger,
        mut outcomes: Outcomes,
    ) -> anyhow::Result<FinishedIncidents> {
        self.compare(&mut outcomes);
        let logs: Vec<IncidentLog> = known.known().iter().map(|file| file.log.clone()).collect();
        let appended = self.append(logs, &outcomes, &|id| known.is_taken(id));
        self.note(&appended, &outcomes.jobs, ledger)?;
        let mut report = self.report(&appended, &outcomes);
        let files: Vec<IncidentFile> = appended
            .incidents
            .into_iter()
            .map(|(log, _)| {
                let notified = known
                    .known()
                    .iter()
                    .find(|file| file.log.id == log.id)
                    .map(|file| file.notified.clone());
                IncidentFile {
                    log,
                    notified: notified.unwrap_or_default(),
                }
            })
            .collect();
        for incident in &mut report {
            let file = files.iter().find(|file| file.log.id == incident.id);
            incident.threads = file.map(IncidentFile::facts).unwrap_or_default();
        }
        let mut counts = Counts {
            urls: self.planned.of(""),
            ..Counts::default()
        };
        for file in &files {
            file.log
                .state()
                .count(&self.run.id, &mut counts, |_, _| true);
        }
        Ok(FinishedIncidents {
            files,
            report,
            counts,
        })
    }

    /// The outcomes of `check`, grouped like incidents: without ids, since no later run knows of them.
    pub(super) fn of_check(&self, outcomes: &Outcomes) -> (Vec<Incident>, Counts) {
        let appended = self.append(vec![], outcomes, &|_| false);
        let mut incidents = self.report(&appended, outcomes);
        for incident in &mut incidents {
            incident.id.clear();
            incident.key.clear();
            incident.opened_by.clear();
            incident.opened = None;
            incident.chapters.clear();
            incident.runs = 0;
            for url in &mut incident.urls {
                (url.since, url.last_good) = (None, None);
            }
        }
        let mut counts = Counts::default();
        for (log, _) in &appended.incidents {
            log.state().count("", &mut counts, |_, _| true);
        }
        (incidents, counts)
    }

    fn append(
        &self,
        known: Vec<IncidentLog>,
        outcomes: &Outcomes,
        is_taken: &dyn Fn(&str) -> bool,
    ) -> Appended {
        let understood: HashSet<&str> = self.understood.iter().map(String::as_str).collect();
        let is_readable = |file: &str| {
            let file = Path::new(file);
            understood.contains(urldb_format::host_of(file).as_str())
                || !urldb_files::is_there(&self.config.root.join(file))
        };
        let planned = &self.planned;
        let is_gone = |key: &MemberKey, file: &str| {
            let is_without = self.is_complete && planned.without_record.contains(key);
            is_without && is_readable(file)
        };
        let has_no_url = |host: &str, notice: &Notice| {
            let is_without = match notice.kind {
                NoticeKind::Impaired => planned.has_no_url(host),
                _ => planned.without_https.contains(host),
            };
            self.is_complete && is_without && is_readable(&notice.file)
        };
        let facts = RunFacts {
            id: &self.run.id,
            project: &self.run.project,
            started: self.run.started,
            is_gone: &is_gone,
            is_taken,
            last_good: &|outcome, since| self.last_good(outcome, since),
            host_urls: &|host| planned.of(host),
            has_answered: &|host| outcomes.answered.contains(host),
            has_no_url: &has_no_url,
            certificates: CertificateFacts {
                seen: self.certificates,
                warning: self.config.check.expiry_warning,
                is_complete: self.is_complete && !self.run.interrupted,
            },
            impaired: self.impaired,
            evidence: self.evidence,
            files: FileFacts {
                read: self.files,
                is_gone: &|file| {
                    self.is_complete && !urldb_files::is_there(&self.config.root.join(file))
                },
            },
        };
        append(known, &outcomes.urls, &facts)
    }

    /// The start of the last run before the trouble of a URL began at `since`, if the URL was in the database by then.
    fn last_good(&self, outcome: &UrlOutcome, since: Timestamp) -> Option<Timestamp> {
        let (domain, path) = &outcome.record;
        let mut checked = self
            .past
            .iter()
            .rev()
            .filter(|run| run.has_checked(domain, path))
            .peekable();
        let known_since = outcome.known_since?;
        if outcome.was_good && outcome.result == Some(RunResult::Bad) {
            // Exact also where runs are within one second.
            return checked.next().map(|run| in_seconds(run.at));
        }
        let mut next = self.run.started;
        while let Some(run) = checked.next_if(|run| in_seconds(run.at) > since) {
            next = run.at;
        }
        if since < in_seconds(self.run.started) {
            // This run saw the trouble first.
            next = checked.next()?.at;
        }
        let good = checked.next()?;
        (known_since < in_seconds(next)).then(|| in_seconds(good.at))
    }

    /// The incidents as the report of the run has them, then the groups that are none.
    fn report(&self, appended: &Appended, outcomes: &Outcomes) -> Vec<Incident> {
        let by_url: HashMap<MemberKey, &UrlOutcome> = outcomes
            .urls
            .iter()
            .map(|outcome| (outcome.key.clone(), outcome))
            .collect();
        let mut members = HashSet::new();
        let mut incidents = vec![];
        for (log, known) in &appended.incidents {
            members.extend(log.state().members.into_keys());
            if let Some(mut incident) = view_since(log, *known) {
                self.complete(&mut incident, &by_url);
                incidents.push(incident);
            }
        }
        let rest = outcomes
            .urls
            .iter()
            .filter(|outcome| !members.contains(&outcome.key));
        incidents.extend(unconfirmed_and_unknown(rest.collect(), self.now));
        for incident in &mut incidents {
            incident.host_urls = self.host_urls(incident);
            incident.via = self.via(incident);
        }
        incidents.sort_by(|a, b| a.order().cmp(&b.order()));
        incidents.sort_by_key(Incident::importance);
        incidents
    }

    /// The address to which the configuration sends requests of the incident.
    fn via(&self, incident: &Incident) -> Option<String> {
        let url = match incident.urls.first() {
            Some(affected) => &affected.url,
            None => &format!("https://{}/", authority(&incident.host)),
        };
        Some(Mapping::of(&self.config.network.map, &Url::parse(url).ok()?)?.connect_to())
    }

    /// Number of URLs of the host in the database, as far as the run knows.
    fn host_urls(&self, incident: &Incident) -> u64 {
        let planned = self.planned.by_host.get(&incident.host).copied();
        let affected = incident.affected().count() as u64;
        planned.unwrap_or(incident.host_urls).max(affected)
    }

    /// Adds what the run and the plan know.
    fn complete(&self, incident: &mut Incident, by_url: &HashMap<MemberKey, &UrlOutcome>) {
        let mut tried = 0;
        let mut evidence = None;
        for url in incident.urls.iter_mut().filter(|url| url.left.is_none()) {
            let Some(outcome) = by_url.get(&key_of(url)) else {
                continue;
            };
            url.line = outcome.line;
            url.file = outcome.file.to_string();
            url.categories = outcome.categories.to_vec();
            url.not_tried = outcome.affected().not_tried;
            url.seen = Some(outcome.seen).filter(|_| outcome.result.is_some());
            if url.flapping {
                url.breaks = outcome
                    .breaks
                    .iter()
                    .filter_map(|run| time_of(run))
                    .collect();
            }
            tried += u64::from(outcome.seen != urldb_protocol::State::Inconclusive);
            let is_same = outcome.seen == incident.state;
            evidence = evidence.or_else(|| outcome.evidence.as_deref().filter(|_| is_same));
        }
        if let Some(evidence) = evidence {
            incident.evidence = evidence.clone();
        }
        incident.evidence.tried = tried;
        // By their order: a clock may have stepped back since.
        let later = self
            .past
            .iter()
            .rev()
            .filter(|run| run.is_complete() && run.has_results())
            .take_while(|run| in_seconds(run.at) > incident.since);
        // The first run that saw the cause began before it did.
        let runs = if incident.since >= in_seconds(self.run.started) {
            1
        } else {
            1 + usize::from(tried > 0) + later.count()
        };
        incident.runs = u32::try_from(runs).unwrap_or(u32::MAX);
    }

    /// Compares promised and observed contents of URLs with evidence that no incident affects yet.
    fn compare(&self, outcomes: &mut Outcomes) {
        let Outcomes { urls, contents, .. } = outcomes;
        let mut pairs = urls
            .iter_mut()
            .filter(|outcome| outcome.was_good)
            .filter_map(|outcome| {
                let pair = contents.get(&outcome.key)?;
                Some((outcome.evidence.as_deref_mut()?, pair))
            })
            .filter(|(evidence, _)| evidence.observed.sha256 != evidence.promised.sha256)
            .take(MOST_COMPARED)
            .peekable();
        if pairs.peek().is_none() {
            return;
        }
        // Without an archive, or with a part of it, there is less evidence.
        let Ok(catalogue) = ArchiveFiles::open(self.config).and_then(Catalogue::open) else {
            return;
        };
        for (evidence, pair) in pairs {
            if let Ok(Some(difference)) = pair.compare(&catalogue) {
                evidence.first_difference = Some(difference.first);
                evidence.text = difference.text;
                evidence.contents = difference.contents;
            }
        }
    }

    /// Notes the incident of each URL in the ledger.
    fn note(
        &self,
        appended: &Appended,
        jobs: &HashMap<MemberKey, JobKey>,
        ledger: &mut Ledger,
    ) -> anyhow::Result<()> {
        let by_url: HashMap<MemberKey, &str> = appended
            .incidents
            .iter()
            .flat_map(|(log, _)| {
                log.state()
                    .members
                    .into_keys()
                    .map(|key| (key, log.id.as_str()))
            })
            .collect();
        let events = appended
            .incidents
            .iter()
            .flat_map(|(log, known)| &log.events[*known..]);
        let accepted: HashSet<&MemberKey> = events
            .filter(|event| event.because == Some(Because::Accepted))
            .flat_map(|event| event.urls.iter().map(|url| &url.key))
            .collect();
        let mut keys: Vec<(&MemberKey, &JobKey)> = jobs.iter().collect();
        keys.sort_by_key(|(_, key)| *key);
        for of_domain in keys.chunk_by(|one, other| one.1.domain == other.1.domain) {
            let domain = &of_domain[0].1.domain;
            ledger.open(domain)?;
            for (url, key) in of_domain {
                let Some(mut entry) = ledger.get(key) else {
                    continue;
                };
                entry.incident = by_url.get(*url).map(|id| (*id).to_owned());
                // The breaks are those of another promise.
                if accepted.contains(url) {
                    entry.breaks.clear();
                }
                ledger.set(key, entry, self.now);
            }
            ledger.close(domain);
        }
        Ok(())
    }
}

fn key_of(url: &AffectedUrl) -> MemberKey {
    MemberKey {
        url: url.url.clone(),
        request: url.request.clone(),
        variant: url.variant.clone(),
    }
}
