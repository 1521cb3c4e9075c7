//! A run's outcome, printed.

use super::output;
use std::io::{self, Write};

use serde::Serialize;
use urldb_protocol::{Envelope, JobResult};
use urldb_render::{Deliveries, Message, Scope, TerminalOptions};
use urldb_text::sanitize;

use super::attempts::AttemptLog;
use super::standing;
use super::style::{self, DIM, ReportFormat, paint};
use super::{junit, lines, sarif};
use crate::ambient::Ambient;
use crate::cli::Context;
use crate::notify::Standing;
use crate::run::Outcome;

/// Widest lines of a report, in columns: longer ones are hard to read.
const WIDEST: usize = 120;

/// Narrowest lines of a report, in columns.
const NARROWEST: usize = 40;

/// Columns where the output is no terminal.
const DEFAULT_WIDTH: usize = 80;

/// Prints an outcome: what was found on standard output, what went wrong on standard error.
pub(crate) fn print(
    outcome: &Outcome,
    scope: Scope<'_>,
    attempts: &AttemptLog,
    format: ReportFormat,
    context: &Context,
) -> anyhow::Result<()> {
    // Deliveries come later: people see the findings first.
    let message = || Message {
        notified: None,
        ..message(outcome, scope, &Deliveries::default())
    };
    if format != ReportFormat::Human {
        // The report is for programs; this is for whoever started them.
        attempts.write(&mut output::stderr())?;
    }
    match format {
        ReportFormat::Human => {
            let mut out = output::stdout();
            attempts.write(&mut out)?;
            write_notes(&mut out, outcome, context)?;
            let text = urldb_render::terminal(&message(), terminal_options(context));
            out.write_all(text.as_bytes())?;
        }
        ReportFormat::Json => {
            write_mistakes(&mut output::stderr(), outcome)?;
            write_json(&mut io::stdout().lock(), outcome)?;
        }
        ReportFormat::Jsonl => {
            write_mistakes(&mut output::stderr(), outcome)?;
            lines::write(&mut io::stdout().lock(), &outcome.envelope)?;
        }
        ReportFormat::Junit => {
            let mut out = io::BufWriter::new(output::stdout());
            let results = outcome.results.as_deref().unwrap_or_default();
            junit::write(&mut out, &outcome.envelope, results)?;
            out.flush()?;
        }
        ReportFormat::Sarif => {
            sarif::write(
                &mut io::stdout().lock(),
                &outcome.envelope,
                &outcome.troubles,
            )?;
        }
        ReportFormat::Markdown => {
            let text = urldb_render::markdown(&message());
            io::stdout().lock().write_all(text.as_bytes())?;
        }
        ReportFormat::Github => {
            let text = urldb_render::annotations(&message());
            io::stdout().lock().write_all(text.as_bytes())?;
        }
    }
    print_troubles(&outcome.troubles);
    Ok(())
}

/// Prints what notifiers have delivered and what waits, after the outcome.
pub(crate) fn print_standings(
    outcome: &Outcome,
    standings: &[Standing],
    format: ReportFormat,
    context: &Context,
) -> io::Result<()> {
    if format == ReportFormat::Human && !context.quiet {
        let message = message(outcome, Scope::Run, &standing::deliveries(standings));
        let text = urldb_render::terminal_notified(&message, terminal_options(context));
        output::stdout().write_all(text.as_bytes())?;
    }
    standing::print_faults(standings, (Ambient::SYSTEM.now)());
    Ok(())
}

/// The content of the report.
pub(super) fn message(outcome: &Outcome, scope: Scope<'_>, deliveries: &Deliveries) -> Message {
    urldb_render::compose(&outcome.envelope, scope, deliveries)
}

/// Columns of a report.
pub(crate) fn terminal_width() -> usize {
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    width.unwrap_or(DEFAULT_WIDTH).clamp(NARROWEST, WIDEST)
}

pub(crate) fn terminal_options(context: &Context) -> TerminalOptions {
    TerminalOptions {
        width: terminal_width(),
        quiet: context.quiet,
        all_urls: context.verbose,
    }
}

fn print_troubles(troubles: &[String]) {
    for trouble in troubles {
        style::print_error(&anyhow::anyhow!("{trouble}"));
    }
}

fn write_notes(out: &mut impl Write, outcome: &Outcome, context: &Context) -> io::Result<()> {
    if context.quiet {
        return Ok(());
    }
    let mut notes = outcome.notes.iter().chain(&outcome.late);
    notes.try_for_each(|note| writeln!(out, "{}", paint(DIM, sanitize(note))))
}

/// The envelope, and the result of every job beside it.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    envelope: &'a Envelope,
    results: &'a [JobResult],
}

fn write_json(out: &mut impl Write, outcome: &Outcome) -> anyhow::Result<()> {
    let document = Document {
        envelope: &outcome.envelope,
        results: outcome.results.as_deref().unwrap_or_default(),
    };
    output::write_json_pretty(out, &document)?;
    Ok(())
}

fn write_mistakes(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    let mut mistakes = outcome.envelope.mistakes.iter();
    mistakes.try_for_each(|mistake| style::write_mistake(out, mistake))
}
