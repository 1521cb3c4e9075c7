//! The promises of one domain file, and their confirmed states.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use urldb_format::{Linter, fold};
use urldb_protocol::{
    Counts, FileCounts, Finding, HostOverview, Mistake, UrlCondition, UrlOverview, UrlUses,
};
use urldb_verdict::{
    Cnames, DomainPlan, FileOptions, Job, KeptBodies, PlanOptions, Rehash, Selection, Warning,
};

use super::condition::selected;
use super::date_of;
use super::days::HostDays;
use super::sources::Sources;
use crate::database::mistakes::mistakes;
use crate::ledger::Ledger;

/// Number of failures in the last runs from which on a URL gets a warning.
const FAILURES: u64 = 3;

/// Files that were verified within these hours before the last run count as verified.
const VERIFIED_WITHIN: i64 = 7 * 24;

/// Hours of the columns of [`FileCounts::ages`].
const AGES: [i64; 3] = [24, 7 * 24, 30 * 24];

/// The promises of one domain file, and its URLs.
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
    /// The places in lists that use affected URLs.
    pub(super) used: BTreeMap<String, UrlUses>,
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
        let own_keys = &self.config.lint.keys;
        let options = FileOptions {
            name: &name,
            own_keys,
            plan: self.plan_options(),
        };
        let everything = Selection::default();
        let start = || FoldedFile {
            reading: HostReading::new(self, &ledger, &host, &name),
            linter: Linter::of_values(path, own_keys),
            plan: None,
        };
        let folded = fold(path, start, |file, document| {
            if let Some(metadata) = document.metadata() {
                file.plan = Some(DomainPlan::new(&host, metadata, &everything, options));
            }
            let mut errors = file.linter.see(document);
            errors.retain(urldb_text::Finding::is_error);
            let (text, line) = (document.text(), document.start().line);
            let new = mistakes(text, line, &name, &errors);
            file.reading.read.mistakes.extend(new);
            let plan = file.plan.as_mut();
            for job in plan.map_or_else(Vec::new, |plan| plan.jobs(document, &())) {
                file.reading.add(&job, &wants);
            }
        });
        let skipped = folded.plan.map(DomainPlan::into_skipped);
        let mut read = folded.reading.finish();
        read.deprecated = skipped.unwrap_or_default().deprecated;
        Ok(read)
    }

    /// The mistakes in the name of a file that is no domain file.
    pub(super) fn misnamed(&self, path: &Path) -> Vec<Mistake> {
        let findings = urldb_format::lint_misnamed(path);
        mistakes("", 1, &self.config.relative_name(path), &findings)
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
}

/// A domain file while it is folded over.
struct FoldedFile<'a> {
    reading: HostReading<'a>,
    linter: Linter<'a>,
    /// `None` before the metadata.
    plan: Option<DomainPlan<'a>>,
}

/// The overview of a domain file so far.
struct HostReading<'a> {
    sources: &'a Sources<'a>,
    ledger: &'a Ledger,
    read: HostUrls,
    days: HostDays,
    /// The runs with each selection check a URL of the host.
    covers: Vec<bool>,
    /// The start of the last verification of each static URL.
    verified: Vec<Option<Timestamp>>,
    never_checked: bool,
}

impl<'a> HostReading<'a> {
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
                used: BTreeMap::new(),
            },
            days: HostDays::new(&sources.calendar),
            covers: vec![false; sources.replay.selections().len()],
            verified: vec![],
            never_checked: false,
        }
    }

    fn add(&mut self, job: &Job, wants: impl Fn(&UrlOverview) -> bool) {
        let url = self.sources.url(job, self.ledger);
        let host = &mut self.read.host;
        host.in_incidents += u64::from(url.incident.is_some());
        host.counts.urls += 1;
        match url.condition {
            UrlCondition::Affected => {
                host.counts.add_affected(url.flapping, url.muted, false);
            }
            UrlCondition::Unconfirmed => host.counts.unconfirmed += 1,
            UrlCondition::Unknown => host.counts.unknown += 1,
            UrlCondition::Kept => host.counts.ok += 1,
        }
        host.checked = host.checked.max(url.checked);
        self.never_checked |= url.checked.is_none();
        host.all_checked = host.all_checked.into_iter().chain(url.checked).min();
        host.known_since = host.known_since.into_iter().chain(url.known_since).min();
        if let Some(incident) = &url.incident
            && !host.incidents.contains(incident)
        {
            host.incidents.push(incident.clone());
        }
        self.count_file(&url);
        self.count_days(job, &url);
        self.warn(&url);
        if url.incident.is_some() && !url.uses.is_empty() {
            self.read.used.insert(url.url.clone(), url.uses.clone());
        }
        if let (Some(incident), Some(reason)) = (&url.incident, &url.reason) {
            let reasons = &mut self.read.reasons;
            reasons
                .entry(incident.clone())
                .or_insert_with(|| reason.clone());
        }
        if wants(&url) {
            self.read.urls.push(url);
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
        let failed = self
            .ledger
            .get(&job.key)
            .into_iter()
            .flat_map(|entry| entry.breaks)
            .filter_map(|run| date_of_run(&run));
        let pending = url
            .pending_since
            .map(date_of)
            .into_iter()
            .flat_map(|first| {
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
            && url.condition != UrlCondition::Affected
        {
            let message = format!("broke in {failures} of its last {runs} runs");
            let finding = warning(url, Warning::Flapping, message);
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
            let others = self
                .verified
                .iter()
                .filter(|verified| **verified != host.verified);
            host.verified_without = others.count() as u64;
        }
        if self.verified.iter().all(Option::is_some) {
            host.all_verified = self.verified.iter().flatten().min().copied();
        }
        host.counts.mistakes = self.read.mistakes.len() as u64;
        host.counts.warnings = self.read.warnings.len() as u64;
        let incidents = self
            .sources
            .days
            .get(&host.host)
            .map_or(&[][..], Vec::as_slice);
        host.days = self.days.levels(incidents, calendar);
        self.read.promised = self.days.promised;
        self.read
    }
}

/// The day on which a run began, which its id tells.
fn date_of_run(id: &str) -> Option<jiff::civil::Date> {
    let date = id.get(..8)?;
    jiff::civil::Date::strptime("%Y%m%d", date).ok()
}

fn warning(url: &UrlOverview, warning: Warning, message: String) -> Finding {
    Finding {
        categories: url.categories.clone(),
        muted: url.muted,
        ..Finding::warning(warning.as_str(), &url.url, (&url.file, url.line), message)
    }
}

/// The overview of a host before its URLs are counted.
fn empty(host: &str, file: &str) -> HostOverview {
    HostOverview {
        host: host.to_owned(),
        file: file.to_owned(),
        counts: Counts::default(),
        in_incidents: 0,
        files: FileCounts::default(),
        checked: None,
        all_checked: None,
        verified: None,
        verified_without: 0,
        all_verified: None,
        known_since: None,
        certificate: None,
        incidents: vec![],
        days: vec![],
    }
}
