//! The planned jobs of a run: those that are kept, and those of the files that are read again.

use std::collections::BTreeMap;
use std::fs::Metadata as FileMetadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use urldb_verdict::{Job, PastRuns};

use super::outcome::Messages;
use super::planner::{FileSurvey, Planner};
use super::second_reading::{SecondReading, lock};

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

/// The jobs of one domain file.
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

    /// Number of all jobs.
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
        let messages = self.messages.into_inner();
        messages.unwrap_or_else(PoisonError::into_inner)
    }
}

fn version_of(path: &Path) -> Option<FileVersion> {
    let version = |metadata: FileMetadata| (metadata.len(), metadata.modified().ok());
    let file = urldb_files::open(path).ok()?;
    file.metadata().ok().map(version)
}
