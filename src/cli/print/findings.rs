//! Findings and mistakes in files, in the form that editors and terminals make clickable.

use std::io::{self, Write};

use anstyle::Style;
use urldb_protocol::Mistake;
use urldb_text::{Excerpt, Finding, Severity, sanitize};

use super::style::{BAD, DIM, WARN, paint};
use crate::cli::Context;

pub(crate) fn write_finding(
    out: &mut impl Write,
    context: &Context,
    finding: &Finding,
) -> io::Result<()> {
    let file = finding
        .file
        .as_deref()
        .map(|file| context.shown(file))
        .unwrap_or_default();
    let Finding {
        line,
        column,
        message,
        ..
    } = finding;
    let message = sanitize(message);
    let code = paint(of_severity(finding.severity), finding.code);
    writeln!(out, "{file}:{line}:{column}: {code}: {message}")?;
    write_help(out, finding.help.as_deref())?;
    finding
        .excerpt
        .iter()
        .flat_map(Excerpt::lines)
        .try_for_each(|line| writeln!(out, "  {line}"))
}

/// Writes a mistake of a report. Each is an error, and has no excerpt.
pub(crate) fn write_mistake(out: &mut impl Write, mistake: &Mistake) -> io::Result<()> {
    let Mistake {
        file,
        line,
        column,
        message,
        ..
    } = mistake;
    let (file, message) = (sanitize(file), sanitize(message));
    let code = paint(BAD, sanitize(&mistake.code));
    writeln!(out, "{file}:{line}:{column}: {code}: {message}")?;
    write_help(out, mistake.help.as_deref())
}

fn write_help(out: &mut impl Write, help: Option<&str>) -> io::Result<()> {
    match help {
        Some(help) => writeln!(out, "  {} {}", paint(DIM, "help:"), sanitize(help)),
        None => Ok(()),
    }
}

fn of_severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => WARN,
    }
}
