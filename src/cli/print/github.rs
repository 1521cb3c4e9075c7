//! Annotations and the job summary of a workflow of GitHub Actions.
#![expect(clippy::disallowed_methods, reason = "the runner names the file")]

use std::fs::OpenOptions;
use std::io::{self, Write};

use anyhow::Context as _;
use data_encoding::HEXLOWER;
use urldb_protocol::{Envelope, Incident};
use urldb_render::{Scope, markdown};

use super::outcome::{annotated, complete_message};
use super::style::ReportFormat;
use crate::ambient::Ambient;
use crate::cli::diff::settings_line;
use crate::environment;
use crate::notify::NotifierStatus;
use crate::run::Outcome;

/// While this lives, GitHub's runner takes no line of the output for a workflow command.
pub(crate) struct CommandsStopped(String);

impl CommandsStopped {
    /// Stops commands while a report for people is printed. A JSON document has no commands in it, and
    /// would have the lines that stop them.
    pub(crate) fn around_text(is_workflow: bool, format: ReportFormat) -> io::Result<Option<Self>> {
        let shows_text = is_workflow && format == ReportFormat::Human;
        shows_text.then(|| Self::new(Ambient::SYSTEM)).transpose()
    }

    /// Writes `::stop-commands::TOKEN`, with a token that no server can guess.
    fn new(ambient: Ambient) -> io::Result<Self> {
        let token = format!("urldb-{}", HEXLOWER.encode(&(ambient.random)()));
        writeln!(io::stdout(), "::stop-commands::{token}")?;
        Ok(Self(token))
    }
}

impl Drop for CommandsStopped {
    fn drop(&mut self) {
        // A closed output takes no commands.
        let _ = writeln!(io::stdout(), "::{}::", self.0);
    }
}

/// Writes annotations, and the summary to where the runner wants it. Runners read annotations from
/// standard error too, where they stand if standard output has a report for programs.
pub(crate) fn write(
    outcome: &Outcome,
    scope: Scope<'_>,
    statuses: &[NotifierStatus],
    format: ReportFormat,
) -> anyhow::Result<()> {
    let message = complete_message(outcome, scope, statuses);
    let annotations = annotated(outcome, scope, statuses);
    match format {
        ReportFormat::Human => io::stdout().write_all(annotations.as_bytes())?,
        // The report is the same annotations.
        ReportFormat::Github => {}
        _ => io::stderr().write_all(annotations.as_bytes())?,
    }
    append(
        "GITHUB_OUTPUT",
        &format!("news={}\n", has_bad_news(&outcome.envelope)),
    )?;
    let late = outcome
        .late
        .iter()
        .map(|late| format!("\n**Note:** {late}.\n"));
    let summary = settings(outcome) + &markdown(&message) + &late.collect::<String>();
    append("GITHUB_STEP_SUMMARY", &summary)
}

/// The first line of a summary, if a pull request changes urldb.toml.
pub(super) fn settings(outcome: &Outcome) -> String {
    outcome
        .settings
        .as_ref()
        .map_or_else(String::new, |changed| settings_line(changed) + "\n\n")
}

/// Whether something is wrong that no earlier run has told.
fn has_bad_news(envelope: &Envelope) -> bool {
    let mut affected = envelope.incidents.iter().flat_map(Incident::affected);
    affected.any(|url| url.new && !url.muted) || envelope.mistakes.iter().any(|mistake| mistake.new)
}

/// Adds to the file that the runner names in a variable; does nothing without a runner.
fn append(variable: &str, text: &str) -> anyhow::Result<()> {
    let Some(path) = environment::os_variable(variable) else {
        return Ok(());
    };
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {variable}, {}", path.display()))
}
