//! Turns verdicts into what people and programs are told.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use urldb_protocol::{
    Change, Coverage, Envelope, Finding, FixedMistake, JobResult, Mistake, Observed, PROTOCOL,
    Promised, RunInfo, Severity, State, Summary,
};

use crate::exit::ExitCode;
use crate::hex;
use urldb_verdict::JudgedJob;
use urldb_verdict::{BodyEnd, Observation};
use urldb_verdict::{Expiry, Misnamed, Transition, UrlStatus, Verdict, Warning};
use urldb_verdict::{Job, LeftOut, Promise};

/// The code of a finding about a cname: its state says in which way it differs.
pub const ALIAS_DIFFERS: &str = "alias-differs";

/// One job, judged.
#[derive(Debug)]
pub struct ReportedJob<'a> {
    /// The job.
    pub job: &'a Job,
    /// All that was observed, in order.
    pub observations: &'a [Observation],
    /// What this run says.
    pub verdict: &'a Verdict,
    /// What is believed now and whether that is news; absent where no ledger is kept.
    pub url_status: Option<&'a (UrlStatus, Option<Transition>)>,
}

impl<'a> ReportedJob<'a> {
    /// A judged job, with its status after the run where the run remembers.
    pub fn new(
        judged: &'a JudgedJob,
        url_status: Option<&'a (UrlStatus, Option<Transition>)>,
    ) -> Self {
        Self {
            job: &judged.job,
            observations: &judged.observations,
            verdict: &judged.verdict,
            url_status,
        }
    }
}

/// What is wrong in domain files.
#[derive(Debug, Default)]
pub struct Mistakes {
    /// What keeps records from being read, or from meaning what their author meant.
    pub mistakes: Vec<Mistake>,
    /// What did so in earlier runs, and does no longer.
    pub mended: Vec<FixedMistake>,
}

/// Collects what a run has to say.
#[derive(Debug, Default)]
pub struct Report {
    findings: Vec<Finding>,
    misread: Mistakes,
    changes: Vec<Change>,
    states: BTreeMap<State, u64>,
    /// The states as they count for the exit code.
    weighed: BTreeMap<State, u64>,
    coverage: Coverage,
    unverified: Vec<String>,
    results: Option<Vec<JobResult>>,
    /// How long before its end a certificate is worth a warning.
    expiry_warning: Duration,
    /// One warning for each host, however many URLs it has.
    certificates: BTreeMap<String, Finding>,
}

impl Report {
    /// An empty report of a run that leaves so much out and cannot read so much. The
    /// result of every job, good ones too, is kept only where it is asked for: there
    /// may be very many.
    pub fn new(
        with_results: bool,
        expiry_warning: Duration,
        left_out: LeftOut,
        misread: Mistakes,
    ) -> Self {
        Self {
            expiry_warning,
            coverage: Coverage {
                deprecated: left_out.deprecated,
                not_selected: left_out.not_selected,
                ..Coverage::default()
            },
            misread,
            results: with_results.then(Vec::new),
            ..Self::default()
        }
    }

    /// Takes one judged job in.
    pub fn add(&mut self, judged: &ReportedJob<'_>) {
        let state = judged.verdict.state();
        *self.states.entry(state).or_default() += 1;
        *self.weighed.entry(weighed(judged)).or_default() += 1;
        self.cover(judged);
        self.findings.extend(finding(judged));
        let misnamed = misnamed(judged);
        let finding = |misnamed: &Misnamed| {
            warning_finding(judged, misnamed.warning, misnamed.message.clone())
        };
        self.findings.extend(misnamed.as_ref().map(finding));
        self.warn_of_certificates(judged);
        if let Some((url_status, Some(news))) = judged.url_status {
            self.changes.push(change(judged, url_status, news));
        }
        if let Some(results) = &mut self.results {
            results.push(result(judged, misnamed.as_ref()));
        }
    }

    fn cover(&mut self, judged: &ReportedJob<'_>) {
        let state = judged.verdict.state();
        let is_static = judged.job.promise.is_static();
        self.coverage.due += 1;
        self.coverage.checked += u64::from(state != State::Inconclusive);
        self.coverage.static_due += u64::from(is_static);
        let is_verified = is_static && state == State::Ok && !is_not_modified(judged);
        self.coverage.static_verified += u64::from(is_verified);
        self.coverage.not_modified += u64::from(is_static && is_not_modified(judged));
        self.coverage.bytes += judged
            .observations
            .iter()
            .filter_map(|seen| Some(seen.body.as_ref()?.length))
            .sum::<u64>();
        if is_static && !is_verified {
            self.unverified.push(judged.job.url.clone());
        }
    }

    /// Of a host's URLs the first in the database stands for all, in whatever order they come.
    fn warn_of_certificates(&mut self, judged: &ReportedJob<'_>) {
        let seen = judged.observations.iter();
        for Expiry { host, message } in
            seen.flat_map(|seen| urldb_verdict::expiring(seen, self.expiry_warning))
        {
            let finding = warning_finding(judged, Warning::CertificateExpiresSoon, message);
            let place = |finding: &Finding| (finding.file.clone(), finding.line);
            let known = self.certificates.get(&host);
            if known.is_none_or(|known| place(&finding) < place(known)) {
                self.certificates.insert(host, finding);
            }
        }
    }

    /// How many URLs were seen in each state.
    pub fn states(&self) -> &BTreeMap<State, u64> {
        &self.states
    }

    /// Static URLs that were due and not verified, sorted.
    pub fn unverified(&self) -> Vec<String> {
        let mut urls = self.unverified.clone();
        urls.sort();
        urls
    }

    /// What is news.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The exit code: 1 if a promise is known to be broken, else 3 if anything could not be judged.
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

    /// The finished report, and the results of all jobs if they were kept.
    pub fn finish(mut self, run: RunInfo) -> (Envelope, Option<Vec<JobResult>>) {
        self.findings.extend(self.certificates.into_values());
        self.findings.sort_by(|a, b| {
            (rank(a), &a.file, a.line, &a.url).cmp(&(rank(b), &b.file, b.line, &b.url))
        });
        self.changes
            .sort_by(|a, b| (&a.file, a.line, &a.url).cmp(&(&b.file, b.line, &b.url)));
        if let Some(results) = &mut self.results {
            results.sort_by(|a, b| (&a.file, a.line, &a.url).cmp(&(&b.file, b.line, &b.url)));
        }
        let elapsed = run.finished.duration_since(run.started).as_millis();
        self.coverage.milliseconds = u64::try_from(elapsed).unwrap_or_default();
        let warnings = self
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Warning)
            .count();
        let summary = Summary {
            states: self.states,
            warnings: warnings as u64,
            coverage: self.coverage,
        };
        let envelope = Envelope {
            protocol: PROTOCOL,
            run,
            findings: self.findings,
            mistakes: self.misread.mistakes,
            fixed: self.misread.mended,
            changes: self.changes,
            summary,
        };
        (envelope, self.results)
    }
}

/// Whether the server only said that the content is the one that is known.
fn is_not_modified(judged: &ReportedJob<'_>) -> bool {
    let seen = judged.observations.get(judged.verdict.observation);
    seen.is_some_and(Observation::is_not_modified)
}

/// The place of a finding: what is broken, what may be, what could not be judged, what is just
/// worth knowing.
fn rank(finding: &Finding) -> (u8, State) {
    let class = match finding.severity {
        Severity::Error => u8::from(finding.pending),
        Severity::Warning if finding.state.is_unsure() => 2,
        Severity::Warning => 3,
    };
    (class, finding.state)
}

/// The state that counts for the exit code: a bad one that is not believed yet
/// leaves the URL unsure, and leaves it broken if it was.
fn weighed(judged: &ReportedJob<'_>) -> State {
    let seen = judged.verdict.state();
    match judged.url_status {
        Some((url_status, _)) if url_status.state.is_broken() => url_status.state,
        Some((url_status, _)) if url_status.state != seen => State::Inconclusive,
        _ => seen,
    }
}

/// What is wrong with this URL now, if anything is.
fn finding(judged: &ReportedJob<'_>) -> Option<Finding> {
    let Verdict { classification, .. } = judged.verdict;
    let code = match (classification.state, classification.warning) {
        (State::Ok, None) => return None,
        (State::Ok, Some(warning)) => warning.as_str(),
        (state, _) if state.is_broken() && judged.job.key.alias.is_some() => ALIAS_DIFFERS,
        (state, _) => state.as_str(),
    };
    let message = match classification.warning {
        Some(warning) => warning.message().to_owned(),
        None => message(judged),
    };
    let pending = judged
        .url_status
        .is_some_and(|(url_status, _)| url_status.state != classification.state);
    Some(Finding {
        code: code.to_owned(),
        severity: if classification.state.is_broken() {
            Severity::Error
        } else {
            Severity::Warning
        },
        url: judged.job.url.clone(),
        file: judged.job.file.to_string(),
        line: judged.job.line,
        message,
        state: classification.state,
        reason: classification.reason.map(|reason| reason.to_string()),
        expected: expected(judged),
        observed: classification
            .expected
            .is_some()
            .then(|| classification.observed.clone()),
        attempts: judged.observations.len(),
        since: judged
            .url_status
            .map(|(url_status, _)| since(url_status, classification.state)),
        pending: pending && classification.state != State::Inconclusive,
    })
}

/// What is wrong with the canonical URL of a page that is as promised; the page of an alias is
/// that of the domain.
fn misnamed(judged: &ReportedJob<'_>) -> Option<Misnamed> {
    let Verdict { observation, .. } = judged.verdict;
    let seen = judged.observations.get(*observation)?;
    let counts = judged.verdict.state() == State::Ok && judged.job.key.alias.is_none();
    urldb_verdict::misnamed(judged.job, seen).filter(|_| counts)
}

/// A warning that has nothing to do with how the URL was judged.
fn warning_finding(judged: &ReportedJob<'_>, warning: Warning, message: String) -> Finding {
    Finding {
        code: warning.as_str().to_owned(),
        severity: Severity::Warning,
        url: judged.job.url.clone(),
        file: judged.job.file.to_string(),
        line: judged.job.line,
        message,
        state: judged.verdict.state(),
        reason: None,
        expected: None,
        observed: None,
        attempts: judged.observations.len(),
        since: None,
        pending: false,
    }
}

/// One sentence for people; of an alias, with both names.
fn message(judged: &ReportedJob<'_>) -> String {
    let message = judged.verdict.classification.message();
    match alias_of(judged.job) {
        Some(alias) if judged.verdict.state() != State::Ok => format!("{alias}, {message}"),
        _ => message,
    }
}

fn expected(judged: &ReportedJob<'_>) -> Option<String> {
    let expected = judged.verdict.classification.expected.as_ref()?;
    Some(match alias_of(judged.job) {
        Some(alias) => format!("{expected} ({alias})"),
        None => expected.clone(),
    })
}

fn alias_of(job: &Job) -> Option<String> {
    let alias = job.key.alias.as_ref()?;
    Some(format!("{alias}, a cname of {}", job.key.domain))
}

fn since(url_status: &UrlStatus, state: State) -> Timestamp {
    let pending = url_status
        .pending
        .as_ref()
        .filter(|pending| pending.state == state);
    pending.map_or(url_status.since, |pending| pending.first)
}

fn change(judged: &ReportedJob<'_>, url_status: &UrlStatus, news: &Transition) -> Change {
    Change {
        url: judged.job.url.clone(),
        file: judged.job.file.to_string(),
        line: judged.job.line,
        from: news.from,
        to: news.to,
        from_since: news.from_since,
        since: url_status.since,
        message: message(judged),
    }
}

fn result(judged: &ReportedJob<'_>, misnamed: Option<&Misnamed>) -> JobResult {
    let Verdict {
        classification,
        observation,
        ..
    } = judged.verdict;
    let severity = match classification.state {
        State::Ok => None,
        state if state.is_broken() => Some(Severity::Error),
        _ => Some(Severity::Warning),
    };
    JobResult {
        url: judged.job.url.clone(),
        file: judged.job.file.to_string(),
        line: judged.job.line,
        method: judged.job.request.method.clone(),
        state: classification.state,
        reason: classification.reason.map(|reason| reason.to_string()),
        message: message(judged),
        promised: promised(&judged.job.promise),
        observed: judged
            .observations
            .get(*observation)
            .map(|seen| observed(judged.job, seen))
            .unwrap_or_default(),
        warnings: classification
            .warning
            .into_iter()
            .chain(misnamed.map(|misnamed| misnamed.warning))
            .map(|warning| warning.as_str().to_owned())
            .collect(),
        attempts: judged.observations.len(),
        severity,
    }
}

fn promised(promise: &Promise) -> Promised {
    Promised {
        length: promise.length,
        sha256: promise.sha256.as_ref().map(|digest| hex::encode(digest)),
        content_type: promise.content_type.clone(),
        status: promise.status,
        redirects_to: promise.redirects_to.clone(),
    }
}

fn observed(job: &Job, seen: &Observation) -> Observed {
    let last = seen.last();
    let body = seen.body.as_ref();
    let redirect = seen
        .first()
        .and_then(|hop| Some((hop.status, hop.redirect_target()?)));
    Observed {
        status: last.map(|hop| hop.status),
        final_url: last
            .map(|hop| hop.url.clone())
            .filter(|url| *url != job.url),
        length: body.map(|body| body.length),
        sha256: body
            .filter(|body| body.end == BodyEnd::Complete)
            .map(|body| hex::encode(&body.sha256)),
        content_type: last
            .and_then(|hop| hop.header("content-type"))
            .map(str::to_owned),
        redirect_status: redirect.as_ref().map(|(status, _)| *status),
        redirect: redirect.map(|(_, target)| target),
        address: last
            .and_then(|hop| hop.address)
            .map(|address| address.to_string()),
    }
}
