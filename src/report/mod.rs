//! Turns verdicts into the report of a run: findings, changes, totals, exit code.

mod evidence;
mod findings;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use urldb_protocol::{
    Counts, Coverage, Envelope, Explanation, Finding, Incident, JobResult, Mistake, PROTOCOL,
    Reason, RunInfo, Severity, State, Summary,
};
use urldb_verdict::{
    CanonicalMismatch, HostCertificates, JobKey, JudgedJob, Observation, SkippedRecords, Verdict,
};

use crate::config::Config;
use crate::copies::{Content, find_copies};
use crate::exit::ExitCode;
use crate::ledger::{JobRecord, Ledger, StatusUpdate, Verification};
use evidence::shown;
pub(crate) use evidence::{evidence, observed, promised, redirect};
pub use findings::ALIAS_DIFFERS;
use findings::{
    canonical_mismatch, certificate_ends, flapping, message, state_finding, warning_finding,
};

/// Collects the judged jobs of a run.
#[derive(Debug, Default)]
pub struct Report {
    findings: Vec<Finding>,
    explanations: Vec<Explanation>,
    mistakes: Vec<Mistake>,
    states: BTreeMap<State, u64>,
    /// Number of URLs by the state that counts for the exit code.
    weighed: BTreeMap<State, u64>,
    coverage: Coverage,
    /// URLs that were due and not asked.
    not_asked: u64,
    /// Number of URLs that were planned.
    planned: u64,
    verification: Verification,
    incidents: Vec<Incident>,
    counts: Counts,
    archived: Vec<String>,
    results: Option<Vec<JobResult>>,
    sought: Vec<SoughtCopies>,
}

/// A broken URL, whose bytes may be elsewhere.
#[derive(Debug)]
struct SoughtCopies {
    /// The index of its finding.
    finding: usize,
    key: JobKey,
    content: Content,
}

impl Report {
    /// An empty report. `skipped` and `mistakes` come from planning. The report holds the result of
    /// every job only if `with_results`, since a database may have very many.
    pub fn new(with_results: bool, skipped: &SkippedRecords, mistakes: Vec<Mistake>) -> Self {
        Self {
            coverage: Coverage {
                deprecated: skipped.deprecated,
                not_selected: skipped.not_selected,
                held: skipped.held.clone(),
                ..Coverage::default()
            },
            mistakes,
            results: with_results.then(Vec::new),
            ..Self::default()
        }
    }

    /// The same report, which compares the unverified URLs with those after an earlier run.
    #[must_use]
    pub fn comparing_with(mut self, unverified: HashSet<String>) -> Self {
        self.verification.before = unverified;
        self
    }

    /// The same report of a run that has planned this many URLs: those that it never adds were due too.
    #[must_use]
    pub fn expecting(self, planned: u64) -> Self {
        Self { planned, ..self }
    }

    /// Adds one job, and the change of its status; a command without ledger has none.
    pub fn add(&mut self, record: &JobRecord, update: Option<&StatusUpdate<'_>>) {
        let judged = &record.judged;
        let state = judged.verdict.state();
        *self.states.entry(state).or_default() += 1;
        *self.weighed.entry(weighed(judged, update)).or_default() += 1;
        self.cover(judged);
        if let Some(finding) = state_finding(record, update) {
            let content = Content::promised(&judged.job.promise);
            self.sought.extend(
                content
                    .filter(|_| state.is_broken())
                    .map(|content| SoughtCopies {
                        finding: self.findings.len(),
                        key: judged.job.key.clone(),
                        content,
                    }),
            );
            self.findings.push(finding);
        }
        let unsteady = update.and_then(|update| flapping(judged, update));
        self.findings.extend(unsteady);
        let mismatch = canonical_mismatch(judged);
        let finding = |mismatch: &CanonicalMismatch| {
            warning_finding(judged, mismatch.warning, &mismatch.message)
        };
        self.findings.extend(mismatch.as_ref().map(finding));
        if let Some(results) = &mut self.results {
            results.push(result(record, mismatch.as_ref()));
        }
    }

    /// Removes and returns the results that the report has.
    pub fn take_results(&mut self) -> Vec<JobResult> {
        self.results
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    fn cover(&mut self, judged: &JudgedJob) {
        let state = judged.verdict.state();
        let is_static = judged.job.promise.is_static();
        cover(&mut self.coverage, judged);
        let reason = judged.verdict.classification.reason;
        self.not_asked += u64::from(matches!(reason, Some(Reason::RunEnded | Reason::NotAsked)));
        let is_not_modified = is_static && is_not_modified(judged);
        let is_verified = is_static && state == State::Ok && !is_not_modified;
        if is_static {
            let verification = &mut self.verification;
            let url = judged.job.url.to_string();
            let was_unverified = verification.before.contains(&url);
            if !is_verified && !is_not_modified {
                verification.unverified.insert(url);
            } else if was_unverified && is_verified {
                verification.verified_again.insert(url);
            } else if was_unverified {
                verification.not_modified.insert(url);
            }
        }
    }

    /// Adds a warning for each host whose certificate ends soon after `started`, at the host's first record
    /// in the database.
    pub fn warn_of_certificates(
        &mut self,
        hosts: &[HostCertificates],
        started: Timestamp,
        warning: Duration,
    ) {
        let findings = hosts.iter().filter_map(|host| {
            let (dates, _) = host.ending(started, warning)?;
            Some(certificate_ends(host, dates))
        });
        self.findings.extend(findings);
    }

    /// Sets the names of the archive files that the run wrote.
    pub fn set_archived(&mut self, files: Vec<String>) {
        self.archived = files;
    }

    /// Sets the facts behind the failures.
    pub fn set_explanations(&mut self, explanations: Vec<Explanation>) {
        self.explanations = explanations;
    }

    /// Names the other URLs with the bytes of each broken one, as the ledger after the run believes them.
    pub fn find_copies(&mut self, config: &Config, ledger: &mut Ledger) {
        let sought = std::mem::take(&mut self.sought);
        let contents = sought.iter().map(|it| it.content.clone()).collect();
        let found = find_copies(config, ledger, contents);
        for (sought, copies) in sought.iter().zip(found) {
            if let Some(finding) = self.findings.get_mut(sought.finding) {
                finding.copies = Some(copies.kept_beside(&sought.key));
            }
        }
    }

    /// Sets the incidents after the run, and the counts of their URLs and of all.
    pub fn set_incidents(&mut self, incidents: Vec<Incident>, counts: Counts) {
        self.incidents = incidents;
        self.counts = counts;
    }

    /// Counts of URLs so far.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Whether the run asked all URLs that were due.
    pub fn has_asked_all(&self) -> bool {
        self.not_asked == 0 && self.coverage.due >= self.planned
    }

    /// Number of URLs seen in each state.
    pub fn states(&self) -> &BTreeMap<State, u64> {
        &self.states
    }

    /// The static URLs that were not verified. Leaves nothing of them in the report.
    pub fn take_verification(&mut self) -> Verification {
        std::mem::take(&mut self.verification)
    }

    /// The exit code: 1 if a promise is confirmed to be broken, else 3 if a URL could not be judged.
    pub fn exit_code(&self) -> ExitCode {
        let of = |state: &State| {
            if state.is_broken() {
                ExitCode::Findings
            } else if state.is_unsure() {
                ExitCode::Unsure
            } else {
                ExitCode::Success
            }
        };
        self.weighed.keys().map(of).max().unwrap_or_default()
    }

    /// The finished report, and the results of all jobs if the report holds them.
    pub fn finish(mut self, run: RunInfo) -> (Envelope, Option<Vec<JobResult>>) {
        let findings = &mut self.findings;
        findings.sort_by_cached_key(|it| (rank(it), it.file.clone(), it.line, it.url.clone()));
        if let Some(results) = &mut self.results {
            results.sort_by_cached_key(|it| (it.file.clone(), it.line, it.url.clone()));
        }
        let elapsed = run.finished.duration_since(run.started).as_millis();
        self.counts.unknown = self.planned.saturating_sub(self.coverage.due);
        self.coverage.due = self.coverage.due.max(self.planned);
        self.coverage.milliseconds = u64::try_from(elapsed).unwrap_or_default();
        let summary = Summary {
            states: self.states,
            coverage: self.coverage,
            counts: self.counts,
            audience: None,
        };
        let mut envelope = Envelope {
            protocol: PROTOCOL,
            message: None,
            run,
            incidents: self.incidents,
            findings: self.findings,
            explanations: self.explanations,
            mistakes: self.mistakes,
            fixed: vec![],
            tells: None,
            delay: None,
            next_reminder: None,
            week: None,
            archived: self.archived,
            summary,
        };
        envelope.take_mistakes_of_notices();
        let mut counts = envelope.own_counts();
        counts += self.counts;
        envelope.summary.counts = counts.of_all(counts.urls);
        (envelope, self.results)
    }
}

/// Counts a job that was due.
pub fn cover(coverage: &mut Coverage, judged: &JudgedJob) {
    let state = judged.verdict.state();
    let is_static = judged.job.promise.is_static();
    coverage.due += 1;
    coverage.checked += u64::from(state != State::Inconclusive);
    let reason = judged.verdict.classification.reason;
    coverage.own_network += u64::from(reason == Some(Reason::OwnNetwork));
    coverage.static_due += u64::from(is_static);
    let is_not_modified = is_static && is_not_modified(judged);
    let is_verified = is_static && state == State::Ok && !is_not_modified;
    coverage.static_verified += u64::from(is_verified);
    coverage.not_modified += u64::from(is_not_modified);
    // The lengths in a bundle may be any numbers.
    coverage.bytes = judged
        .observations
        .iter()
        .filter_map(|seen| Some(seen.body.as_ref()?.length))
        .fold(coverage.bytes, u64::saturating_add);
}

/// Whether the verdict rests on a 304 only.
fn is_not_modified(judged: &JudgedJob) -> bool {
    judged
        .observations
        .get(judged.verdict.observation)
        .is_some_and(Observation::is_not_modified)
}

/// The order of findings: broken promises, those not confirmed yet, URLs that could not be judged,
/// other warnings.
fn rank(finding: &Finding) -> (u8, State) {
    let class = match finding.severity {
        Severity::Error => u8::from(finding.pending),
        Severity::Warning if finding.state.is_unsure() => 2,
        Severity::Warning => 3,
    };
    (class, finding.state)
}

/// The state that counts for the exit code. A URL with a pending bad state counts as unsure, or as
/// broken if that is what is confirmed. A URL that was not tried, because its host was silent, counts like
/// the others of its incident. A muted URL does not count.
fn weighed(judged: &JudgedJob, update: Option<&StatusUpdate<'_>>) -> State {
    if judged.job.muted {
        return State::Ok;
    }
    let seen = judged.verdict.state();
    let Some(update) = update else {
        return seen;
    };
    let confirmed = update.status.state;
    if update.is_affected && seen == State::Inconclusive && confirmed == State::Ok {
        State::Unreachable
    } else if confirmed.is_broken() {
        confirmed
    } else if confirmed == seen {
        seen
    } else {
        State::Inconclusive
    }
}

/// The result of a job, as JSON has it.
pub(super) fn result(record: &JobRecord, mismatch: Option<&CanonicalMismatch>) -> JobResult {
    let judged = &record.judged;
    let Verdict {
        classification,
        observation,
        ..
    } = &judged.verdict;
    let severity = match classification.state {
        State::Ok => None,
        state if state.is_broken() => Some(Severity::Error),
        _ => Some(Severity::Warning),
    };
    let (file, line) = judged.job.place();
    JobResult {
        url: judged.job.url.to_string(),
        variant: judged.job.key.variant.clone(),
        file: file.to_owned(),
        line,
        method: judged.job.request.method.clone(),
        state: classification.state,
        reason: classification.reason.map(|reason| reason.to_string()),
        message: message(judged),
        promised: promised(&judged.job.promise),
        observed: judged
            .observations
            .get(*observation)
            .map(|seen| observed(&judged.job, seen))
            .unwrap_or_default(),
        not_archived: record.archived.not_archived.as_deref().map(shown),
        warnings: classification
            .warning
            .into_iter()
            .chain(mismatch.map(|mismatch| mismatch.warning))
            .map(|warning| warning.as_str().to_owned())
            .collect(),
        attempts: judged.observations.len(),
        severity,
    }
}
