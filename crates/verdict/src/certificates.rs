//! The certificates that hosts show, and whether they end soon.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{CertificateDates, Reason, Shown};

use crate::failure::{Certificate, FailureKind};
use crate::observation::Observation;
use crate::verdict::JudgedJob;

/// The times before the end of a certificate at which people are warned again, in hours.
const AGAIN: [u64; 2] = [72, 24];

/// The certificates that one host showed in a run, to requests for its own URLs. Those of redirect targets
/// are another host's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCertificates {
    /// The host that was asked.
    pub host: String,
    /// The domain file with its URLs, relative to the root of the repository, with `/`.
    pub file: String,
    /// One of its URLs over https, and the first line of the record: those that come first in the file.
    pub first: (usize, String),
    /// The categories of its URLs over https.
    pub categories: BTreeSet<String>,
    /// Number of its URLs over https that the run asked.
    pub urls: u64,
    /// Number of these that are muted.
    pub muted: u64,
    /// The certificates that were valid, each with the address and the port that showed it: those of the host, and
    /// those of authorities that end before.
    pub valid: BTreeMap<CertificateDates, Shown>,
    /// The certificates that had ended.
    pub ended: BTreeSet<CertificateDates>,
    /// Number of its URLs over https for which it needs an algorithm of TLS that urldb lacks.
    pub unsupported_tls: u64,
    /// The need for such an algorithm, in words.
    pub tls_limit: Option<Shown>,
}

/// The facts of a run about certificates.
#[derive(Clone, Copy)]
pub struct CertificateFacts<'a> {
    /// The certificates that were seen, one entry for each host.
    pub seen: &'a [HostCertificates],
    /// The time before the end of a certificate from which on it is a danger.
    pub warning: Duration,
    /// Whether the run asked all URLs, so that it can say how many are in danger.
    pub is_complete: bool,
}

impl HostCertificates {
    /// Adds a job over https to the same host.
    pub fn add(&mut self, judged: &JudgedJob) {
        let job = &judged.job;
        let place = (job.line, job.url.to_string());
        if self.urls == 0 {
            job.host().clone_into(&mut self.host);
            self.file = job.file.to_string();
        }
        if self.urls == 0 || place < self.first {
            self.first = place;
        }
        self.urls += 1;
        self.muted += u64::from(job.muted);
        let verdict = &judged.verdict.classification;
        if verdict.reason == Some(Reason::UnsupportedTls) {
            self.unsupported_tls += 1;
            let limit = || Shown::new(&verdict.observed, Shown::LONGEST);
            self.tls_limit.get_or_insert_with(limit);
        }
        let known = &mut self.categories;
        let new: Vec<String> = job
            .categories
            .iter()
            .filter(|it| !known.contains(*it))
            .cloned()
            .collect();
        self.categories.extend(new);
        for seen in &judged.observations {
            if let Some(hop) = seen.first() {
                let address = hop
                    .address
                    .map(|it| Shown::new(&it.to_string(), Shown::LONGEST))
                    .unwrap_or_default();
                for certificate in hop.certificate.iter().chain(&hop.authority) {
                    self.valid
                        .entry(certificate.dates())
                        .or_insert_with(|| address.clone());
                }
            } else if let Some(certificate) = ended(seen) {
                self.ended.insert(certificate.dates());
            }
        }
    }

    /// Whether all its URLs are muted.
    pub fn is_muted(&self) -> bool {
        self.muted == self.urls
    }

    /// The certificate that ends first of those that end soon, and the hours within which it ends.
    pub fn ending(&self, now: Timestamp, warning: Duration) -> Option<(&CertificateDates, u64)> {
        self.valid
            .keys()
            .filter_map(|dates| Some((dates, hours_within(dates, now, warning)?)))
            .min_by_key(|(dates, _)| dates.not_after)
    }
}

/// The hours within which a valid certificate ends, if that is soon: within `warning`, and in the last third
/// of its validity.
fn hours_within(dates: &CertificateDates, now: Timestamp, warning: Duration) -> Option<u64> {
    let left = dates.not_after.duration_since(now);
    let validity = dates.not_after.duration_since(dates.not_before);
    if left.saturating_mul(3) >= validity {
        return None;
    }
    let first = warning.as_secs().div_ceil(3600);
    let steps = AGAIN.into_iter().filter(|hours| *hours < first);
    let is_within = |hours: &u64| {
        let seconds = i64::try_from(hours.saturating_mul(3600)).unwrap_or(i64::MAX);
        left < SignedDuration::from_secs(seconds)
    };
    steps.chain([first]).filter(is_within).min()
}

/// The certificate whose end was the failure of a first request.
fn ended(seen: &Observation) -> Option<&Certificate> {
    let failure = seen.failure.as_ref()?;
    let is_end = seen.hops.is_empty() && failure.kind == FailureKind::TlsExpired;
    failure.certificate.as_deref().filter(|_| is_end)
}

/// Makes the verdict certain if each request met the end of a certificate of which a run has warned: the end
/// was known before, and no second run has to confirm it.
pub fn believe_known_end(judged: &mut JudgedJob, known: &BTreeSet<CertificateDates>) {
    let mut seen = judged.observations.iter();
    let is_known = |seen: &Observation| ended(seen).is_some_and(|it| known.contains(&it.dates()));
    if !judged.observations.is_empty() && seen.all(is_known) {
        judged.verdict.sure = true;
    }
}
