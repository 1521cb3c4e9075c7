//! Records each judged job of a run: in the archive, the ledger and the report.
//!
//! Archiving costs more than all the rest, so the threads of a pool do it. Archived jobs come back in
//! any order, and only then go into the ledger and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use urldb_protocol::{CertificateDates, State};
use urldb_verdict::{Job, JudgedJob, Observation, UrlStatus, Verdict};

use super::failures::FailureLog;
use super::incidents::{Outcomes, RecordedJob, certificate_dates};
use super::past_runs::SharedLedger;
use super::pool::Pool;
use super::{RunOptions, pass_on_results};
use crate::archive::{Archive, ArchiveWriter, KnownCaptures, Missing, Stored, is_good};
use crate::explain::explain;
use crate::ledger::{Content, Entry};
use crate::report::{Report, ReportedJob};

/// Why a body is not archived that a promise accepts, although the body is an error page or
/// incomplete.
const ONCE: &str =
    "an error page or an incomplete body of a URL that is as promised is archived once";

/// Why the body of an alias is not archived.
const ALIAS: &str =
    "an alias is archived under the name of its domain, as long as its bytes are as promised";

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
    /// The certificates that each host has shown.
    pub(super) certificates: BTreeMap<String, BTreeSet<CertificateDates>>,
    /// The first error of the archive; later ones would say the same.
    pub(super) trouble: Option<String>,
    /// Names of the archive files with captures of this run.
    pub(super) files: BTreeSet<String>,
}

/// A job to archive, and what the ledger knows of its captures.
struct ArchiveTask {
    judged: JudgedJob,
    known: KnownCaptures,
}

/// A job after archiving, or a job that needs none.
struct ArchivedJob {
    judged: JudgedJob,
    /// The captures for the ledger.
    captures: KnownCaptures,
    /// The error of the archive, if there was one.
    trouble: Option<String>,
    /// Why the archive does not have the observed body.
    not_archived: Option<String>,
}

impl Recorder<'_> {
    /// Records all jobs that `observe` hands out.
    pub(super) fn record_all<R>(
        &mut self,
        archive: &Archive,
        observe: impl FnOnce(&mut dyn FnMut(JudgedJob)) -> R,
    ) -> R {
        thread::scope(|scope| {
            let mut pool = Pool::start(scope, || {
                let mut writer = archive.writer();
                move |task: ArchiveTask| task.archive(&mut writer)
            });
            let observed = observe(&mut |judged| {
                let archived = self.archive(judged, &mut pool);
                for archived in archived.into_iter().chain(pool.ready()) {
                    self.record(archived);
                }
            });
            for archived in pool.finish() {
                self.record(archived);
            }
            observed
        })
    }

    /// Gives a job to the pool if its observation is archived. Returns the job if no thread has it.
    fn archive<W: FnMut(ArchiveTask) -> ArchivedJob + Send>(
        &self,
        judged: JudgedJob,
        pool: &mut Pool<ArchiveTask, ArchivedJob, W>,
    ) -> Option<ArchivedJob> {
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &judged;
        let (is_repeated, known) = {
            let ledger = self.ledger.lock();
            let entry = ledger.get(&job.key);
            let is_repeated = entry.is_some_and(|entry| entry.url_status.has_seen(verdict.state()));
            let known = KnownCaptures {
                content: entry.and_then(|entry| entry.content.clone()),
                bad_response: entry.and_then(|entry| entry.bad_response.clone()),
            };
            (is_repeated, known)
        };
        let seen = observations.get(verdict.observation);
        let not_archived = seen.and_then(|seen| not_archived(job, seen, verdict, is_repeated));
        if seen.is_some() && not_archived.is_none() {
            // A new state has error pages of its own.
            let bad_response = known.bad_response.filter(|_| is_repeated);
            let known = KnownCaptures {
                bad_response,
                ..known
            };
            return pool.submit(ArchiveTask { judged, known });
        }
        let has_body = seen.is_some_and(|seen| seen.body.is_some());
        Some(ArchivedJob {
            captures: known,
            trouble: None,
            not_archived: not_archived.filter(|_| has_body).map(str::to_owned),
            judged,
        })
    }

    /// Updates ledger and report.
    fn record(&mut self, archived: ArchivedJob) {
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
        let now = self.run.ambient.now_in_seconds();
        let mut ledger = self.ledger.lock();
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
                // That of a URL in trouble is noted once all URLs are recorded.
                incident: previous
                    .and_then(|entry| entry.incident.clone())
                    .filter(|_| self.outcomes.is_member(job)),
            };
            ledger.set(&job.key, entry, now);
        }
        drop(ledger);
        self.note_certificate(&judged);
        let url_status = (url_status, transition);
        self.report.add(&ReportedJob {
            not_archived: not_archived.as_deref(),
            intermittent: log.warning,
            is_affected: self.outcomes.is_member(&judged.job),
            ..ReportedJob::new(&judged, Some(&url_status))
        });
        pass_on_results(self.run, &mut self.report);
    }

    /// Notes the certificate of the host itself: that of an alias or of a redirect's target is another
    /// one.
    fn note_certificate(&mut self, judged: &JudgedJob) {
        let JudgedJob {
            job, observations, ..
        } = judged;
        if job.key.alias.is_some() {
            return;
        }
        for hop in observations.iter().filter_map(Observation::first) {
            if let Some(certificate) = &hop.certificate {
                let dates = certificate_dates(certificate);
                let known = self.certificates.entry(job.key.domain.clone());
                known.or_default().insert(dates);
            }
        }
    }
}

impl ArchiveTask {
    /// Archives the observation that the verdict rests on. An error is returned with the job, so
    /// that a full disk keeps nobody from being notified.
    fn archive(self, writer: &mut ArchiveWriter<'_>) -> ArchivedJob {
        let Self { mut judged, known } = self;
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &mut judged;
        let stored = match observations.get_mut(verdict.observation) {
            Some(seen) => writer.store(job, seen, &known),
            None => Ok(Stored::default()),
        };
        let (stored, trouble) = match stored {
            Ok(stored) => {
                let trouble = match &stored.missing {
                    Some(missing @ Missing::Room) => Some(missing.to_string()),
                    _ => None,
                };
                (stored, trouble)
            }
            Err(error) => {
                let unchanged = Stored {
                    bad_response: known.bad_response,
                    ..Stored::default()
                };
                (unchanged, Some(explain(&error)))
            }
        };
        let missing = stored.missing.map(|missing| missing.to_string());
        let not_archived = missing.or_else(|| trouble.clone());
        let trouble = trouble.map(|what| format!("{}: cannot be archived: {what}", job.url));
        ArchivedJob {
            trouble,
            not_archived,
            judged,
            captures: KnownCaptures {
                content: stored.content.or(known.content),
                bad_response: stored.bad_response,
            },
        }
    }
}

/// Why an observation is not archived, if it is not. An observation without a body is archived only
/// the first time, and so is an error page or an incomplete body that a promise accepts.
fn not_archived(
    job: &Job,
    seen: &Observation,
    verdict: &Verdict,
    is_repeated: bool,
) -> Option<&'static str> {
    let is_ok = verdict.state() == State::Ok;
    if is_good(job, seen) {
        let is_as_promised = job.promise.is_static() && is_ok;
        return (is_as_promised && job.key.alias.is_some()).then_some(ALIAS);
    }
    let is_archived = match seen.body {
        Some(_) => !(is_ok && is_repeated),
        None => !is_repeated && verdict.state() != State::Inconclusive,
    };
    (!is_archived).then_some(ONCE)
}
