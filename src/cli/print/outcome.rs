//! A run's outcome, printed.

use std::collections::HashSet;
use std::io::{self, Write};

use serde::Serialize;
use urldb_protocol::{AffectedUrl, Envelope, Evidence, Finding, Incident, JobResult};
use urldb_render::{Deliveries, Message, Scope};
use urldb_text::sanitize;

use super::attempts::AttemptLog;
use super::findings::write_mistake;
use super::style::{self, DIM, ReportFormat, paint};
use super::{deliveries, junit, lines, output, sarif};
use crate::ambient::Ambient;
use crate::cli::Context;
use crate::notify::NotifierStatus;
use crate::run::Outcome;

/// Prints an outcome before any delivery: its findings on standard output, the errors of the run
/// on standard error. Forms that tell of deliveries come with [`print_delivered`].
pub(crate) fn print(
    outcome: &Outcome,
    scope: Scope<'_>,
    attempts: &AttemptLog,
    format: ReportFormat,
    context: &Context,
) -> anyhow::Result<()> {
    if format != ReportFormat::Human {
        // The report on standard output is for programs; people read standard error.
        attempts.write(&mut output::stderr())?;
    }
    match format {
        ReportFormat::Human => {
            let mut out = output::stdout();
            attempts.write(&mut out)?;
            write_notes(&mut out, outcome, context)?;
            // A mail server that hangs keeps no findings back.
            let message = Message {
                notified: None,
                ..composed(outcome, scope, &Deliveries::default())
            };
            let text = urldb_render::terminal(&message, context.terminal_options());
            out.write_all(text.as_bytes())?;
        }
        ReportFormat::Json => {
            write_mistakes(&mut output::stderr(), outcome)?;
            write_json(&mut output::stdout(), outcome)?;
        }
        ReportFormat::Jsonl => {
            write_mistakes(&mut output::stderr(), outcome)?;
            lines::write(&mut output::stdout(), &outcome.envelope)?;
        }
        ReportFormat::Junit => {
            let mut out = io::BufWriter::new(output::stdout());
            let results = outcome.results.as_deref().unwrap_or_default();
            junit::write(&mut out, &outcome.envelope, results)?;
            out.flush()?;
        }
        ReportFormat::Sarif => {
            sarif::write(&mut output::stdout(), &outcome.envelope, &outcome.troubles)?;
        }
        ReportFormat::Markdown | ReportFormat::Github => {}
    }
    print_troubles(&outcome.troubles);
    Ok(())
}

/// Prints delivered and waiting messages, and the report in the formats that contain them.
pub(crate) fn print_delivered(
    outcome: &Outcome,
    scope: Scope<'_>,
    statuses: &[NotifierStatus],
    format: ReportFormat,
    context: &Context,
) -> anyhow::Result<()> {
    let message = complete_message(outcome, scope, statuses);
    match format {
        ReportFormat::Human if !context.quiet => {
            let text = urldb_render::terminal_notified(&message, context.terminal_options());
            output::stdout().write_all(text.as_bytes())?;
        }
        ReportFormat::Markdown => {
            let text = super::github::settings(outcome) + &urldb_render::markdown(&message);
            output::write_bytes(|out| Ok(out.write_all(text.as_bytes())?))?;
        }
        ReportFormat::Github => {
            let text = annotated(outcome, scope, statuses);
            output::write_bytes(|out| Ok(out.write_all(text.as_bytes())?))?;
        }
        _ => {}
    }
    deliveries::print_statuses(statuses, (Ambient::SYSTEM.now)(), context);
    Ok(())
}

/// The content of the report, with its deliveries and the errors of the run.
pub(super) fn complete_message(
    outcome: &Outcome,
    scope: Scope<'_>,
    statuses: &[NotifierStatus],
) -> Message {
    let mut deliveries = deliveries::deliveries(statuses, (Ambient::SYSTEM.now)());
    deliveries.errors.splice(0..0, outcome.troubles.clone());
    composed(outcome, scope, &deliveries)
}

/// The annotations of the report. They mark no line of a muted URL.
pub(super) fn annotated(
    outcome: &Outcome,
    scope: Scope<'_>,
    statuses: &[NotifierStatus],
) -> String {
    let mut deliveries = deliveries::deliveries(statuses, (Ambient::SYSTEM.now)());
    deliveries.errors.splice(0..0, outcome.troubles.clone());
    let mut envelope = outcome.envelope.clone();
    let muted: HashSet<String> = outcome
        .envelope
        .findings
        .iter()
        .filter(|finding| finding.muted)
        .map(Finding::name)
        .collect();
    envelope
        .incidents
        .retain_mut(|incident| leave_out(incident, &muted));
    envelope.findings.retain(|finding| !finding.muted);
    urldb_render::annotations(&urldb_render::compose(&envelope, scope, &deliveries))
}

/// Leaves these URLs out of an incident. Returns false if it has no others.
fn leave_out(incident: &mut Incident, muted: &HashSet<String>) -> bool {
    let is_muted = |url: &AffectedUrl| {
        url.muted || muted.contains(&format!("{}{}", url.url, url.variant_suffix()))
    };
    if !incident.urls.iter().any(is_muted) {
        return true;
    }
    incident.urls.retain(|url| !is_muted(url));
    let shown = &incident.evidence;
    if !incident.urls.iter().any(|url| shown.is_about(url)) {
        incident.evidence = Evidence::default();
    }
    !incident.urls.is_empty()
}

fn composed(outcome: &Outcome, scope: Scope<'_>, deliveries: &Deliveries) -> Message {
    let mut message = urldb_render::compose(&outcome.envelope, scope, deliveries);
    if let Scope::PullRequest { .. } = scope {
        let results = outcome.results.as_deref().unwrap_or_default();
        message.kept = urldb_render::kept_promises(&outcome.envelope, results);
    }
    message
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
    outcome
        .notes
        .iter()
        .chain(&outcome.late)
        .try_for_each(|note| writeln!(out, "{}", paint(DIM, sanitize(note))))
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
    outcome
        .envelope
        .mistakes
        .iter()
        .try_for_each(|mistake| write_mistake(out, mistake))
}
