//! What a workflow of GitHub Actions shows: annotations, and a job summary.

use std::fs::OpenOptions;
use std::io::{self, Write};

use anyhow::Context as _;
use data_encoding::HEXLOWER;
use urldb_render::{Scope, annotations, markdown};

use super::outcome::complete_message;
use super::style::ReportFormat;
use crate::ambient::Ambient;
use crate::notify::Standing;
use crate::run::Outcome;

/// While this lives, GitHub's runner takes no line of the output for a workflow command.
pub(crate) struct CommandsStopped(String);

impl CommandsStopped {
    /// Writes `::stop-commands::TOKEN`, with a token that no server can guess.
    pub(crate) fn new(ambient: Ambient) -> io::Result<Self> {
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
    standings: &[Standing],
    format: ReportFormat,
) -> anyhow::Result<()> {
    let message = complete_message(outcome, Scope::Run, standings);
    let annotations = annotations(&message);
    match format {
        ReportFormat::Human => io::stdout().write_all(annotations.as_bytes())?,
        // The report is the same annotations.
        ReportFormat::Github => {}
        _ => io::stderr().write_all(annotations.as_bytes())?,
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") else {
        return Ok(());
    };
    let late = outcome
        .late
        .iter()
        .map(|late| format!("\n**Note:** {late}.\n"));
    let summary = markdown(&message) + &late.collect::<String>();
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(summary.as_bytes()))
        .with_context(|| format!("cannot write the job summary {}", path.display()))
}
