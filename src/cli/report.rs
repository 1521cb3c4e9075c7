//! A run's outcome, printed.

use std::io::{self, Write};

use serde::Serialize;
use urldb_protocol::{Envelope, Finding, JobResult, Severity, State, Summary};

use super::Context;
use super::check::Format;
use super::style::{self, BAD, DIM, GOOD, WARN, count, paint};
use crate::run::Outcome;

/// Prints an outcome: what was found on standard output, what went wrong on standard error.
pub(super) fn print(outcome: &Outcome, format: Format, context: &Context) -> anyhow::Result<()> {
    match format {
        Format::Human => {
            let mut out = anstream::stdout().lock();
            write_unreadable(&mut out, outcome, context)?;
            write_human(&mut out, outcome, context)?;
        }
        Format::Json => {
            // The document is about URLs that were asked for; this is about those that could not be.
            write_unreadable(&mut anstream::stderr().lock(), outcome, context)?;
            write_json(&mut io::stdout().lock(), outcome)?;
        }
    }
    for trouble in &outcome.troubles {
        style::print_error(&anyhow::anyhow!("{trouble}"));
    }
    Ok(())
}

/// The envelope, and the result of every job beside it.
#[derive(Serialize)]
struct Document<'a> {
    protocol: u32,
    run: &'a urldb_protocol::RunInfo,
    findings: &'a [Finding],
    changes: &'a [urldb_protocol::Change],
    summary: &'a Summary,
    results: &'a [JobResult],
}

fn write_json(out: &mut impl Write, outcome: &Outcome) -> anyhow::Result<()> {
    let Envelope {
        protocol,
        run,
        findings,
        changes,
        summary,
    } = &outcome.envelope;
    let results = outcome.results.as_deref().unwrap_or_default();
    let document = Document {
        protocol: *protocol,
        run,
        findings,
        changes,
        summary,
        results,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

fn write_unreadable(out: &mut impl Write, outcome: &Outcome, context: &Context) -> io::Result<()> {
    let mut unreadable = outcome.unreadable.iter();
    unreadable
        .try_for_each(|(path, finding)| style::write_finding(out, &context.shown(path), finding))
}

fn write_human(out: &mut impl Write, outcome: &Outcome, context: &Context) -> io::Result<()> {
    for finding in &outcome.envelope.findings {
        write_finding(out, finding)?;
    }
    for change in outcome
        .envelope
        .changes
        .iter()
        .filter(|change| change.to == State::Ok)
    {
        writeln!(
            out,
            "{}: {} (was {})",
            paint(GOOD, "recovered"),
            change.url,
            change.from
        )?;
    }
    if context.quiet {
        return Ok(());
    }
    writeln!(out, "{}", summary_line(&outcome.envelope.summary))?;
    for note in &outcome.notes {
        writeln!(out, "{}", paint(DIM, note))?;
    }
    Ok(())
}

fn write_finding(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let style = if finding.severity == Severity::Error && !finding.pending {
        BAD
    } else {
        WARN
    };
    let doubt = if finding.pending {
        " (not confirmed yet)"
    } else {
        ""
    };
    writeln!(
        out,
        "{}{doubt}: {}",
        paint(style, &finding.code),
        finding.url
    )?;
    writeln!(
        out,
        "  {} {}:{}",
        paint(DIM, "-->"),
        finding.file,
        finding.line
    )?;
    match (&finding.expected, &finding.observed) {
        (Some(expected), Some(observed)) => {
            writeln!(out, "  promised: {expected}")?;
            writeln!(out, "  observed: {observed}")
        }
        _ => writeln!(out, "  {}", finding.message),
    }
}

/// `checked 7 of 7 URLs: 5 ok, 2 gone; 4 of 5 static verified; 1.2 MiB in 0.8 s`.
pub(super) fn summary_line(summary: &Summary) -> String {
    let coverage = &summary.coverage;
    let states: Vec<String> = summary
        .states
        .iter()
        .map(|(state, number)| {
            let style = match state {
                State::Ok => GOOD,
                state if state.is_broken() => BAD,
                _ => WARN,
            };
            paint(style, format!("{number} {state}"))
        })
        .collect();
    let states = if states.is_empty() {
        "nothing to check".to_owned()
    } else {
        states.join(", ")
    };
    let seconds = std::time::Duration::from_millis(coverage.milliseconds).as_secs_f64();
    format!(
        "checked {} of {}: {states}; {} of {} static verified, {} in {seconds:.1} s",
        coverage.checked,
        count(coverage.due, "URL"),
        coverage.static_verified,
        coverage.static_due,
        indicatif::BinaryBytes(coverage.bytes),
    )
}
