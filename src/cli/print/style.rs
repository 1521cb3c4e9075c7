//! Colours and lines for a terminal; anstream takes the colours out where there is none.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use urldb_text::{sanitize, sanitize_lines};

use super::output;
use crate::explain::explain;

/// The form of the output of a command with one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
}

/// The form of the output of a command that lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    Human,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Text for a terminal.
    Human,
    /// One document with the report and the result of every URL.
    Json,
    /// One object a line: the result of each URL when it is final, then the report.
    Jsonl,
    /// Test results, for CI servers: a test for each URL.
    Junit,
    /// Results of a static analysis (SARIF 2.1.0), for code scanning.
    Sarif,
    /// The job summary of a workflow.
    Markdown,
    /// Annotations of GitHub Actions.
    Github,
}

/// Something is broken.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something is worth knowing.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Something is as it should be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Something is less important than the rest.
pub(crate) const DIM: Style = Style::new().dimmed();

/// Widest lines of a report, in columns: longer ones are hard to read.
const WIDEST: usize = 120;

/// Narrowest lines of a report, in columns.
const NARROWEST: usize = 40;

/// Columns where the output is no terminal.
const DEFAULT_WIDTH: usize = 80;

/// Columns of a report.
pub(crate) fn terminal_width() -> usize {
    terminal_size::terminal_size()
        .map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0))
        .clamp(NARROWEST, WIDEST)
}

pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// An error and its causes, on standard error.
pub(crate) fn print_error(error: &anyhow::Error) {
    // A closed standard error is no error.
    let _ = writeln!(
        output::stderr(),
        "{} {}",
        paint(BAD, "error:"),
        sanitize_lines(&explain(error))
    );
}

/// A warning, on standard error.
pub(crate) fn print_warning(text: impl Display) {
    let text = text.to_string();
    let text = sanitize_lines(&text);
    let _ = writeln!(output::stderr(), "{} {text}", paint(WARN, "warning:"));
}

/// A remark about the command itself, on standard error.
pub(crate) fn print_note(text: &str) {
    let _ = writeln!(
        output::stderr(),
        "{} {}",
        paint(DIM, "note:"),
        sanitize(text)
    );
}

/// The warning about a record that a command passes over, since it has no valid URL.
pub(crate) fn print_invalid_record(file: &str, line: usize) {
    print_warning(format!(
        "{file}:{line}: the record has no valid URL; `urldb lint` names the mistake"
    ));
}

/// `3 added, 1 known`: the numbers above zero.
pub(crate) fn sum(parts: &[(u64, &str)]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    if parts.is_empty() {
        "nothing".to_owned()
    } else {
        parts.join(", ")
    }
}

/// `1 URL`, `2 URLs`.
pub(crate) fn count(number: u64, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}
