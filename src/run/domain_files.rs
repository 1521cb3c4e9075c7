//! Reads domain files and plans the jobs of a run.
//!
//! Only a part of one domain file is in memory at a time, since a database may be large.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use urldb_format::{DomainFile, FilePart, Metadata};
use urldb_protocol::Mistake;
use urldb_text::Finding;
use urldb_verdict::{FileOptions, Job, PastRuns, PlanOptions, Selection, SkippedRecords};

use crate::config::Config;

/// Most characters of a line in a mistake.
const MOST_TEXT: usize = 100;

/// The paths of all domain files, and the selection among their records.
pub(super) struct DomainFiles<'a> {
    config: &'a Config,
    selection: &'a Selection,
    files: Vec<PathBuf>,
    misnamed: Vec<PathBuf>,
}

/// The jobs of a run, and what reading the domain files has shown.
pub(super) struct Plan {
    /// The requests to make, file by file.
    pub(super) jobs: Vec<Vec<Job>>,
    /// The files that were read.
    pub(super) files: Vec<ReadFile>,
    /// Number of records without jobs.
    pub(super) skipped: SkippedRecords,
}

/// A domain file that was read.
pub(super) struct ReadFile {
    /// Its host.
    pub(super) host: String,
    /// Its path from the root of the repository, with `/`.
    pub(super) name: Arc<str>,
    /// Mistakes in the file. Without mistakes, a record that the file does not have is gone.
    pub(super) mistakes: Vec<Mistake>,
}

impl<'a> DomainFiles<'a> {
    pub(super) fn list(config: &'a Config, selection: &'a Selection) -> anyhow::Result<Self> {
        let database = config.open_database()?;
        Ok(Self {
            config,
            selection,
            files: database.files().to_vec(),
            misnamed: database.misnamed().to_vec(),
        })
    }

    /// The hosts of the selection.
    pub(super) fn hosts(&self) -> Vec<String> {
        // The ledger remembers the mistake of a misnamed file under its whole name.
        let files = self.files.iter().chain(&self.misnamed);
        let hosts = files.map(|path| urldb_format::host_of(path));
        hosts
            .filter(|host| self.selection.wants_domain(host))
            .collect()
    }

    /// Reads one file after the other, and plans its jobs.
    pub(super) fn plan(&self, options: PlanOptions, past: &impl PastRuns) -> anyhow::Result<Plan> {
        let mut plan = Plan {
            jobs: vec![],
            files: vec![],
            skipped: SkippedRecords::default(),
        };
        for path in &self.files {
            let name: Arc<str> = self.config.relative_name(path).into();
            let planned = self.plan_file(path, &name, options, past);
            plan.skipped += planned.skipped;
            let host = urldb_format::host_of(path);
            if !self.selection.wants_domain(&host) {
                continue;
            }
            plan.files.push(ReadFile {
                host,
                name,
                mistakes: planned.mistakes,
            });
            if !planned.jobs.is_empty() {
                plan.jobs.push(planned.jobs);
            }
        }
        for path in &self.misnamed {
            let findings = urldb_format::lint_misnamed(path);
            let file = DomainFile::parse(path, b"").file;
            if !self
                .selection
                .wants_domain(file.host().trim_end_matches(".yml"))
            {
                continue;
            }
            let name: Arc<str> = self.config.relative_name(path).into();
            plan.files.push(ReadFile {
                host: file.host().to_owned(),
                name: Arc::clone(&name),
                mistakes: mistakes(&file, &name, &findings),
            });
        }
        // A typo in a filter must not look like a good result.
        anyhow::ensure!(
            !plan.jobs.is_empty()
                || plan.files.iter().any(|file| !file.mistakes.is_empty())
                || self.selection.is_everything(),
            "no record is selected; `urldb list` with the same options shows what there is"
        );
        Ok(plan)
    }

    /// Reads one file part by part, and plans its jobs.
    fn plan_file(
        &self,
        path: &Path,
        name: &Arc<str>,
        options: PlanOptions,
        past: &impl PastRuns,
    ) -> PlannedFile {
        let selection = self.selection;
        let options = FileOptions {
            name,
            own_keys: &self.config.lint.keys,
            plan: options,
        };
        let mut planned = PlannedFile::default();
        for part in DomainFile::read_parts_or_report(path) {
            if matches!(part, FilePart::Whole { .. }) {
                planned = PlannedFile::default();
            }
            let parsed = part.into_parsed().0;
            let file = parsed.file;
            planned.skipped.count(&file, selection);
            if !selection.wants_domain(file.host()) {
                continue;
            }
            let mut errors = parsed.findings;
            errors.extend(urldb_format::lint_values(&file, options.own_keys));
            errors.retain(Finding::is_error);
            planned.mistakes.extend(mistakes(&file, name, &errors));
            let jobs = urldb_verdict::plan::jobs_of_part(&file, selection, options, past);
            planned.jobs.extend(jobs);
            planned.metadata = file.metadata().clone();
        }
        let PlannedFile { jobs, metadata, .. } = &mut planned;
        let jobs = std::mem::take(jobs);
        planned.jobs =
            urldb_verdict::plan::with_aliases(jobs, metadata, selection, options.plan, past);
        planned
    }
}

/// What reading one domain file has shown so far.
#[derive(Default)]
struct PlannedFile {
    jobs: Vec<Job>,
    mistakes: Vec<Mistake>,
    skipped: SkippedRecords,
    metadata: Metadata,
}

/// The hosts whose files have no mistakes: a record that such a file does not have is gone.
pub(super) fn understood(files: &[ReadFile]) -> Vec<String> {
    let whole = files.iter().filter(|file| file.mistakes.is_empty());
    whole.map(|file| file.host.clone()).collect()
}

/// Converts findings of a file for the report.
fn mistakes(file: &DomainFile, name: &str, findings: &[Finding]) -> Vec<Mistake> {
    if findings.is_empty() {
        return vec![];
    }
    let text = file.text();
    let lines: Vec<&str> = text.lines().collect();
    let text_of = |line: usize| {
        let text = lines
            .get(line.saturating_sub(file.first_line()))
            .map_or("", |text| text.trim());
        text.chars().take(MOST_TEXT).collect()
    };
    let mistakes = findings.iter().map(|finding| Mistake {
        code: finding.code.to_string(),
        file: name.to_owned(),
        line: finding.line,
        column: finding.column,
        message: finding.message.clone(),
        help: finding.help.clone(),
        text: text_of(finding.line),
        new: false,
    });
    mistakes.collect()
}
