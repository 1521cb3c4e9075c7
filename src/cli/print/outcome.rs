//! A run's outcome, printed.

use super::output;
use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{Envelope, FixedMistake, JobResult, State, Summary};
use urldb_text::sanitize;

use super::attempts::AttemptLog;
use super::findings;
use super::standing;
use super::style::Format;
use super::style::{self, BAD, DIM, GOOD, WARN, count, paint};
use crate::cli::Context;
use crate::notify::Standing;
use crate::run::Outcome;

/// Prints an outcome: what was found on standard output, what went wrong on standard error.
pub(crate) fn print(
    outcome: &Outcome,
    attempts: &AttemptLog,
    format: Format,
    context: &Context,
) -> anyhow::Result<()> {
    match format {
        Format::Human => {
            let mut out = output::stdout();
            attempts.write(&mut out)?;
            write_mistakes(&mut out, outcome)?;
            write_human(&mut out, outcome, context)?;
        }
        Format::Json => {
            // The document is for programs; this is for whoever started them.
            let mut err = output::stderr();
            attempts.write(&mut err)?;
            write_mistakes(&mut err, outcome)?;
            write_json(&mut io::stdout().lock(), outcome)?;
        }
    }
    print_troubles(&outcome.troubles);
    Ok(())
}

/// Prints what notifiers have delivered and what waits, after the outcome.
pub(crate) fn print_standings(
    standings: &[Standing],
    format: Format,
    context: &Context,
) -> io::Result<()> {
    if format == Format::Human && !context.quiet {
        standing::write_delivered(&mut output::stdout(), standings)?;
    }
    standing::print_faults(standings, Timestamp::now());
    Ok(())
}

fn print_troubles(troubles: &[String]) {
    for trouble in troubles {
        style::print_error(&anyhow::anyhow!("{trouble}"));
    }
}

fn write_notes(out: &mut impl Write, notes: &[String]) -> io::Result<()> {
    let mut notes = notes.iter();
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

fn write_human(out: &mut impl Write, outcome: &Outcome, context: &Context) -> io::Result<()> {
    findings::write(out, &outcome.envelope.findings, context.verbose)?;
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
            sanitize(&change.url),
            change.from
        )?;
    }
    for FixedMistake { code, file, text } in &outcome.envelope.fixed {
        let (code, file, text) = (sanitize(code), sanitize(file), sanitize(text));
        writeln!(
            out,
            "{}: {file}: {code}, in `{text}`",
            paint(GOOD, "mended")
        )?;
    }
    if context.quiet {
        return Ok(());
    }
    write_notes(out, &outcome.notes)?;
    write_notes(out, outcome.late.as_slice())?;
    writeln!(out, "{}", summary_line(&outcome.envelope))
}

/// `checked 7 of 7 URLs: 5 ok, 2 gone; 4 of 5 static verified, 1.20 MiB hashed in 0.8 s; left out:
/// 3 deprecated`: what was looked at, and what was not and why.
fn summary_line(envelope: &Envelope) -> String {
    let Summary {
        states, coverage, ..
    } = &envelope.summary;
    let states: Vec<String> = states
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
    let left_out = match left_out(envelope) {
        reasons if reasons.is_empty() => String::new(),
        reasons => format!("; left out: {}", reasons.join(", ")),
    };
    let seconds = std::time::Duration::from_millis(coverage.milliseconds).as_secs_f64();
    format!(
        "checked {} of {}: {states}; {} of {} static verified, {} hashed in {seconds:.1} s{left_out}",
        coverage.checked,
        count(coverage.due, "URL"),
        coverage.static_verified,
        coverage.static_due,
        indicatif::BinaryBytes(coverage.bytes),
    )
}

/// What was not looked at, and what looking at it did not settle, by reason.
fn left_out(envelope: &Envelope) -> Vec<String> {
    let coverage = &envelope.summary.coverage;
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in &envelope.findings {
        if finding.code == State::Inconclusive.as_str() {
            let reason = finding.reason.as_deref().unwrap_or("inconclusive");
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let fixed = [
        ("not modified", coverage.not_modified),
        ("not selected", coverage.not_selected),
        ("deprecated", coverage.deprecated),
    ];
    fixed
        .into_iter()
        .chain(reasons)
        .filter(|(_, number)| *number > 0)
        .map(|(reason, number)| format!("{number} {reason}"))
        .collect()
}
