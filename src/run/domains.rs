//! From the database to the jobs of a run.
//!
//! A domain file is in memory only while its jobs are planned: a database may be far larger than
//! what is kept of it.

use std::path::PathBuf;
use std::sync::Arc;

use urldb_format::{DomainFile, Finding, Severity};
use urldb_protocol::Mistake;

use crate::config::Config;
use urldb_verdict::{Job, Known, LeftOut, PlanOptions, Selection};

/// Characters of a line that a mistake is told with, at most.
const MOST_TEXT: usize = 100;

/// The domain files of a selection, not read yet.
pub(super) struct Domains<'a> {
    config: &'a Config,
    selection: &'a Selection,
    files: Vec<PathBuf>,
}

/// What the domain files come to.
pub(super) struct Planned {
    /// The requests to make, file by file.
    pub(super) jobs: Vec<Vec<Job>>,
    /// What is wrong with records, or keeps them from being read at all, each with its file.
    pub(super) unreadable: Vec<(PathBuf, Finding)>,
    /// The files that were read.
    pub(super) files: Vec<ReadFile>,
    /// What is not asked for.
    pub(super) left_out: LeftOut,
}

/// A domain file that was read.
pub(super) struct ReadFile {
    /// Its host.
    pub(super) host: String,
    /// Its path from the root of the repository, with `/`.
    pub(super) name: Arc<str>,
    /// What was not understood in it. Where there is nothing, what it does not name is gone.
    pub(super) mistakes: Vec<Mistake>,
}

impl<'a> Domains<'a> {
    pub(super) fn list(config: &'a Config, selection: &'a Selection) -> anyhow::Result<Self> {
        Ok(Self {
            config,
            selection,
            files: config.open_database()?.files().to_vec(),
        })
    }

    /// The hosts that can have jobs.
    pub(super) fn hosts(&self) -> Vec<String> {
        let hosts = self.files.iter().map(|path| urldb_format::host_of(path));
        hosts
            .filter(|host| self.selection.wants_domain(host))
            .collect()
    }

    /// Reads one file after the other.
    pub(super) fn plan(&self, options: PlanOptions, known: &impl Known) -> anyhow::Result<Planned> {
        let mut planned = Planned {
            jobs: vec![],
            unreadable: vec![],
            files: vec![],
            left_out: LeftOut::default(),
        };
        for path in &self.files {
            let parsed = DomainFile::read(path)?;
            let file = parsed.file;
            planned.left_out.count(&file, self.selection);
            if !self.selection.wants_domain(file.host()) {
                continue;
            }
            let name: Arc<str> = self.config.relative_name(path).into();
            let mut errors = parsed.findings;
            errors.extend(urldb_format::lint_values(&file));
            errors.retain(|finding| finding.severity == Severity::Error);
            planned.files.push(ReadFile {
                host: file.host().to_owned(),
                name: Arc::clone(&name),
                mistakes: mistakes(&file, &name, &errors),
            });
            let errors = errors.into_iter().map(|finding| (path.clone(), finding));
            planned.unreadable.extend(errors);
            let jobs = urldb_verdict::plan::jobs_of(&file, &name, self.selection, options, known);
            if !jobs.is_empty() {
                planned.jobs.push(jobs);
            }
        }
        // A typo in a filter must not pass for a good result.
        anyhow::ensure!(
            !planned.jobs.is_empty() || self.selection.is_everything(),
            "no record is selected; `urldb list` with the same options shows what there is"
        );
        Ok(planned)
    }
}

/// The hosts whose files were understood as a whole: what these do not name is gone.
pub(super) fn understood(files: &[ReadFile]) -> Vec<String> {
    let whole = files.iter().filter(|file| file.mistakes.is_empty());
    whole.map(|file| file.host.clone()).collect()
}

/// What was found in a file, as the report has it.
fn mistakes(file: &DomainFile, name: &str, findings: &[Finding]) -> Vec<Mistake> {
    if findings.is_empty() {
        return vec![];
    }
    let text = file.text();
    let lines: Vec<&str> = text.lines().collect();
    let text_of = |line: usize| {
        let text = lines
            .get(line.saturating_sub(1))
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
