//! The certificates that the hosts of a run show: those that end soon, and those that notices are about.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use urldb_canon::Scheme;
use urldb_protocol::CertificateDates;
use urldb_verdict::incident::sent_hours;
use urldb_verdict::{HostCertificates, JudgedJob, believe_known_end};

use crate::ledger::IncidentFile;
use crate::report::Report;

/// The certificates of a run so far.
pub(super) struct Certificates {
    started: Timestamp,
    /// The time before its end from which on a certificate is a warning.
    warning: Duration,
    /// The certificates of which open notices have warned, by host.
    delivered: HashMap<String, BTreeSet<CertificateDates>>,
    /// Those of the domains with unfinished jobs, by domain and host.
    unfinished: BTreeMap<String, BTreeMap<String, HostCertificates>>,
    /// The hosts that notices may be about.
    seen: Vec<HostCertificates>,
}

impl Certificates {
    /// None, in a run that began at `started`, before which these incidents were known.
    pub(super) fn new(started: Timestamp, warning: Duration, known: &[IncidentFile]) -> Self {
        let delivered = known
            .iter()
            .filter(|file| file.log.state().is_noticed)
            .map(|file| {
                let delivered = sent_hours(&file.log).into_keys();
                (file.log.host.clone(), delivered.cloned().collect())
            });
        Self {
            started,
            warning,
            delivered: delivered.collect(),
            unfinished: BTreeMap::new(),
            seen: vec![],
        }
    }

    /// Makes the verdict on a URL certain whose certificate has ended as a notice said.
    pub(super) fn believe(&self, judged: &mut JudgedJob) {
        if let Some(delivered) = self.delivered.get(judged.job.host()) {
            believe_known_end(judged, delivered);
        }
    }

    /// Adds what a job showed.
    pub(super) fn add(&mut self, judged: &JudgedJob) {
        let job = &judged.job;
        if job.key.scheme != Scheme::Https {
            return;
        }
        let of_domain = self.unfinished.entry(job.key.domain.clone()).or_default();
        if !of_domain.contains_key(job.host()) {
            of_domain.insert(job.host().to_owned(), HostCertificates::default());
        }
        if let Some(host) = of_domain.get_mut(job.host()) {
            host.add(judged);
        }
    }

    /// Ends a domain after its last job. Returns the valid certificates of the host itself.
    pub(super) fn end_of(&mut self, domain: &str) -> Option<BTreeSet<CertificateDates>> {
        let hosts = self.unfinished.remove(domain)?;
        let own = hosts
            .get(domain)
            .map(|host| host.valid.keys().cloned().collect());
        let is_kept = |host: &HostCertificates| {
            let is_delivered = self.delivered.contains_key(&host.host);
            is_delivered
                || host.unsupported_tls > 0
                || host.ending(self.started, self.warning).is_some()
        };
        self.seen.extend(hosts.into_values().filter(is_kept));
        own
    }

    /// The domains whose last job was not recorded.
    pub(super) fn unfinished(&self) -> Vec<String> {
        self.unfinished.keys().cloned().collect()
    }

    /// Ends the last domain: adds the warnings to the report, and returns the hosts that notices may be about.
    pub(super) fn end(&mut self, report: &mut Report) -> Vec<HostCertificates> {
        for domain in self.unfinished() {
            self.end_of(&domain);
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.sort_by(|one, other| (&one.file, &one.host).cmp(&(&other.file, &other.host)));
        report.warn_of_certificates(&seen, self.started, self.warning);
        seen
    }
}
