//! The outcome of a run.

use jiff::Timestamp;
use urldb_protocol::{Envelope, JobResult, Mistake};

use super::memory::IncidentMemory;
use crate::config::ChangedKeys;
use crate::exit::ExitCode;
use crate::explain::explain;
use crate::notify::{NotifierStatus, Notifiers, Outbox};

/// The outcome of a run.
pub struct Outcome {
    /// The report.
    pub envelope: Envelope,
    /// The result of every job, if [`RunOptions::results`] asked to keep them.
    ///
    /// [`RunOptions::results`]: super::RunOptions::results
    pub results: Option<Vec<JobResult>>,
    /// Errors besides the verdicts: the archive is full, a message was refused.
    pub troubles: Vec<String>,
    /// Successes that are worth a line.
    pub notes: Vec<String>,
    /// The delay of the run, if it began much later than runs usually do.
    pub late: Option<String>,
    /// The keys of urldb.toml that a pull request changes.
    pub settings: Option<ChangedKeys>,
    /// The exit code, by the table of docs/verdicts.md.
    pub exit_code: ExitCode,
    /// The messages that [`Outcome::deliver`] sends.
    pub(super) unsent: Option<UnsentMessages>,
}

/// The notifiers of a run, and the outbox with their messages.
pub(super) struct UnsentMessages {
    pub(super) notifiers: Notifiers,
    pub(super) outbox: Outbox,
    pub(super) now: fn() -> Timestamp,
    pub(super) memory: IncidentMemory,
}

/// Lines for people besides the report.
#[derive(Debug, Default)]
pub struct Messages {
    /// Errors, which make the run exit with 2.
    pub troubles: Vec<String>,
    /// Successes.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Delivers the messages of the run, and adds errors to the exit code. People should see the
    /// outcome before: a mail server may take minutes, or end the process.
    pub fn deliver(&mut self) -> anyhow::Result<Vec<NotifierStatus>> {
        let Some(UnsentMessages {
            notifiers,
            outbox,
            now,
            memory,
        }) = self.unsent.take()
        else {
            return Ok(vec![]);
        };
        let statuses = notifiers.deliver(&outbox, &self.envelope, now, &memory)?;
        if statuses.iter().any(|status| status.needs_action(now())) {
            self.exit_code = self.exit_code.max(ExitCode::Failure);
        }
        Ok(statuses)
    }
}

impl Messages {
    /// Adds these lines.
    pub(super) fn extend(&mut self, other: Self) {
        self.troubles.extend(other.troubles);
        self.notes.extend(other.notes);
    }

    /// Adds the error, if `result` is one.
    pub(super) fn add_failure(&mut self, result: anyhow::Result<()>) {
        self.troubles
            .extend(result.err().map(|error| explain(&error)));
    }
}

/// The exit code of a run: the most severe of its parts.
pub(super) fn combined(verdicts: ExitCode, mistakes: &[Mistake], troubles: &[String]) -> ExitCode {
    let files = if mistakes.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    };
    let work = if troubles.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Failure
    };
    verdicts.max(files).max(work)
}
