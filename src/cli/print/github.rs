//! What a workflow of GitHub Actions shows: annotations, and a job summary.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write};

use anyhow::Context as _;
use data_encoding::HEXLOWER;
use urldb_protocol::{Finding, Mistake, Severity};
use urldb_text::sanitize;

use crate::ambient::Ambient;
use crate::run::Outcome;

/// A step shows no more than this many annotations of a kind; the rest is in the summary.
const ANNOTATIONS: usize = 10;

/// A summary may have 1 MiB; this many findings, and as many mistakes, stay well below.
const FINDINGS: usize = 1000;

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

/// Writes annotations to standard output, and the summary to where the runner wants it.
pub(crate) fn write(outcome: &Outcome) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for mistake in outcome.envelope.mistakes.iter().take(ANNOTATIONS) {
        writeln!(out, "{}", file_annotation(mistake))?;
    }
    for finding in outcome
        .envelope
        .findings
        .iter()
        .filter(|finding| !finding.pending)
        .take(ANNOTATIONS)
    {
        writeln!(out, "{}", annotation(finding))?;
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") else {
        return Ok(());
    };
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(summary(outcome).as_bytes()))
        .with_context(|| format!("cannot write the job summary {}", path.display()))
}

/// Of a record that could not be read as it was meant.
fn file_annotation(mistake: &Mistake) -> String {
    format!(
        "::error file={},line={},col={},title={}::{}",
        property(&mistake.file),
        mistake.line,
        mistake.column,
        property(&mistake.code),
        data(&mistake.message)
    )
}

fn annotation(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let file = property(&finding.file);
    let title = property(&finding.code);
    let text = data(&format!("{}: {}", finding.url, finding.message));
    format!(
        "::{level} file={file},line={},title={title}::{text}",
        finding.line
    )
}

/// Text of a workflow command: sanitized, so that it cannot end one command and begin another, and
/// with the escape that a command takes off again.
fn data(text: &str) -> String {
    sanitize(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn summary(outcome: &Outcome) -> String {
    let envelope = &outcome.envelope;
    let coverage = &envelope.summary.coverage;
    let mut text = format!(
        "## urldb\n\nChecked {} of {} URLs; {} of {} static verified.\n",
        coverage.checked, coverage.due, coverage.static_verified, coverage.static_due
    );
    if let Some(late) = &outcome.late {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n**Note:** {late}.");
    }
    if !envelope.mistakes.is_empty() {
        text.push_str("\n| mistake | record | what is wrong |\n|---|---|---|\n");
    }
    // Writing to a string cannot fail.
    for mistake in envelope.mistakes.iter().take(FINDINGS) {
        let place = format!("{}:{}", mistake.file, mistake.line);
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            mistake.code,
            cell(&place),
            cell(&mistake.message)
        );
    }
    write_more(&mut text, envelope.mistakes.len());
    if !envelope.findings.is_empty() {
        text.push_str("\n| finding | URL | record | observed |\n|---|---|---|---|\n");
    }
    for finding in envelope.findings.iter().take(FINDINGS) {
        let doubt = if finding.pending {
            " (not confirmed yet)"
        } else {
            ""
        };
        let place = format!("{}:{}", finding.file, finding.line);
        let _ = writeln!(
            text,
            "| {}{doubt} | {} | {} | {} |",
            finding.code,
            cell(&finding.url),
            cell(&place),
            cell(&finding.message)
        );
    }
    write_more(&mut text, envelope.findings.len());
    text
}

fn write_more(text: &mut String, total: usize) {
    let more = total.saturating_sub(FINDINGS);
    if more > 0 {
        let _ = writeln!(text, "\n… and {more} more.");
    }
}

/// Text in a cell of a Markdown table: as code, so that nothing in it is markup.
fn cell(text: &str) -> String {
    let text = sanitize(text).replace('`', "'").replace('|', "\\|");
    format!("`` {text} ``")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_within_its_command_and_its_cell() {
        assert_eq!(data("a\r\n::error::x%"), "a\u{fffd}\u{fffd}::error::x%25");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
        assert_eq!(cell("a|b`c\n"), "`` a\\|b'c\u{fffd} ``");
    }
}
