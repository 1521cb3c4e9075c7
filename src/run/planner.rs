//! Plans the jobs of domain files, part by part.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use urldb_format::{DomainFile, FilePart, Metadata};
use urldb_protocol::Mistake;
use urldb_text::Finding;
use urldb_verdict::{
    Cnames, FileOptions, Job, PastRuns, PlanOptions, Rotation, Selection, SkippedRecords,
};

use super::canonical::OfficialUrls;
use super::plan_options::PlanOptionsByHost;
use crate::config::Config;
use crate::database::mistakes::mistakes;

/// An event of the first reading of the domain files.
pub(super) enum PlanEvent<'a> {
    /// A job, except the one whose turn it is at a cname.
    Job(&'a Job),
    /// The end of a file.
    File(PlannedDomain<'a>),
}

/// A domain file after its first reading.
pub(super) struct PlannedDomain<'a> {
    pub(super) host: &'a str,
    /// Number of jobs.
    pub(super) jobs: u64,
    /// Whether the jobs are in memory; else the file is read again.
    pub(super) are_jobs_kept: bool,
}

/// Plans the jobs of parts of domain files.
pub(super) struct Planner<'a> {
    config: &'a Config,
    selection: &'a Selection,
    options: PlanOptionsByHost,
    official_urls: OfficialUrls<'a>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        config: &'a Config,
        selection: &'a Selection,
        options: PlanOptionsByHost,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            config,
            selection,
            options,
            official_urls: OfficialUrls::load(config)?,
        })
    }

    /// The options of the domain file of a host.
    pub(super) fn options_of(&self, path: &Path) -> PlanOptions {
        self.options.of(&urldb_format::host_of(path))
    }

    /// The first reading of a file. Its jobs are kept if there are at most `room` of them, or if the
    /// file has to be read whole: that would take the network's thread too long.
    pub(super) fn survey(
        &self,
        path: &Path,
        name: &Arc<str>,
        past: &impl PastRuns,
        room: usize,
        see: &mut impl FnMut(PlanEvent<'_>),
    ) -> FileSurvey {
        let options = self.options_of(path);
        let mut survey = FileSurvey::default();
        let mut metadata = Metadata::default();
        let (mut own_jobs, mut is_kept, mut room) = (vec![], true, room);
        for part in self.read(path) {
            if matches!(part, FilePart::Whole { .. }) {
                survey = FileSurvey::default();
                own_jobs.clear();
                (is_kept, room) = (true, usize::MAX);
            }
            let parsed = part.into_parsed().0;
            let file = parsed.file;
            survey.skipped.count(&file, self.selection);
            if !self.selection.wants_domain(file.host()) {
                continue;
            }
            let mut errors = parsed.findings;
            errors.extend(urldb_format::lint_values(&file, &self.config.lint.keys));
            errors.retain(Finding::is_error);
            survey.mistakes.extend(mistakes(&file, name, &errors));
            metadata = file.metadata().clone();
            let jobs = self.jobs_of_part(&file, name, options, past);
            survey.turns += Rotation::turns_of(&jobs);
            own_jobs.extend(jobs);
            is_kept &= own_jobs.len() <= room;
            if !is_kept {
                // The turns of cnames are known at the end of the file only.
                let mut rotation = Rotation::over(0);
                let jobs = std::mem::take(&mut own_jobs);
                survey.count(
                    &self.with_aliases(jobs, &metadata, options, &mut rotation, past),
                    see,
                );
            }
        }
        if is_kept {
            let mut rotation = Rotation::over(survey.turns);
            let jobs = self.with_aliases(own_jobs, &metadata, options, &mut rotation, past);
            survey.count(&jobs, see);
            survey.kept = (jobs.len() <= room).then_some(jobs);
        } else if self.has_rotation(options) && survey.turns > 0 {
            for cname in metadata.cnames {
                *survey.by_host.entry(cname).or_default() += 1;
            }
        }
        survey
    }

    /// The parts of a file, without those of which no record is selected.
    pub(super) fn read<'s>(&'s self, path: &'s Path) -> impl Iterator<Item = FilePart> + use<'s> {
        let host = urldb_format::host_of(path);
        let selects_domain = self.selection.wants_domain(&host);
        let wants = move |record: &str| selects_domain && self.selection.wants_path(&host, record);
        DomainFile::read_parts_where_or_report(path, wants)
    }

    /// Whether a record has its turn at each cname.
    fn has_rotation(&self, options: PlanOptions) -> bool {
        options.cnames == Cnames::Rotate && self.selection.records.is_empty()
    }

    /// The jobs of the domain itself for a part of its file.
    pub(super) fn jobs_of_part(
        &self,
        file: &DomainFile,
        name: &Arc<str>,
        plan: PlanOptions,
        past: &impl PastRuns,
    ) -> Vec<Job> {
        let options = FileOptions {
            name,
            own_keys: &self.config.lint.keys,
            plan,
        };
        let mut jobs = urldb_verdict::plan::jobs_of_part(file, self.selection, options, past);
        for job in &mut jobs {
            self.official_urls.mark(job);
        }
        jobs
    }

    pub(super) fn with_aliases(
        &self,
        jobs: Vec<Job>,
        metadata: &Metadata,
        options: PlanOptions,
        rotation: &mut Rotation,
        past: &impl PastRuns,
    ) -> Vec<Job> {
        let selection = self.selection;
        urldb_verdict::plan::with_aliases(jobs, metadata, selection, options, rotation, past)
    }
}

/// The results of the first reading of one domain file.
#[derive(Default)]
pub(super) struct FileSurvey {
    pub(super) mistakes: Vec<Mistake>,
    pub(super) skipped: SkippedRecords,
    /// Number of jobs for each host that is asked.
    pub(super) by_host: BTreeMap<String, u64>,
    /// Whether a job promises bytes.
    pub(super) has_static: bool,
    /// Number of jobs that can be made to cnames too.
    pub(super) turns: u64,
    /// All jobs, if they are kept.
    pub(super) kept: Option<Vec<Job>>,
}

impl FileSurvey {
    fn count(&mut self, jobs: &[Job], see: &mut impl FnMut(PlanEvent<'_>)) {
        for job in jobs {
            see(PlanEvent::Job(job));
            self.has_static |= job.promise.is_static();
            match self.by_host.get_mut(job.host()) {
                Some(count) => *count += 1,
                None => {
                    self.by_host.insert(job.host().to_owned(), 1);
                }
            }
        }
    }
}
