//! The promises of one domain file, and what is believed of them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use urldb_format::{DomainFile, FilePart};
use urldb_protocol::{
    CaptureInfo, CertificateDates, FileCounts, Finding, HostOverview, Mistake, Standing, State,
    UrlOverview,
};
use urldb_verdict::{
    Cnames, FileOptions, Job, KeptBodies, PlanOptions, Rehash, Selection, SkippedRecords, Warning,
};

use super::days::HostDays;
use super::replay::Selected;
use super::{Sources, VERIFIED_WITHIN, date_of};
use crate::database::mistakes::mistakes;
use crate::ledger::{Entry, Ledger, is_known};
use crate::report;

/// Number of last runs in which failures count.
const RUNS: usize = 10;

/// Number of failures in the last [`RUNS`] runs from which on a URL gets a warning.
const FAILURES: u64 = 3;

/// Hours of the columns of [`FileCounts::ages`].
const AGES: [i64; 3] = [24, 7 * 24, 30 * 24];

/// The promises of one domain file.
#[derive(Debug)]
pub struct HostUrls {
    /// Counts.
    pub host: HostOverview,
    /// The URLs that were asked for, in the order of the file.
    pub urls: Vec<UrlOverview>,
    /// Mistakes in the file.
    pub mistakes: Vec<Mistake>,
    /// Kept promises with a remark.
    pub warnings: Vec<Finding>,
    /// Number of records that runs do not ask for, because they are deprecated.
    pub deprecated: u64,
    /// Number of URLs that were promised on each day of the last year.
    pub(super) promised: Vec<u64>,
    /// The reason of an affected URL, by the id of its incident.
    pub(super) reasons: HashMap<String, String>,
}

impl Sources<'_> {
    /// The promises of the domain file at `path`, with the URLs that `wants` keeps.
    ///
    /// # Errors
    /// When the ledger file of the domain cannot be read, or has another form than urldb writes.
    pub fn host(
        &self,
        path: &Path,
        wants: impl Fn(&UrlOverview) -> bool,
    ) -> anyhow::Result<HostUrls> {
        let host = urldb_format::host_of(path);
        let ledger = Ledger::load(&self.ledger, [host.as_str()])?;
        let name: Arc<str> = self.config.relative_name(path).into();
        let mut reading = Reading::new(self, &ledger, &host, &name);
        for part in DomainFile::read_parts_or_report(path) {
            if matches!(part, FilePart::Whole { .. }) {
                // The whole file comes again: it is not in order.
                reading = Reading::new(self, &ledger, &host, &name);
            }
            let parsed = part.into_parsed().0;
            let file = parsed.file;
            reading.skipped.count(&file, &Selection::default());
            let mut errors = parsed.findings;
            errors.extend(urldb_format::lint_values(&file, &self.config.lint.keys));
            errors.retain(urldb_text::Finding::is_error);
            reading
                .read
                .mistakes
                .extend(mistakes(&file, &name, &errors));
            let options = FileOptions {
                name: &name,
                own_keys: &self.config.lint.keys,
                plan: self.plan_options(),
            };
            let everything = Selection::default();
            for job in urldb_verdict::plan::jobs_of_part(&file, &everything, options, &()) {
                reading.add(&job, &wants);
            }
        }
        Ok(reading.finish())
    }

    /// The mistakes in the name of a file that is no domain file.
    pub(super) fn misnamed(&self, path: &Path) -> Vec<Mistake> {
        let findings = urldb_format::lint_misnamed(path);
        let file = DomainFile::parse(path, b"").file;
        mistakes(&file, &self.config.relative_name(path), &findings)
    }

    /// Whether the archive has the promised content. The ledger knows the capture of the content that was
    /// seen last, the index those before.
    fn is_archived(&self, job: &Job, entry: Option<&Entry>) -> bool {
        let content = entry.and_then(|entry| entry.content.as_ref());
        let last = content.and_then(|content| Some((&content.digest, content.capture.as_ref()?)));
        let Some(promised) = job.promise.sha256 else {
            return last.is_some();
        };
        let promised = urldb_warc::Digest::sha256(promised).to_string();
        let uri = match last {
            Some((digest, _)) if *digest == promised => return true,
            // A redirect may have led to the content.
            Some((_, capture)) => Some(capture.uri.as_str()),
            None => None,
        };
        if job.key.request.is_some() {
            return false;
        }
        let url = job.url.to_string();
        let others = uri.filter(|uri| *uri != url);
        let mut uris = [Some(url.as_str()), others].into_iter().flatten();
        uris.any(|uri| self.has_capture(uri, &promised))
    }

    /// Whether the index has the whole response of a URI with this digest.
    fn has_capture(&self, uri: &str, digest: &str) -> bool {
        let Some(archive) = &self.archive else {
            return false;
        };
        // The commands of the archive report a damaged index.
        let captures = archive.find(uri, None).unwrap_or_default();
        captures.iter().any(|capture| {
            !capture.is_revisit() && capture.truncated.is_none() && capture.line.digest == digest
        })
    }

    fn plan_options(&self) -> PlanOptions {
        let day = self.now.as_second() / (24 * 60 * 60);
        PlanOptions {
            max_body: 0,
            max_capture: 0,
            whole: false,
            kept_bodies: KeptBodies::None,
            cnames: Cnames::None,
            day: u64::try_from(day).unwrap_or_default(),
            rehash: Rehash::ALWAYS,
        }
    }

    /// In how many of the last runs that checked a URL it failed without being confirmed, and the number
    /// of these runs; `None` if in none.
    fn failures(&self, entry: &Entry, url: Selected<'_>) -> Option<(u64, u64)> {
        if entry.failures.is_empty() {
            return None;
        }
        let recent: Vec<&str> = self.replay.runs_of(url).take(RUNS).collect();
        let failed = entry.failures.iter();
        let failed = failed.filter(|run| recent.contains(&run.as_str())).count() as u64;
        (failed > 0).then_some((failed, recent.len() as u64))
    }
}

/// A domain file while it is read.
struct Reading<'a> {
    sources: &'a Sources<'a>,
    ledger: &'a Ledger,
    read: HostUrls,
    skipped: SkippedRecords,
    days: HostDays,
    /// The runs with each selection check a URL of the host.
    covers: Vec<bool>,
    /// The start of the last verification of each static URL.
    verified: Vec<Option<Timestamp>>,
    never_checked: bool,
    /// The first URL over https, for the warning about the certificate.
    first_secure: Option<(String, usize)>,
}

impl<'a> Reading<'a> {
    fn new(sources: &'a Sources<'a>, ledger: &'a Ledger, host: &str, name: &str) -> Self {
        Self {
            sources,
            ledger,
            read: HostUrls {
                host: HostOverview {
                    certificate: ledger.certificate(host).cloned(),
                    ..empty(host, name)
                },
                urls: vec![],
                mistakes: vec![],
                warnings: vec![],
                deprecated: 0,
                promised: vec![],
                reasons: HashMap::new(),
            },
            skipped: SkippedRecords::default(),
            days: HostDays::new(&sources.calendar),
            covers: vec![false; sources.replay.selections().len()],
            verified: vec![],
            never_checked: false,
            first_secure: None,
        }
    }

    fn add(&mut self, job: &Job, wants: impl Fn(&UrlOverview) -> bool) {
        let url = self.url(job);
        let host = &mut self.read.host;
        host.urls += 1;
        let is_broken = url.state.is_some_and(State::is_broken);
        host.broken += u64::from(is_broken);
        host.in_incidents += u64::from(url.incident.is_some());
        match url.standing {
            Standing::Affected => host.affected += 1,
            Standing::Unconfirmed => host.unconfirmed += 1,
            Standing::Unknown => host.unknown += 1,
            Standing::Kept => {}
        }
        let is_kept = matches!(url.standing, Standing::Kept | Standing::Unconfirmed);
        host.kept += u64::from(is_kept);
        host.muted += u64::from(url.muted && url.standing == Standing::Affected);
        host.checked = host.checked.max(url.checked);
        self.never_checked |= url.checked.is_none();
        if let Some(checked) = url.checked {
            let known = host.all_checked.unwrap_or(checked);
            host.all_checked = Some(known.min(checked));
        }
        if let Some(since) = url.known_since {
            host.known_since = Some(host.known_since.unwrap_or(since).min(since));
        }
        if let Some(incident) = &url.incident
            && !host.incidents.contains(incident)
        {
            host.incidents.push(incident.clone());
        }
        self.count_file(&url);
        self.count_days(job, &url);
        self.warn(&url);
        if let (Some(incident), Some(reason)) = (&url.incident, &url.reason) {
            let reasons = &mut self.read.reasons;
            reasons
                .entry(incident.clone())
                .or_insert_with(|| reason.clone());
        }
        if job.key.scheme == urldb_canon::Scheme::Https && self.first_secure.is_none() {
            self.first_secure = Some((url.url.clone(), url.line));
        }
        if wants(&url) {
            self.read.urls.push(url);
        }
    }

    #[expect(clippy::too_many_lines)]
    fn url(&self, job: &Job) -> UrlOverview {
        let Sources {
            replay,
            affected,
            incidents,
            ..
        } = self.sources;
        let text = job.url.to_string();
        let entry = self.ledger.get(&job.key);
        let selected = selected(job);
        let status = entry.map(|entry| &entry.url_status);
        // A state that holds since some time was seen at that time, so the URL was promised then.
        let known_since = entry.map(|entry| {
            let since = entry.url_status.since;
            entry.added.map_or(since, |added| added.min(since))
        });
        let known_since = known_since.filter(|since| is_known(*since, self.sources.now));
        let incident = affected.get(&(text.clone(), job.key.request.clone()));
        let pending = status.and_then(|status| status.pending.as_ref());
        let state = status.map(|status| status.state);
        let standing = match (incident, state) {
            (Some(_), _) => Standing::Affected,
            (None, Some(state)) if state.is_broken() => Standing::Affected,
            (None, Some(State::Ok)) if pending.is_some() => Standing::Unconfirmed,
            (None, Some(State::Ok)) => Standing::Kept,
            (None, _) => Standing::Unknown,
        };
        let since = status.map(|status| status.since);
        let of_incident = || incidents.get(incident?).map(|incident| incident.since);
        let checked = entry.and_then(|_| replay.last_checked(selected, known_since));
        let is_static = job.promise.is_static();
        let verified = entry.filter(|_| is_static);
        let last_verified = |_| replay.last_verified(&text, selected, known_since);
        let verified_since = |_| replay.verified_since(&text, selected, known_since);
        let (verified, verified_since) = (
            verified.and_then(last_verified),
            verified.and_then(verified_since),
        );
        UrlOverview {
            host: job.key.domain.clone(),
            file: job.file.to_string(),
            line: job.line,
            path: job.key.path.clone(),
            request: job.key.request.clone(),
            categories: job.categories.to_vec(),
            promised: report::promised(&job.promise),
            standing,
            state,
            reason: status.and_then(|status| status.reason.clone()),
            // A URL that was not asked, since its host was silent, is affected since the host is.
            since: match state {
                Some(State::Ok) => of_incident().or(since),
                _ => since,
            },
            pending: pending.map(|pending| pending.state),
            pending_since: pending.map(|pending| pending.first),
            known_since,
            checked,
            verified,
            verified_since,
            capture: entry.and_then(capture),
            is_archived: self.sources.is_archived(job, entry),
            incident: incident.cloned(),
            failures: entry.and_then(|entry| self.sources.failures(entry, selected)),
            muted: job.muted,
            url: text,
        }
    }

    fn count_file(&mut self, url: &UrlOverview) {
        if !url.is_static() {
            return;
        }
        let as_of = self.sources.as_of();
        let files = &mut self.read.host.files;
        files.all += 1;
        files.archived += u64::from(url.is_archived);
        let age = url
            .verified
            .map(|verified| as_of.duration_since(verified).as_hours());
        files.verified += u64::from(age.is_some_and(|age| age < VERIFIED_WITHIN));
        let column = match age {
            Some(age) => AGES
                .iter()
                .position(|hours| age < *hours)
                .unwrap_or(AGES.len()),
            None => AGES.len() + 1,
        };
        files.ages[column] += 1;
        self.verified.push(url.verified);
    }

    fn count_days(&mut self, job: &Job, url: &UrlOverview) {
        let Sources {
            replay, calendar, ..
        } = self.sources;
        for (covers, selection) in self.covers.iter_mut().zip(replay.selections()) {
            *covers = *covers || selection.covers(selected(job));
        }
        if let Some(since) = url.known_since {
            self.days.promise_from(date_of(since), calendar);
        }
        let entry = self.ledger.get(&job.key);
        let failed = entry.into_iter().flat_map(|entry| &entry.failures);
        let failed = failed.filter_map(|run| date_of_run(run));
        let pending = url.pending_since.map(date_of);
        let pending = pending.into_iter().flat_map(|first| {
            first
                .max(calendar.first())
                .series(jiff::Span::new().days(1))
                .take_while(|day| *day <= date_of(self.sources.now))
        });
        for day in failed.chain(pending) {
            if let Some(index) = calendar.index_of(day) {
                self.days.in_doubt[index] = true;
            }
        }
    }

    /// The warning about a URL that fails often.
    fn warn(&mut self, url: &UrlOverview) {
        if let Some((failures, runs)) = url.failures
            && failures >= FAILURES
            && url.standing != Standing::Affected
        {
            let message = format!("failed in {failures} of its last {runs} runs");
            let finding = warning(url, Warning::Intermittent, message);
            self.read.warnings.push(finding);
        }
    }

    fn finish(mut self) -> HostUrls {
        let Sources {
            replay, calendar, ..
        } = self.sources;
        let covering = self.covers.iter().zip(replay.selections());
        for (_, selection) in covering.filter(|(covers, _)| **covers) {
            for day in replay.days_of(selection) {
                if let Some(index) = calendar.index_of(day) {
                    self.days.has_run[index] = true;
                }
            }
        }
        let host = &mut self.read.host;
        if self.never_checked {
            host.all_checked = None;
        }
        host.verified = self.verified.iter().flatten().max().copied();
        if host.verified.is_some() {
            let others = self.verified.iter();
            let others = others.filter(|verified| **verified != host.verified);
            host.verified_without = others.count() as u64;
        }
        host.mistakes = self.read.mistakes.len() as u64;
        let incidents = self.sources.days.get(&host.host);
        let incidents = incidents.map_or(&[][..], Vec::as_slice);
        host.days = self.days.levels(incidents, calendar);
        self.read.promised = self.days.promised;
        self.read.deprecated = self.skipped.deprecated;
        let ahead = self.sources.config.check.expiry_warning;
        if let Some(certificate) = &host.certificate
            && let Some((url, line)) = self.first_secure
            && expires_within(certificate, self.sources.as_of(), ahead)
        {
            let finding = expiry(host, certificate, url, line);
            self.read.warnings.push(finding);
        }
        self.read
    }
}

fn selected(job: &Job) -> Selected<'_> {
    Selected {
        key: &job.key,
        categories: &job.categories,
    }
}

/// The full capture of the content that was seen last.
fn capture(entry: &Entry) -> Option<CaptureInfo> {
    let content = entry.content.as_ref()?;
    let capture = content.capture.as_ref()?;
    Some(CaptureInfo {
        date: capture.date.clone(),
        record: Some(capture.record.clone()),
        file: capture.file.clone(),
        offset: None,
        digest: content.digest.clone(),
        is_revisit: false,
        status: None,
    })
}

/// The day on which a run began, which its id tells.
fn date_of_run(id: &str) -> Option<jiff::civil::Date> {
    let date = id.get(..8)?;
    jiff::civil::Date::strptime("%Y%m%d", date).ok()
}

fn expires_within(
    certificate: &CertificateDates,
    now: Timestamp,
    ahead: std::time::Duration,
) -> bool {
    let left = certificate.not_after.duration_since(now);
    std::time::Duration::try_from(left).unwrap_or_default() < ahead
}

fn expiry(
    host: &HostOverview,
    certificate: &CertificateDates,
    url: String,
    line: usize,
) -> Finding {
    let CertificateDates {
        not_after, issuer, ..
    } = certificate;
    let issuer = match issuer.as_str() {
        "" => String::new(),
        issuer => format!("; its issuer is {issuer}"),
    };
    let message = format!(
        "the certificate of {} expires at {not_after}{issuer}",
        host.host
    );
    let code = Warning::CertificateExpiresSoon.as_str();
    Finding::warning(code, url, (&host.file, line), message)
}

fn warning(url: &UrlOverview, warning: Warning, message: String) -> Finding {
    Finding {
        categories: url.categories.clone(),
        muted: url.muted,
        ..Finding::warning(warning.as_str(), &url.url, (&url.file, url.line), message)
    }
}

fn empty(host: &str, file: &str) -> HostOverview {
    HostOverview {
        host: host.to_owned(),
        file: file.to_owned(),
        urls: 0,
        kept: 0,
        affected: 0,
        in_incidents: 0,
        broken: 0,
        muted: 0,
        unconfirmed: 0,
        unknown: 0,
        files: FileCounts::default(),
        checked: None,
        all_checked: None,
        verified: None,
        verified_without: 0,
        known_since: None,
        certificate: None,
        incidents: vec![],
        mistakes: 0,
        days: vec![],
    }
}
