//! The step that records: adds each finished job to the ledger, the report and the outcomes.

use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;
use urldb_verdict::{HostCertificates, JudgedJob};

use super::archive::RunArchive;
use super::certificates::Certificates;
use super::impaired::watched;
use super::incidents::members;
use super::lost_evidence::LostEvidenceTally;
use super::options::{Results, RunOptions};
use super::outcome::Messages;
use super::outcomes::Outcomes;
use super::plan::Plan;
use super::planner::taking;
use super::prepare::Prepared;
use super::unchecked::UncheckedHosts;
use crate::config::Config;
use crate::explain::explain;
use crate::ledger::{JobRecord, StatusUpdate, update};
use crate::notify::AudienceUrls;
use crate::report::{Report, cover};

/// The jobs of a run that are settled at the end, in the order of their domains.
pub(super) struct Settling<'t, 'p> {
    tally: &'t mut RunTally,
    prepared: &'t Prepared<'p>,
    /// The domain of the last one.
    domain: Option<String>,
}

impl Settling<'_, '_> {
    /// Adds a job.
    pub(super) fn record(&mut self, mut record: JobRecord) {
        let domain = &record.judged.job.key.domain;
        if self.domain.as_ref() != Some(domain) {
            self.close();
            self.domain = Some(domain.clone());
        }
        self.tally.record(self.prepared, &mut record);
    }

    /// Closes the ledger of the last domain.
    pub(super) fn close(&mut self) {
        if let Some(domain) = self.domain.take() {
            self.prepared.ledger.of_domain(&domain).close(&domain);
        }
    }
}

/// The finished jobs of a run so far.
pub(super) struct RunTally {
    pub(super) report: Report,
    /// The outcomes that incidents need.
    pub(super) outcomes: Outcomes,
    certificates: Certificates,
    /// The promised bytes that the archive lost.
    pub(super) evidence: LostEvidenceTally,
    pub(super) unchecked: UncheckedHosts,
    /// The URLs of each section that is for some of all URLs.
    audiences: Vec<AudienceUrls>,
    /// The first error of the archive; later ones would say the same.
    archive_error: Option<String>,
    /// Names of the archive files with captures of this run.
    files: BTreeSet<String>,
}

impl RunTally {
    /// The tally of a command without ledger.
    pub(super) fn of_check(
        options: &RunOptions<'_>,
        started: Timestamp,
        plan: &mut Plan<'_>,
    ) -> Self {
        let with_results = options.results != Results::Dropped;
        let mistakes = std::mem::take(&mut plan.mistakes);
        let report = Report::new(with_results, &plan.skipped, mistakes);
        Self {
            report: report.expecting(plan.jobs.count()),
            outcomes: Outcomes::of(HashSet::new(), options.config.owners.clone()),
            certificates: Certificates::new(started, options.config.check.expiry_warning, &[]),
            evidence: LostEvidenceTally::default(),
            unchecked: UncheckedHosts::default(),
            audiences: std::mem::take(&mut plan.audiences),
            archive_error: None,
            files: BTreeSet::new(),
        }
    }

    pub(super) fn of_run(prepared: &mut Prepared<'_>, plan: &mut Plan<'_>) -> Self {
        let started = prepared.run.started;
        let tally = Self::of_check(prepared.options, started, plan);
        let known = prepared.incidents.known();
        let warning = prepared.config().check.expiry_warning;
        let unverified = std::mem::take(&mut prepared.base.unverified);
        Self {
            report: tally.report.comparing_with(unverified),
            outcomes: Outcomes::of(members(known), prepared.config().owners.clone()),
            certificates: Certificates::new(started, warning, known),
            evidence: LostEvidenceTally::watching(known),
            unchecked: UncheckedHosts::watching(watched(&prepared.past, known)),
            ..tally
        }
    }

    /// Adds a settled job of a command that has neither archive nor ledger.
    pub(super) fn check(&mut self, options: &RunOptions<'_>, record: &JobRecord) {
        self.outcomes.add(record, &StatusUpdate::of_check(record));
        self.report.add(record, None);
        self.pass_on_results(options);
    }

    /// Adds what a job showed beside its verdict, settled or not.
    pub(super) fn see(&mut self, judged: &JudgedJob) {
        self.unchecked.add(judged);
        self.certificates.add(judged);
    }

    /// Adds a settled job of a run, and updates the ledger.
    pub(super) fn record(&mut self, prepared: &Prepared<'_>, record: &mut JobRecord) {
        self.certificates.believe(&mut record.judged);
        let record = &*record;
        let JudgedJob { job, .. } = &record.judged;
        if self.archive_error.is_none() {
            self.archive_error.clone_from(&record.archived.error);
        }
        let mut ledger = prepared.ledger.of(&job.key);
        let before = ledger.get(&job.key);
        let update = update(
            before.as_ref(),
            record,
            self.outcomes.is_member(job),
            prepared.point(),
            &prepared.config().check.verdict,
        );
        for file in update.new_files() {
            if !self.files.contains(file) {
                self.files.insert(file.to_owned());
            }
        }
        self.evidence.add(record, &update);
        self.outcomes.add(record, &update);
        self.report.add(record, Some(&update));
        for section in taking(prepared.notifiers.filtered_sections(), job) {
            cover(&mut self.audiences[section].coverage, &record.judged);
        }
        match update.entry {
            Some(entry) => ledger.set(&job.key, entry, record.at),
            None => ledger.forget(&job.key),
        }
        ledger.remember_origins(&job.key.domain, &record.archived.origins);
        drop(ledger);
        self.pass_on_results(prepared.options);
    }

    /// Ends a job of a run, settled or not: with the last one of its domain, the ledger of the domain is closed.
    pub(super) fn end_job(&mut self, prepared: &Prepared<'_>, judged: &JudgedJob) {
        self.see(judged);
        let key = &judged.job.key;
        let mut ledger = prepared.ledger.of(key);
        if ledger.is_last(&key.domain) {
            if let Some(shown) = self.certificates.end_of(&key.domain) {
                ledger.set_certificate(&key.domain, &shown);
            }
            ledger.close(&key.domain);
        }
    }

    /// Records the jobs that are settled at the end, domain by domain.
    pub(super) fn settling<'t, 'p>(&'t mut self, prepared: &'t Prepared<'p>) -> Settling<'t, 'p> {
        Settling {
            tally: self,
            prepared,
            domain: None,
        }
    }

    /// Ends the certificates of a run: adds the warnings to the report, and returns the hosts that notices may
    /// be about.
    pub(super) fn end_certificates(&mut self) -> Vec<HostCertificates> {
        self.certificates.end(&mut self.report)
    }

    /// Gives the results that the report has collected to a reader that takes them one by one.
    fn pass_on_results(&mut self, options: &RunOptions<'_>) {
        if options.results == Results::Streamed {
            for result in self.report.take_results() {
                options.progress.result(&result);
            }
        }
    }

    /// Ends the records of a run once its archive files are finished.
    pub(super) fn finish(
        &mut self,
        prepared: &mut Prepared<'_>,
        plan: &Plan<'_>,
        archive: RunArchive,
    ) {
        for host in self.certificates.unfinished() {
            let mut ledger = prepared.ledger.of_domain(&host);
            if let Some(shown) = self.certificates.end_of(&host) {
                ledger.set_certificate(&host, &shown);
            }
        }
        let urls = std::mem::take(&mut self.audiences);
        prepared.notifiers.set_urls(urls);
        let RunArchive { files, messages } = archive;
        let mut troubles: Vec<String> = self.archive_error.take().into_iter().collect();
        let config = prepared.config();
        match files {
            Ok(files) => {
                let names = files.iter().map(|path| config.relative_name(path));
                self.report.set_archived(names.collect());
            }
            Err(error) => troubles.push(explain(&error)),
        }
        if !troubles.is_empty() {
            let unfinished = self.unfinished_files(config);
            self.evidence.forget_captures(&unfinished);
            prepared
                .ledger
                .forget_captures(&unfinished, prepared.run.started);
        }
        prepared.messages.extend(Messages {
            troubles,
            notes: self.unchecked.notes(plan.jobs.by_host()),
        });
        prepared.messages.extend(messages);
    }

    /// The files that could not be finished: the ledger must not refer to captures in them.
    fn unfinished_files(&self, config: &Config) -> BTreeSet<String> {
        let folder = config.archive_root();
        self.files
            .iter()
            .filter(|name| !folder.file(name).is_file())
            .cloned()
            .collect()
    }
}
