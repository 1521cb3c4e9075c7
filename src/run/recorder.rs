//! Records each archived job of a run in the ledger and the report.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use urldb_protocol::{CertificateDates, State};
use urldb_verdict::{JudgedJob, Observation, UrlStatus};

use super::archiving::ArchivedJob;
use super::failures::FailureLog;
use super::incidents::{Outcomes, RecordedJob, certificate_dates};
use super::past_runs::SharedLedger;
use super::{RunOptions, pass_on_results};
use crate::archive::KnownCaptures;
use crate::ledger::{Content, Entry};
use crate::report::{Report, ReportedJob};

/// Records the judged jobs of a run.
pub(super) struct Recorder<'a> {
    pub(super) run: &'a RunOptions<'a>,
    /// Planning reads the ledger meanwhile.
    pub(super) ledger: &'a SharedLedger,
    pub(super) report: Report,
    /// Tells which URLs fail often.
    pub(super) failures: FailureLog<'a>,
    /// The outcomes that incidents need.
    pub(super) outcomes: Outcomes,
    /// The certificates that each host has shown, until its last job is recorded.
    pub(super) certificates: BTreeMap<String, BTreeSet<CertificateDates>>,
    /// The first error of the archive; later ones would say the same.
    pub(super) trouble: Option<String>,
    /// Names of the archive files with captures of this run.
    pub(super) files: BTreeSet<String>,
}

impl Recorder<'_> {
    /// Updates ledger and report, as of `now`.
    #[expect(clippy::too_many_lines)]
    pub(super) fn record(&mut self, archived: ArchivedJob, now: Timestamp) {
        let ArchivedJob {
            judged,
            captures,
            trouble,
            not_archived,
        } = archived;
        if self.trouble.is_none() {
            self.trouble = trouble;
        }
        let JudgedJob { job, verdict, .. } = &judged;
        let mut ledger = self.ledger.of(&job.key);
        let previous = ledger.get(&job.key);
        let (url_status, transition) = UrlStatus::after(
            previous.map(|entry| &entry.url_status),
            verdict,
            now,
            &self.run.config.check.verdict,
        );
        let is_in_ledger = previous.is_some();
        let KnownCaptures {
            content,
            bad_response,
        } = captures;
        // The ledger of a URL that is as promised has no error page.
        let bad_response = bad_response.filter(|_| verdict.state() != State::Ok);
        let old_content = previous.and_then(|entry| entry.content.as_ref());
        let old_capture = old_content.and_then(|content| content.capture.as_ref());
        let old_bad = previous.and_then(|entry| entry.bad_response.as_ref());
        let capture = content
            .as_ref()
            .and_then(|content| content.capture.as_ref());
        let capture = capture.filter(|capture| old_capture != Some(*capture));
        let bad = bad_response.as_ref().filter(|bad| old_bad != Some(*bad));
        let files = capture.map(|capture| &capture.file).into_iter();
        for file in files.chain(bad.map(|bad| &bad.file)) {
            if !self.files.contains(file) {
                self.files.insert(file.clone());
            }
        }
        let log = self.failures.after(&judged, previous, &url_status, now);
        // The bytes of a broken promise are as promised now: the promise has changed.
        let digest = |content: Option<&Content>| content.map(|content| content.digest.clone());
        let was_changed = previous.is_some_and(|entry| entry.url_status.state == State::Changed);
        let is_same =
            digest(old_content).is_some() && digest(old_content) == digest(content.as_ref());
        self.outcomes.add(&RecordedJob {
            judged: &judged,
            url_status: url_status.clone(),
            is_news: transition.is_some(),
            not_archived: not_archived.as_deref(),
            was_good: previous.is_some_and(|entry| entry.url_status.is_untroubled()),
            is_accepted: was_changed && url_status.state == State::Ok && is_same,
            known_uri: old_capture.map(|capture| capture.uri.as_str()),
        });
        if job.key.alias.is_some() && url_status.is_untroubled() {
            // The ledger has an alias only while something is wrong with it.
            ledger.forget(&job.key);
        } else if is_in_ledger
            || content.is_some()
            || bad_response.is_some()
            || verdict.state() != State::Inconclusive
            || url_status.pending.is_some()
        {
            // The ledger has no job that was never seen.
            let entry = Entry {
                url_status: url_status.clone(),
                content,
                bad_response,
                added: None,
                updated: None,
                failures: log.runs,
                intermittent: log.intermittent,
                // The incident of a URL in trouble is noted once all URLs are recorded.
                incident: previous
                    .and_then(|entry| entry.incident.clone())
                    .filter(|_| self.outcomes.is_member(job)),
            };
            ledger.set(&job.key, entry, now);
        }
        note_certificate(&mut self.certificates, &judged);
        if ledger.is_last(&job.key.domain) {
            if let Some(shown) = self.certificates.remove(&job.key.domain) {
                ledger.set_certificate(&job.key.domain, &shown);
            }
            ledger.close(&job.key.domain);
        }
        drop(ledger);
        let url_status = (url_status, transition);
        self.report.add(&ReportedJob {
            not_archived: not_archived.as_deref(),
            intermittent: log.warning,
            is_affected: self.outcomes.is_member(&judged.job),
            ..ReportedJob::new(&judged, Some(&url_status))
        });
        pass_on_results(self.run, &mut self.report);
    }
}

/// Notes the certificate of the host itself: that of an alias or of a redirect's target is another one.
fn note_certificate(
    certificates: &mut BTreeMap<String, BTreeSet<CertificateDates>>,
    judged: &JudgedJob,
) {
    let JudgedJob {
        job, observations, ..
    } = judged;
    if job.key.alias.is_some() {
        return;
    }
    for hop in observations.iter().filter_map(Observation::first) {
        if let Some(certificate) = &hop.certificate {
            let dates = certificate_dates(certificate);
            let known = certificates.entry(job.key.domain.clone());
            known.or_default().insert(dates);
        }
    }
}
