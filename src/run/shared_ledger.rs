//! The ledger while a run plans, fetches and records at the same time.

use std::collections::{BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use urldb_format::Digest;
use urldb_verdict::{JobKey, PastRuns, Validators};

use super::planner::PlannedDomain;
use crate::ambient::in_seconds;
use crate::ledger::{KnownCaptures, KnownOrigins, Ledger};

impl PastRuns for Ledger {
    fn is_archived(&self, key: &JobKey, digest: &[u8; 32]) -> bool {
        let content = self.get(key).and_then(|entry| entry.content);
        let digest = urldb_warc::Digest::sha256(*digest).to_string();
        content.is_some_and(|content| content.capture.is_some() && content.digest == digest)
    }

    fn verified_sha256(&self, key: &JobKey, digest: &Digest) -> Option<[u8; 32]> {
        self.get(key)?.content?.verified_sha256(digest)
    }

    fn validators(&self, key: &JobKey, digest: &[u8; 32]) -> Option<Validators> {
        let entry = self.get(key)?;
        let content = entry.content?;
        let capture = content.capture?;
        let digest = urldb_warc::Digest::sha256(*digest).to_string();
        let is_as_promised = entry.url_status.is_untroubled() && content.digest == digest;
        is_as_promised.then_some(Validators {
            url: capture.uri,
            etag: content.etag,
            last_modified: content.last_modified,
        })
    }

    fn has_text_of_challenge(&self, key: &JobKey) -> bool {
        self.get(key)
            .is_some_and(|entry| entry.has_text_of_challenge)
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
    /// The first error of reading the ledger. Facts about jobs since then may be wrong.
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

    /// The ledger, with the domain of this job open.
    pub(super) fn of(&self, key: &JobKey) -> MutexGuard<'_, OpenLedger> {
        self.of_domain(&key.domain)
    }

    pub(super) fn known_captures(&self, key: &JobKey) -> KnownCaptures {
        KnownCaptures::of(self.of(key).get(key).as_ref())
    }

    /// The last archived records about the hosts of a domain's URLs.
    pub(super) fn origins(&self, domain: &str) -> KnownOrigins {
        let mut shared = self.lock();
        let origins = shared.ledger.origins(domain);
        shared.note_fault(origins).unwrap_or_default()
    }

    /// The ledger, with this domain open.
    pub(super) fn of_domain(&self, domain: &str) -> MutexGuard<'_, OpenLedger> {
        let mut shared = self.lock();
        let opened = shared.ledger.open(domain);
        shared.note_fault(opened);
        shared
    }

    fn lock(&self) -> MutexGuard<'_, OpenLedger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the planning of a domain, which has this many jobs. A domain whose jobs are kept stays open.
    /// Returns the jobs of the ledger that have no record.
    pub(super) fn planned(&self, file: &PlannedDomain<'_>) -> Vec<JobKey> {
        let mut shared = self.lock();
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

    /// Removes references to captures in these archive files of the run, which began at `started`.
    pub(super) fn forget_captures(&self, files: &BTreeSet<String>, started: Timestamp) {
        if files.is_empty() {
            return;
        }
        let changed = self.lock().changed().clone();
        for domain in changed {
            let mut shared = self.of_domain(&domain);
            let forgotten = shared.forget_captures(&domain, files, in_seconds(started));
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

    /// Remembers new records about hosts of a domain's URLs.
    pub(super) fn remember_origins(&mut self, domain: &str, new: &KnownOrigins) {
        let remembered = self.ledger.set_origins(domain, new);
        self.note_fault(remembered);
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

    fn verified_sha256(&self, key: &JobKey, digest: &Digest) -> Option<[u8; 32]> {
        self.of(key).verified_sha256(key, digest)
    }

    fn validators(&self, key: &JobKey, digest: &[u8; 32]) -> Option<Validators> {
        self.of(key).validators(key, digest)
    }

    fn has_text_of_challenge(&self, key: &JobKey) -> bool {
        self.of(key).has_text_of_challenge(key)
    }

    fn is_in_doubt(&self, key: &JobKey) -> bool {
        self.of(key).is_in_doubt(key)
    }
}
