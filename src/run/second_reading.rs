//! Reads a domain file a second time, while its jobs are made.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use urldb_format::{DomainFile, DomainReader};
use urldb_text::Finding;
use urldb_verdict::{DomainPlan, Job, PastRuns, Rotation};

use super::outcome::Messages;
use super::planner::{JOBS_AT_ONCE, Planner};

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
        let jobs = self.read().unwrap_or_else(|error| {
            self.is_over = true;
            self.report(&urldb_format::finding_of(&error));
            vec![]
        });
        Some(jobs)
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
        let documents = whole.documents();
        let jobs = documents.flat_map(|document| planner.jobs_of(&mut plan, &document, past));
        let jobs = jobs.collect();
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
