//! What notifiers have delivered, and what waits.

use std::io::{self, Write};

use jiff::Timestamp;
use urldb_render::{Deliveries, StuckMessages, Text, numbers};
use urldb_text::sanitize;

use super::output;
use super::style::{BAD, DIM, WARN, count, paint};
use crate::notify::{Message, Standing};

/// Most recipients in one line.
const MOST_RECIPIENTS: usize = 5;

/// Bold, as commands are.
const COMMAND: anstyle::Style = anstyle::Style::new().bold();

/// Prints what waits and what went wrong, on standard error: every run shows this, also a quiet one.
pub(crate) fn print_faults(standings: &[Standing], now: Timestamp) {
    let mut err = output::stderr();
    for standing in standings {
        // A closed standard error is no error.
        let _ = write_faults(&mut err, standing, now);
    }
}

/// What was delivered and what waits, for the report.
pub(crate) fn deliveries(standings: &[Standing]) -> Deliveries {
    Deliveries {
        delivered: standings.iter().filter_map(delivered).collect(),
        stuck: standings.iter().filter_map(stuck).collect(),
    }
}

/// `mail to 2 recipients`; another notifier says in its own words what it has done.
fn delivered(standing: &Standing) -> Option<Text> {
    let delivered = &standing.delivered;
    if delivered.is_empty() {
        return None;
    }
    if standing.kind == "email" {
        let recipients = count(delivered.len() as u64, "recipient");
        return Some(Text::from(format!("mail to {recipients}")));
    }
    let mut messages: Vec<&str> = delivered.iter().map(|done| done.message.as_str()).collect();
    messages.dedup();
    let name = Text::new().outside(&standing.notifier);
    Some(name.own(": ").outside(&messages.join(", ")))
}

fn stuck(standing: &Standing) -> Option<StuckMessages> {
    let since = standing.waiting_since()?;
    let fault = standing.fault();
    let cause = fault.map_or("not tried yet", |fault| fault.message.as_str());
    let reply = fault.and_then(|fault| fault.replies.last());
    let advice = fault.and_then(|fault| fault.advice.as_deref());
    Some(StuckMessages {
        notifier: standing.notifier.clone(),
        kind: channel(standing.kind).to_owned(),
        cause: cause.to_owned(),
        reply: reply.cloned().unwrap_or_default(),
        waiting: standing.waiting.len() as u64,
        since: Some(since),
        advice: advice.map_or_else(Text::new, |advice| Text::new().outside(advice)),
    })
}

/// Prints the errors besides the deliveries, on standard error.
pub(crate) fn print_errors(standing: &Standing) {
    // A closed standard error is no error.
    let _ = write_errors(&mut output::stderr(), standing);
}

fn write_errors(out: &mut impl Write, standing: &Standing) -> io::Result<()> {
    let name = &standing.notifier;
    for error in &standing.errors {
        let error = sanitize(error);
        writeln!(out, "{} {name}: {error}", paint(BAD, "error:"))?;
    }
    Ok(())
}

fn write_faults(out: &mut impl Write, standing: &Standing, now: Timestamp) -> io::Result<()> {
    let name = &standing.notifier;
    write_errors(out, standing)?;
    let Some(since) = standing.waiting_since() else {
        return Ok(());
    };
    let class = if standing.needs_action(now) {
        paint(BAD, "error:")
    } else {
        paint(WARN, "warning:")
    };
    let number = standing.waiting.len() as u64;
    let waiting = format!(
        "{}, since {}",
        count(number, "message"),
        moment_and_age(since, now)
    );
    if !standing.is_configured() {
        writeln!(
            out,
            "{class} {name}: urldb.toml has no [notify.{name}] for what waits in the outbox"
        )?;
        fact(out, "waiting", &waiting)?;
        let commands = standing.waiting.iter().map(|message| {
            (
                "to discard it",
                format!("urldb notify drop {name}/{}", message.id()),
            )
        });
        return write_commands(out, &commands.collect::<Vec<_>>());
    }
    let channel = channel(standing.kind);
    let Some(fault) = standing.fault() else {
        writeln!(out, "{class} {channel} ({name}) was not sent yet")?;
        return fact(out, "waiting", &waiting);
    };
    let message = sanitize(&fault.message);
    writeln!(out, "{class} {channel} ({name}) was not sent: {message}")?;
    if let Some(reply) = fault.replies.last() {
        fact(out, "server", reply)?;
    }
    fact(out, "waiting", &waiting)?;
    fact(out, "for", &recipients(standing))?;
    if let Some(advice) = &fault.advice {
        fact(out, "advice", advice)?;
    }
    let kept = if number == 1 {
        "The message is kept"
    } else {
        "The messages are kept"
    };
    let next = if standing.waits_for_change() {
        format!("the next try follows a change of [notify.{name}], or `urldb notify retry`")
    } else {
        "every run tries again".to_owned()
    };
    writeln!(out, "  {kept}, and {next}.")?;
    write_commands(
        out,
        &[
            ("to test the settings", format!("urldb notify test {name}")),
            ("to send it now", format!("urldb notify retry {name}")),
        ],
    )
}

/// The recipients of what waits, each once.
fn recipients(standing: &Standing) -> String {
    let mut all: Vec<&str> = standing
        .waiting
        .iter()
        .flat_map(Message::waiting)
        .map(|delivery| delivery.to.as_str())
        .filter(|to| !to.is_empty())
        .collect();
    all.sort_unstable();
    all.dedup();
    let shown = all[..all.len().min(MOST_RECIPIENTS)].join(", ");
    match all.len().saturating_sub(MOST_RECIPIENTS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The word for the channel of a type of notifier.
pub(crate) fn channel(kind: &str) -> &str {
    match kind {
        "email" => "mail",
        other => other,
    }
}

/// Writes one fact; an empty one is left out.
pub(crate) fn fact(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    if value.is_empty() {
        return Ok(());
    }
    let name = paint(DIM, format!("{name:<8}"));
    writeln!(out, "  {name}  {}", sanitize(value))
}

/// Writes commands, each with its purpose.
pub(crate) fn write_commands(out: &mut impl Write, commands: &[(&str, String)]) -> io::Result<()> {
    let width = commands.iter().map(|(purpose, _)| purpose.len()).max();
    let width = width.unwrap_or_default();
    for (purpose, command) in commands {
        let command = paint(COMMAND, sanitize(command));
        writeln!(out, "  {purpose:<width$}  {command}")?;
    }
    Ok(())
}

/// `2026-11-24 04:17 UTC`, for lines that are not broken.
pub(crate) fn moment(time: Timestamp) -> String {
    numbers::with_spaces(&numbers::moment(time))
}

/// The moment, and in brackets its age, if that is at least a day.
fn moment_and_age(time: Timestamp, now: Timestamp) -> String {
    if now.duration_since(time).as_hours() < 24 {
        return moment(time);
    }
    let age = numbers::with_spaces(&numbers::age(time, now));
    format!("{} ({age})", moment(time))
}
