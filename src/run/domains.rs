//! From the database to the jobs of a run.
//!
//! A domain file is in memory only while its jobs are planned: a database may be far larger than
//! what is kept of it.

use std::path::PathBuf;
use std::sync::Arc;

use urldb_format::{DomainFile, Finding, Severity};
use urldb_protocol::Mistake;

use crate::config::Config;
use crate::plan::{self, Job, Known, LeftOut, Purpose, Selection};

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
    /// The hosts whose files were understood as a whole: what these do not name is gone.
    pub(super) understood: Vec<String>,
    /// What is not asked for.
    pub(super) left_out: LeftOut,
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
    pub(super) fn plan(&self, purpose: Purpose, known: &impl Known) -> anyhow::Result<Planned> {
        let mut planned = Planned {
            jobs: vec![],
            unreadable: vec![],
            understood: vec![],
            left_out: LeftOut::default(),
        };
        for path in &self.files {
            let parsed = DomainFile::read(path)?;
            let file = parsed.file;
            planned.left_out.count(&file, self.selection);
            if !self.selection.wants_domain(file.host()) {
                continue;
            }
            let findings = parsed.findings.into_iter();
            let errors: Vec<_> = findings
                .chain(urldb_format::lint_values(&file))
                .filter(|finding| finding.severity == Severity::Error)
                .map(|finding| (path.clone(), finding))
                .collect();
            if errors.is_empty() {
                planned.understood.push(file.host().to_owned());
            }
            let name: Arc<str> = self.config.relative_name(path).into();
            let mistakes = errors.iter().map(|(_, finding)| mistake(&name, finding));
            planned.left_out.mistakes.extend(mistakes);
            planned.unreadable.extend(errors);
            let jobs = plan::jobs_of(&file, &name, self.selection, purpose, known);
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

/// A finding as the report has it.
fn mistake(file: &str, finding: &Finding) -> Mistake {
    Mistake {
        code: finding.code.to_string(),
        file: file.to_owned(),
        line: finding.line,
        column: finding.column,
        message: finding.message.clone(),
        help: finding.help.clone(),
    }
}
