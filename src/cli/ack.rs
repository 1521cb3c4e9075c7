//! `urldb ack`: a person knows of an incident, and wants no reminder until a day.

use std::io::Write;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use urldb_protocol::{Ack, EventKind};
use urldb_render::numbers::{moment, with_spaces};
use urldb_text::sanitize;
use urldb_verdict::incident::{Event, EventUrl};

use super::Context;
use super::args::{CommitArgs, open_incident};
use super::print::output;
use crate::ambient::Ambient;
use crate::exit::ExitCode;
use crate::ledger::{IncidentFile, incidents};
use crate::run::run_id;

/// Acknowledge an incident: no reminders until a day
#[derive(Debug, clap::Args)]
#[command(after_help = "\
New URLs and other causes of the incident are still news.

Examples:
  urldb ack ac4e5512 --until 2026-11-16 --because 'the disk is being replaced'
  urldb ack http://example.org/a.csv --until 2026-12-01 --because 'moves in spring' --by ada
  urldb ack ac4e5512 --until 2026-11-16 --because 'the disk is being replaced' --commit")]
pub(super) struct Args {
    /// The id of an open incident, or a URL that one affects
    #[arg(value_name = "INCIDENT|URL")]
    target: String,
    /// The day on which reminders begin again, such as 2026-12-24
    #[arg(long, value_name = "DATE")]
    until: Date,
    /// The reason, for whoever reads the incident
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    because: String,
    /// Your name
    #[arg(long, value_name = "NAME", default_value = "")]
    by: String,
    #[command(flatten)]
    commit: CommitArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let now = (Ambient::SYSTEM.now)();
    let until = args.until.to_zoned(TimeZone::UTC)?.timestamp();
    anyhow::ensure!(
        until > now,
        "--until {}: that day has begun already",
        args.until
    );
    let ledger = context.ledger();
    let commit = args.commit.begin(ledger.path())?;
    let _lock = context.lock_repository()?;
    let known = context.incidents(Some(now))?;
    let beforehand = "; to silence it beforehand, set mute-until in its record";
    let incident = open_incident(known.known(), &args.target, beforehand)?;
    anyhow::ensure!(
        !incident.log.state().members.is_empty(),
        "{} is a notice: no URL is broken, and no reminder comes",
        incident.log.id
    );
    let ack = Ack {
        until,
        because: args.because.clone(),
        by: sanitize(&args.by).into_owned(),
    };
    let id = incident.log.id.clone();
    incidents::change(&ledger, &id, |incident| {
        let members = incident.log.state().members;
        incident.log.events.push(Event {
            id: run_id(now, (Ambient::SYSTEM.random)()),
            event: EventKind::Acked,
            urls: members.keys().map(EventUrl::of).collect(),
            ack: Some(ack),
            ..Event::default()
        });
    })?;
    let exit = ExitCode::Success;
    let file = incidents::path_of(&ledger, &id);
    write(incident, until)?;
    let advice = if commit.is_some() {
        ""
    } else {
        "; commit it, or use --commit"
    };
    writeln!(output::stdout(), "wrote {}{advice}", context.shown(&file))?;
    if let Some(commit) = commit {
        let host = sanitize(&incident.log.host);
        let subject = || format!("Acknowledge incident {id} of {host} until {}", args.until);
        commit.finish(&[file], subject, exit, context)?;
    }
    Ok(exit)
}

/// A reason as one line; an empty one tells nobody anything.
fn reason(typed: &str) -> Result<String, String> {
    let text = sanitize(typed).trim().to_owned();
    if text.is_empty() {
        return Err("write why no reminder is needed".to_owned());
    }
    Ok(text)
}

fn write(incident: &IncidentFile, until: Timestamp) -> std::io::Result<()> {
    let mut out = output::stdout();
    let (id, host) = (&incident.log.id, sanitize(&incident.log.host));
    let until = with_spaces(&moment(until));
    writeln!(out, "acknowledged: {id}, {host}, until {until}")?;
    writeln!(
        out,
        "  no reminder until then; new URLs and other causes are still news"
    )
}
