//! The facts that a run takes from earlier runs and leaves to later ones.

use std::collections::{BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use urldb_protocol::{Envelope, Phase};
use urldb_verdict::{JobKey, PastRuns, Rehash, Selection, Validators};

use super::domain_files::PlannedDomain;
use crate::ledger::{ChangeLine, HistoryLine, IncidentLine, Ledger, RehashDays, RunLine};
use crate::report::Verification;

impl PastRuns for Ledger {
    fn is_archived(&self, key: &JobKey, digest: &[u8; 32]) -> bool {
        let content = self.get(key).and_then(|entry| entry.content.as_ref());
        let digest = urldb_warc::Digest::sha256(*digest).to_string();
        content.is_some_and(|content| content.capture.is_some() && content.digest == digest)
    }

    fn validators(&self, key: &JobKey, digest: &[u8; 32]) -> Option<Validators> {
        let entry = self.get(key)?;
        let content = entry.content.as_ref()?;
        let capture = content.capture.as_ref()?;
        let digest = urldb_warc::Digest::sha256(*digest).to_string();
        let is_as_promised = entry.url_status.is_untroubled() && content.digest == digest;
        is_as_promised.then(|| Validators {
            url: capture.uri.clone(),
            etag: content.etag.clone(),
            last_modified: content.last_modified.clone(),
        })
    }

    fn is_in_doubt(&self, key: &JobKey) -> bool {
        self.get(key)
            .is_some_and(|entry| !entry.url_status.is_untroubled())
    }
}

/// The ledger of a run: planning reads it while finished jobs are recorded. A domain is open from its
/// first job to its last one.
pub(super) struct SharedLedger(Mutex<OpenLedger>);

/// The ledger, and what is needed to close its domains in time.
pub(super) struct OpenLedger {
    ledger: Ledger,
    /// Number of jobs of each domain that are not recorded yet.
    jobs: HashMap<String, u64>,
    /// The first error of reading the ledger. What is known of the jobs since then is not true.
    fault: Option<anyhow::Error>,
}

impl SharedLedger {
    pub(super) fn new(ledger: Ledger) -> Self {
        Self(Mutex::new(OpenLedger {
            ledger,
            jobs: HashMap::new(),
            fault: None,
        }))
    }

    /// The ledger, with the entry of this job open.
    pub(super) fn of(&self, key: &JobKey) -> MutexGuard<'_, OpenLedger> {
        self.opened(|ledger| ledger.open_at(key))
    }

    /// The ledger, with this domain open.
    pub(super) fn of_domain(&self, domain: &str) -> MutexGuard<'_, OpenLedger> {
        self.opened(|ledger| ledger.open(domain))
    }

    fn opened(
        &self,
        open: impl FnOnce(&mut Ledger) -> anyhow::Result<()>,
    ) -> MutexGuard<'_, OpenLedger> {
        let mut shared = self.lock();
        let opened = open(&mut shared.ledger);
        shared.note_fault(opened);
        shared
    }

    fn lock(&self) -> MutexGuard<'_, OpenLedger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the planning of a domain, which has this many jobs. A domain whose jobs are kept stays open.
    /// Returns the jobs of the ledger that have no record.
    pub(super) fn planned(&self, file: &PlannedDomain<'_>) -> Vec<JobKey> {
        let mut shared = self.of_domain(file.host);
        let unplanned = shared.ledger.unplanned(file.host);
        let unplanned = shared.note_fault(unplanned).unwrap_or_default();
        if file.jobs > 0 {
            shared.jobs.insert(file.host.to_owned(), file.jobs);
        }
        if file.jobs == 0 || !file.are_jobs_kept {
            shared.ledger.close(file.host);
        }
        unplanned
    }

    /// Replaces the mistakes in a domain file, as [`Ledger::replace_mistakes`].
    pub(super) fn replace_mistakes(&self, domain: &str, mistakes: Vec<String>) -> Vec<String> {
        if mistakes.is_empty() {
            return self.lock().replace_mistakes(domain, mistakes);
        }
        // Planning has not opened the domain of a misnamed file.
        let mut shared = self.of_domain(domain);
        let former = shared.replace_mistakes(domain, mistakes);
        shared.close(domain);
        former
    }

    /// Removes references to captures in these archive files of the run.
    pub(super) fn forget_captures(&self, files: &BTreeSet<String>) {
        if files.is_empty() {
            return;
        }
        let changed = self.lock().changed().clone();
        for domain in changed {
            let mut shared = self.of_domain(&domain);
            let forgotten = shared.forget_captures(&domain, files);
            shared.note_fault(forgotten);
            shared.close(&domain);
        }
    }

    /// The first error of reading the ledger.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        self.lock().fault.take().map_or(Ok(()), Err)
    }

    /// The ledger after all jobs, with all domains closed.
    ///
    /// # Errors
    /// The first error of reading the ledger: what was recorded since then may be wrong.
    pub(super) fn into_inner(self) -> anyhow::Result<Ledger> {
        let shared = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let OpenLedger {
            mut ledger,
            jobs,
            fault,
        } = shared;
        if let Some(fault) = fault {
            return Err(fault);
        }
        // A file that changed between its two readings has another number of jobs.
        for domain in jobs.keys() {
            ledger.close(domain);
        }
        Ok(ledger)
    }
}

impl OpenLedger {
    /// Keeps the first error.
    fn note_fault<T>(&mut self, result: anyhow::Result<T>) -> Option<T> {
        result.map_err(|error| self.fault.get_or_insert(error)).ok()
    }

    /// Counts a job as recorded. Returns whether it was the last one of its domain; the caller then closes
    /// the domain.
    pub(super) fn is_last(&mut self, domain: &str) -> bool {
        let Some(left) = self.jobs.get_mut(domain) else {
            return false;
        };
        *left = left.saturating_sub(1);
        let is_last = *left == 0;
        if is_last {
            self.jobs.remove(domain);
        }
        is_last
    }
}

impl Deref for OpenLedger {
    type Target = Ledger;

    fn deref(&self) -> &Ledger {
        &self.ledger
    }
}

impl DerefMut for OpenLedger {
    fn deref_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}

impl PastRuns for SharedLedger {
    fn is_archived(&self, key: &JobKey, digest: &[u8; 32]) -> bool {
        self.of(key).is_archived(key, digest)
    }

    fn validators(&self, key: &JobKey, digest: &[u8; 32]) -> Option<Validators> {
        self.of(key).validators(key, digest)
    }

    fn is_in_doubt(&self, key: &JobKey) -> bool {
        self.of(key).is_in_doubt(key)
    }
}

/// Removes jobs and domains from the ledger that are no longer in the database. `understood` are the
/// hosts whose files have no mistakes, `unplanned` the jobs in the ledger without a record.
pub(super) fn forget(
    ledger: &mut Ledger,
    hosts: &[String],
    understood: &[String],
    unplanned: &[JobKey],
) -> anyhow::Result<()> {
    let understood: BTreeSet<&str> = understood.iter().map(String::as_str).collect();
    for of_domain in unplanned.chunk_by(|one, other| one.domain == other.domain) {
        let domain = &of_domain[0].domain;
        if understood.contains(domain.as_str()) {
            for key in of_domain {
                ledger.open_at(key)?;
                ledger.forget(key);
            }
            ledger.close(domain);
        }
    }
    ledger.forget_others(hosts.iter().map(String::as_str))
}

/// What a run starts from.
pub(super) struct Starting {
    /// The run before; absent if the line of this run lists all unverified URLs.
    pub(super) base: Option<String>,
    /// Which records it reads in full.
    pub(super) rehash: Rehash,
}

/// The lines of a run for the history.
pub(super) fn history_lines(
    envelope: &Envelope,
    selection: &Selection,
    starting: Starting,
    verification: Verification,
) -> Vec<HistoryLine> {
    let run = &envelope.run;
    let line = run_line(envelope, selection, starting, verification);
    let mut lines = vec![HistoryLine::Run(Box::new(line))];
    lines.extend(envelope.changes.iter().map(|change| {
        HistoryLine::Change(ChangeLine {
            run: run.id.clone(),
            at: run.finished,
            url: change.url.clone(),
            from: change.from,
            to: change.to,
        })
    }));
    let incidents = envelope.incidents.iter();
    let changed = incidents.filter(|incident| {
        let is_changed = !matches!(incident.phase, Phase::Unchanged);
        !incident.id.is_empty() && is_changed
    });
    lines.extend(changed.map(|incident| {
        HistoryLine::Incident(IncidentLine {
            run: run.id.clone(),
            at: run.finished,
            incident: incident.id.clone(),
            phase: incident.phase,
            host: incident.host.clone(),
            state: incident.state,
            reason: incident.reason.clone(),
            urls: incident.affected().count() as u64,
            because: incident.closed_because,
        })
    }));
    lines
}

fn run_line(
    envelope: &Envelope,
    selection: &Selection,
    Starting { base, rehash }: Starting,
    verification: Verification,
) -> RunLine {
    let (run, coverage) = (&envelope.run, &envelope.summary.coverage);
    let is_everything = selection.is_everything();
    let Verification {
        before,
        unverified,
        verified_again,
        not_modified,
    } = verification;
    // A URL of several requests is verified if all of them are.
    let verified_again = verified_again.difference(&unverified).cloned();
    let mut line = RunLine {
        run: run.id.clone(),
        at: run.started,
        selection: (!is_everything).then(|| selection.clone()),
        base,
        due: coverage.due,
        verified: Some(coverage.static_verified),
        not_modified: coverage.not_modified,
        rehash: (coverage.not_modified > 0).then(|| RehashDays {
            every: rehash.every(),
            days: rehash.days(),
        }),
        states: envelope.summary.states.clone(),
        unverified: None,
        became_unverified: vec![],
        verified_again: vec![],
    };
    let verifies = coverage.static_verified > 0;
    if line.base.is_none() {
        let after: BTreeSet<String> = match (verifies, is_everything) {
            (false, _) => before.into_iter().collect(),
            // Records that are gone leave the list.
            (true, true) => unverified.into_iter().chain(not_modified).collect(),
            (true, false) => {
                let again: BTreeSet<String> = verified_again.collect();
                let before = before.into_iter().filter(|url| !again.contains(url));
                before.chain(unverified).collect()
            }
        };
        line.unverified = Some(after.into_iter().collect());
    } else if verifies {
        line.verified_again = verified_again.collect();
        let became = unverified.into_iter().filter(|url| !before.contains(url));
        line.became_unverified = became.collect();
    }
    line
}
