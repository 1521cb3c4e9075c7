//! The planned jobs of a run: those that are kept, and those of the files that are read again.

use std::collections::BTreeMap;
use std::fs::Metadata as FileMetadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use urldb_format::FilePart;
use urldb_verdict::{Job, PastRuns, Rotation};

use super::outcome::Messages;
use super::planner::{FileSurvey, Planner};

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
                read_again(planner, file, past, messages)
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

fn lock(messages: &Mutex<Messages>) -> MutexGuard<'_, Messages> {
    messages.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The jobs of the second reading, part by part.
fn read_again<'s, P: PastRuns>(
    planner: &'s Planner<'_>,
    file: &'s PlannedFile,
    past: &'s P,
    messages: &'s Mutex<Messages>,
) -> impl Iterator<Item = Job> {
    let options = planner.options_of(&file.path);
    let mut rotation = Rotation::over(file.turns);
    planner.read(&file.path).flat_map(move |part| {
        let is_whole = matches!(part, FilePart::Whole { .. });
        let (content, known_lines) = part.into_parsed();
        if is_whole {
            rotation = Rotation::over(file.turns);
            let mut findings = content.findings.iter();
            let unreadable = findings.find(|finding| finding.code.hides_file());
            // A file that is gone was changed, which a note says.
            if let Some(finding) = unreadable.filter(|_| urldb_files::is_there(&file.path)) {
                let trouble = format!(
                    "{} was read before the first request, and not a second time: {}; some or all \
                     of its URLs were not checked",
                    file.name, finding.message
                );
                lock(messages).troubles.push(trouble);
            }
        }
        let read = content.file;
        let jobs = planner.jobs_of_part(&read, &file.name, options, past);
        let mut jobs = planner.with_aliases(jobs, read.metadata(), options, &mut rotation, past);
        jobs.retain(|job| job.line > known_lines);
        jobs
    })
}

fn version_of(path: &Path) -> Option<FileVersion> {
    let version = |metadata: FileMetadata| (metadata.len(), metadata.modified().ok());
    let file = urldb_files::open(path).ok()?;
    file.metadata().ok().map(version)
}
