//! The planned jobs of a run: those that are kept, and those of the files that are read again.

use std::collections::BTreeMap;
use std::fs::{File, Metadata as FileMetadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use urldb_format::{DomainFile, DomainReader};
use urldb_text::Finding;
use urldb_verdict::{DomainPlan, Job, PastRuns, Rotation};

use super::outcome::Messages;
use super::planner::{FileSurvey, JOBS_AT_ONCE, Planner};

/// The requests of a run, file by file.
pub(super) struct PlannedJobs<'a> {
    planner: Planner<'a>,
    /// Number of jobs for each host that is asked.
    by_host: BTreeMap<String, u64>,
    /// Whether a job promises bytes.
    has_static: bool,
    files: Vec<PlannedFile>,
    /// Notes and troubles of the second reading.
    messages: Mutex<Messages>,
}

pub(super) struct PlannedFile {
    path: PathBuf,
    name: Arc<str>,
    version: Option<FileVersion>,
    /// Number of jobs that can be made to cnames too.
    turns: u64,
    /// All jobs, if they are kept.
    kept: Option<Vec<Job>>,
}

/// Tells whether a file was changed since: its length, and when it was last written.
type FileVersion = (u64, Option<SystemTime>);

impl PlannedFile {
    /// A file that is going to be read for the first time.
    pub(super) fn new(path: &Path, name: &Arc<str>) -> Self {
        Self {
            path: path.to_owned(),
            name: Arc::clone(name),
            version: version_of(path),
            turns: 0,
            kept: None,
        }
    }
}

impl<'a> PlannedJobs<'a> {
    /// No jobs, planned by this planner.
    pub(super) fn new(planner: Planner<'a>) -> Self {
        Self {
            planner,
            by_host: BTreeMap::new(),
            has_static: false,
            files: vec![],
            messages: Mutex::default(),
        }
    }

    /// Adds the jobs of a file after its first reading.
    pub(super) fn add(&mut self, file: PlannedFile, survey: FileSurvey) {
        if survey.by_host.is_empty() {
            return;
        }
        self.has_static |= survey.has_static;
        for (host, count) in survey.by_host {
            *self.by_host.entry(host).or_default() += count;
        }
        self.files.push(PlannedFile {
            turns: survey.turns,
            kept: survey.kept,
            ..file
        });
    }

    pub(super) fn planner(&self) -> &Planner<'a> {
        &self.planner
    }

    /// Whether no file has a job.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Number of jobs for each host that is asked.
    pub(super) fn by_host(&self) -> &BTreeMap<String, u64> {
        &self.by_host
    }

    pub(super) fn count(&self) -> u64 {
        self.by_host.values().sum()
    }

    /// Whether a job promises bytes.
    pub(super) fn has_static(&self) -> bool {
        self.has_static
    }

    /// The jobs of each file, which are read as the iterators go on.
    pub(super) fn sources<'s, P: PastRuns>(
        &'s mut self,
        past: &'s P,
    ) -> impl Iterator<Item = impl Iterator<Item = Job>> {
        let (planner, messages) = (&self.planner, &self.messages);
        self.files.iter_mut().map(move |file| {
            let kept = file.kept.take();
            let read = kept.is_none().then(|| {
                if file.version != version_of(&file.path) {
                    let note = format!(
                        "{} was changed during the run; its records were checked as they are now, \
                         and the next run reports mistakes in them",
                        file.name
                    );
                    lock(messages).notes.push(note);
                }
                let file = (file.path.as_path(), &file.name, file.turns);
                SecondReading::of(planner, file, past, messages).jobs()
            });
            kept.into_iter().flatten().chain(read.into_iter().flatten())
        })
    }

    /// A note on each file that others changed between the two readings, and a trouble for each that could
    /// not be read again.
    pub(super) fn messages(self) -> Messages {
        self.messages
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn version_of(path: &Path) -> Option<FileVersion> {
    let version = |metadata: FileMetadata| (metadata.len(), metadata.modified().ok());
    urldb_files::open(path).ok()?.metadata().ok().map(version)
}

/// The second reading of a domain file.
pub(super) struct SecondReading<'a, P> {
    planner: &'a Planner<'a>,
    path: &'a Path,
    name: &'a Arc<str>,
    /// Number of jobs that can be made to cnames too.
    turns: u64,
    past: &'a P,
    messages: &'a Mutex<Messages>,
    host: String,
    rotation: Rotation,
    reader: Option<DomainReader<File>>,
    /// `None` before the metadata.
    plan: Option<DomainPlan<'a>>,
    is_over: bool,
}

impl<'a, P: PastRuns> SecondReading<'a, P> {
    /// The second reading of the file at `path`, of whose jobs so many can be made to cnames too.
    pub(super) fn of(
        planner: &'a Planner<'a>,
        (path, name, turns): (&'a Path, &'a Arc<str>, u64),
        past: &'a P,
        messages: &'a Mutex<Messages>,
    ) -> Self {
        Self {
            planner,
            path,
            name,
            turns,
            past,
            messages,
            host: urldb_format::host_of(path),
            rotation: Rotation::over(turns),
            reader: None,
            plan: None,
            is_over: false,
        }
    }

    /// The jobs of the file, which is read as the iterator goes on.
    pub(super) fn jobs(mut self) -> impl Iterator<Item = Job> {
        std::iter::from_fn(move || self.next_jobs()).flatten()
    }

    /// The jobs of the next records; `None` at the end.
    fn next_jobs(&mut self) -> Option<Vec<Job>> {
        if self.is_over {
            return None;
        }
        Some(self.read().unwrap_or_else(|error| {
            self.is_over = true;
            self.report(&urldb_format::finding_of(&error));
            vec![]
        }))
    }

    fn read(&mut self) -> Result<Vec<Job>, urldb_format::Error> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => DomainReader::open(self.path)?,
        };
        let mut jobs = vec![];
        while jobs.len() < JOBS_AT_ONCE {
            let Some(document) = reader.next()? else {
                self.is_over = true;
                return Ok(self.with_aliases(jobs));
            };
            if document.may_repeat() {
                self.is_over = true;
                let known_lines = document.start().line - 1;
                let mut jobs = self.with_aliases(jobs);
                jobs.extend(self.read_unordered(known_lines));
                return Ok(jobs);
            }
            if let Some(metadata) = document.metadata() {
                let name = self.name;
                self.plan = Some(self.planner.domain_plan(&self.host, metadata, name));
            }
            if let Some(plan) = &mut self.plan {
                jobs.extend(self.planner.jobs_of(plan, &document, self.past));
            }
        }
        self.reader = Some(reader);
        Ok(self.with_aliases(jobs))
    }

    /// The jobs of a file whose records are not in order, without those in lines that are known.
    fn read_unordered(&mut self, known_lines: usize) -> Vec<Job> {
        let whole = DomainFile::read_or_report(self.path);
        if let Some(finding) = whole.findings.iter().find(|it| it.code.hides_file()) {
            self.report(finding);
        }
        let (planner, past) = (self.planner, self.past);
        let metadata = whole.file.metadata();
        let mut plan = planner.domain_plan(&self.host, metadata, self.name);
        let jobs = whole
            .documents()
            .flat_map(|document| planner.jobs_of(&mut plan, &document, past))
            .collect();
        self.plan = Some(plan);
        self.rotation = Rotation::over(self.turns);
        let mut jobs = self.with_aliases(jobs);
        jobs.retain(|job| job.line > known_lines);
        jobs
    }

    fn with_aliases(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        let Some(plan) = &self.plan else {
            return jobs;
        };
        let options = self.planner.options_of(&self.host);
        let rotation = &mut self.rotation;
        self.planner
            .with_aliases(jobs, plan.metadata(), options, rotation, self.past)
    }

    /// Reports that the file could not be read. A file that is gone was changed, which a note says.
    fn report(&self, unreadable: &Finding) {
        if urldb_files::is_there(self.path) {
            let trouble = format!(
                "{} was read before the first request, and not a second time: {}; some or all \
                 of its URLs were not checked",
                self.name, unreadable.message
            );
            lock(self.messages).troubles.push(trouble);
        }
    }
}

/// The messages of the second readings.
pub(super) fn lock(messages: &Mutex<Messages>) -> MutexGuard<'_, Messages> {
    messages.lock().unwrap_or_else(PoisonError::into_inner)
}
