//! `urldb notify`: messages that wait, and tests of notifiers.

mod explain;

use std::io::Write;

use jiff::Timestamp;
use urldb_protocol::{Delivery, DeliveryOutcome};
use urldb_render::numbers::{moment, with_spaces};
use urldb_render::{Command, Fact, Headline, Text, Tone, terminal_facts, terminal_headline};
use urldb_text::{nearest, sanitize};

use super::Context;
use super::print::deliveries::{self, channel};
use super::print::output;
use super::print::style::{self, Format, count};
use crate::ambient::Ambient;
use crate::exit::ExitCode;
use crate::notify::{Message, NotifierStatus, Notifiers, Outbox, TestResult};
use crate::project::project_info;
use crate::run::{IncidentMemory, audience_urls};

/// List messages that wait, send and test them, explain who is told
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb notify list
  urldb notify test maintainers
  urldb notify test maintainers --scenario 04
  urldb notify explain http://example.org/a.csv    who is told of it, and why not
  urldb notify retry
  urldb notify skip maintainers")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the notifiers, and the messages that wait
    List,
    /// Send a marked test message, and print the answer of the server
    Test {
        /// The name of a notifier in urldb.toml [default: all]
        name: Option<String>,
        /// Send all messages of an invented history instead: 01 to 11
        #[arg(long, value_name = "NUMBER")]
        scenario: Option<String>,
    },
    /// Send the messages that wait, those included that wait for a change of the settings
    Retry {
        /// The name of a notifier in urldb.toml [default: all]
        name: Option<String>,
    },
    /// Say who is told of an open incident: why not, when, and what the next run does
    Explain {
        /// A broken URL, or the id of an open incident
        #[arg(value_name = "URL|INCIDENT")]
        target: String,
        /// Text for people, or one JSON document
        #[arg(long, default_value = "human")]
        format: Format,
    },
    /// Discard what a notifier has not delivered: it delivers only what happens from now on
    Skip {
        /// The name of a notifier in urldb.toml, or of one that has left messages
        name: String,
    },
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let outbox = Outbox::new(&context.ledger());
    match &args.command {
        Action::List => list(context, &outbox),
        Action::Test { name, scenario } => test(context, name.as_deref(), scenario.as_deref()),
        Action::Retry { name } => retry(context, &outbox, name.as_deref()),
        Action::Explain { target, format } => explain::run(target, *format, context),
        Action::Skip { name } => skip(context, &outbox, name),
    }
}

/// The notifiers of urldb.toml. A name that urldb.toml does not have is an error.
fn notifiers(context: &Context, name: Option<&str>) -> anyhow::Result<Notifiers> {
    let configured = &context.config.notifiers;
    if let Some(name) = name.filter(|name| !configured.contains_key(*name)) {
        let advice = nearest(name, configured.keys().map(String::as_str)).map_or_else(
            || "`urldb notify list` lists the notifiers".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        anyhow::bail!("urldb.toml has no [notify.{}]; {advice}", sanitize(name));
    }
    Ok(Notifiers::new(&context.config))
}

fn list(context: &Context, outbox: &Outbox) -> anyhow::Result<ExitCode> {
    let statuses = notifiers(context, None)?.statuses(outbox)?;
    let now = Timestamp::now();
    let mut out = output::stdout();
    let waiting: u64 = statuses
        .iter()
        .map(|status| status.waiting.len() as u64)
        .sum();
    if waiting > 0 {
        let headline = Headline {
            tone: Tone::Bad,
            text: format!("{} could not be sent", count(waiting, "message")),
        };
        write_text(
            &mut out,
            &terminal_headline(&headline, context.terminal_options()),
        )?;
        writeln!(out)?;
    } else if statuses.is_empty() {
        writeln!(out, "urldb.toml has no [notify.NAME]: nobody is notified.")?;
    }
    let width = statuses
        .iter()
        .map(|status| status.notifier.len())
        .max()
        .unwrap_or_default();
    for status in &statuses {
        write_row(&mut out, status, width)?;
    }
    for status in statuses.iter().filter(|status| !status.waiting.is_empty()) {
        writeln!(out, "\n{}", status.notifier)?;
        for message in &status.waiting {
            write_message(&mut out, status, message, context)?;
        }
    }
    deliveries::print_errors(&statuses, now, context);
    Ok(exit_code(&statuses, now))
}

fn exit_code(statuses: &[NotifierStatus], now: Timestamp) -> ExitCode {
    if statuses.iter().any(|status| status.needs_action(now)) {
        ExitCode::Failure
    } else {
        ExitCode::Success
    }
}

fn write_row(out: &mut impl Write, status: &NotifierStatus, width: usize) -> std::io::Result<()> {
    let name = &status.notifier;
    let kind = if status.is_configured() {
        channel(status.kind)
    } else {
        "not in urldb.toml"
    };
    let number = status.waiting.len();
    let tail = match status.waiting_since() {
        None => status.destination.clone(),
        Some(since) => {
            let attempts = status.waiting.iter().map(Message::attempts).max();
            let attempts = u64::from(attempts.unwrap_or_default());
            let since = with_spaces(&moment(since));
            format!("since {since}, tried {}", count(attempts, "time"))
        }
    };
    writeln!(
        out,
        "{name:<width$}   {kind:<7} {number} waiting   {}",
        sanitize(&tail)
    )
}

fn write_message(
    out: &mut impl Write,
    status: &NotifierStatus,
    message: &Message,
    context: &Context,
) -> std::io::Result<()> {
    let name = &status.notifier;
    let mut facts = vec![];
    if message.incidents() > 0 {
        let undelivered = count(message.incidents(), "incident");
        facts.push(Fact::new("waiting", Text::from(undelivered)));
    }
    facts.push(Fact::new(
        "failing",
        Text::from(format!("since {}", moment(message.since()))),
    ));
    let recipients = deliveries::recipients(std::slice::from_ref(message));
    if !recipients.is_empty() {
        let recipients = Text::new().outside(&recipients.join(", "));
        facts.push(Fact::new("for", recipients));
    }
    let mut faults: Vec<_> = message
        .waiting()
        .filter(|delivery| !delivery.message.is_empty())
        .collect();
    faults.dedup_by(|a, b| a.message == b.message && a.replies.last() == b.replies.last());
    facts.extend(faults.into_iter().map(|fault| {
        let text = Text::new().outside(&fault.message);
        let text = match fault.replies.last() {
            Some(reply) => text.own(": ").outside(reply),
            None => text,
        };
        Fact::new("fault", text)
    }));
    let retry = ["urldb", "notify", "retry", name];
    let retry = Command::new("to send it now", &retry).filter(|_| status.is_configured());
    let drop = Command::new("to discard it", &["urldb", "notify", "skip", name]);
    let commands: Vec<Command> = retry.into_iter().chain(drop).collect();
    let text = terminal_facts(&facts, &commands, context.terminal_options());
    write_text(out, &text)
}

fn write_text(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    out.write_all(text.as_bytes())
}

fn test(context: &Context, name: Option<&str>, scenario: Option<&str>) -> anyhow::Result<ExitCode> {
    let notifiers = notifiers(context, name)?;
    anyhow::ensure!(
        !notifiers.is_empty(),
        "urldb.toml has no [notify.NAME] to test"
    );
    let root = std::path::absolute(&context.config.root)?;
    let repository = root.file_name().unwrap_or_default().to_string_lossy();
    let project = project_info(&context.config);
    let results = notifiers.test(name, scenario, Ambient::SYSTEM, &repository, &project)?;
    let mut out = output::stdout();
    let mut exit = ExitCode::Success;
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        if !write_test(&mut out, result, context)? {
            exit = ExitCode::Failure;
        }
    }
    Ok(exit)
}

/// Writes the answer of the server, and whether the message was taken.
fn write_test(out: &mut impl Write, test: &TestResult, context: &Context) -> std::io::Result<bool> {
    let TestResult {
        notifier,
        destination,
        results,
    } = test;
    let options = context.terminal_options();
    writeln!(out, "{notifier}: {}", sanitize(destination))?;
    let decisive = results
        .iter()
        .find(|result| result.outcome != DeliveryOutcome::Delivered)
        .or(results.last());
    if let Some(Delivery { replies, .. }) = decisive
        && let Some((last, earlier)) = replies.split_last()
    {
        // The code is enough of a reply that decided nothing.
        let codes = earlier
            .iter()
            .filter_map(|reply| reply.split_whitespace().next())
            .collect::<Vec<_>>()
            .join(", ");
        let replies = [codes.as_str(), last]
            .into_iter()
            .filter(|reply| !reply.is_empty());
        let fact = |reply: &str| Fact::new("server", Text::new().outside(reply));
        let facts: Vec<Fact> = replies.map(fact).collect();
        write_text(out, &terminal_facts(&facts, &[], options))?;
    }
    let mut delivered = true;
    for result in results {
        let is_delivered = result.outcome == DeliveryOutcome::Delivered;
        delivered &= is_delivered;
        let (tone, word) = if is_delivered {
            (Tone::Good, "delivered")
        } else {
            (Tone::Bad, "error")
        };
        let advice = result.advice.as_ref().filter(|_| !is_delivered);
        let advice = advice.map_or_else(String::new, |advice| format!(": {advice}"));
        let sentence = format!("{word}: {}{advice}", result.message);
        let headline = Headline {
            tone,
            text: sanitize(&sentence).into_owned(),
        };
        write_text(out, &terminal_headline(&headline, options))?;
        if let Some(aside) = &result.aside {
            style::print_note(&format!("{notifier}: {aside}"));
        }
        if !delivered && result.scope == urldb_protocol::Scope::Notifier {
            break;
        }
    }
    Ok(delivered)
}

fn retry(context: &Context, outbox: &Outbox, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut notifiers = notifiers(context, name)?;
    let _lock = context.lock_repository()?;
    let urls = audience_urls(&context.config, notifiers.filtered_sections())?;
    notifiers.set_urls(urls);
    let now = Ambient::SYSTEM.now;
    let memory = IncidentMemory::of_ledger(&context.ledger(), Ambient::SYSTEM.now_in_seconds())?;
    let statuses = notifiers.retry(outbox, name, now, &memory)?;
    let mut out = output::stdout();
    for status in &statuses {
        let mut recipients: Vec<&str> = status
            .delivered
            .iter()
            .map(|delivered| delivered.to.as_str())
            .collect();
        recipients.sort_unstable();
        recipients.dedup();
        if recipients.is_empty() {
            continue;
        }
        let number = count(status.sent, "message");
        let line = format!(
            "{}: {number} delivered to {}.",
            status.notifier,
            recipients.join(", ")
        );
        writeln!(out, "{}", sanitize(&line))?;
    }
    if statuses
        .iter()
        .all(|status| status.delivered.is_empty() && status.waiting.is_empty())
    {
        writeln!(out, "No message waits.")?;
    }
    drop(out);
    deliveries::print_statuses(&statuses, now(), context);
    let waits = statuses.iter().any(|status| !status.waiting.is_empty());
    Ok(match exit_code(&statuses, now()) {
        ExitCode::Success if waits => ExitCode::Failure,
        code => code,
    })
}

/// Discards what a notifier has not told.
fn skip(context: &Context, outbox: &Outbox, name: &str) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    let is_configured = context.config.notifiers.contains_key(name);
    if !is_configured && !outbox.notifiers()?.iter().any(|known| known == name) {
        notifiers(context, Some(name))?;
    }
    let memory = IncidentMemory::of_ledger(&context.ledger(), Ambient::SYSTEM.now_in_seconds())?;
    let skipped = Notifiers::new(&context.config).skip(outbox, name, &memory)?;
    let name = sanitize(name);
    let line = match skipped {
        None => format!("{name}: nothing waits."),
        Some(0) => format!("{name}: discarded what waited."),
        Some(incidents) => format!(
            "{name}: discarded the news of {}.",
            count(incidents, "incident")
        ),
    };
    writeln!(output::stdout(), "{line}")?;
    Ok(ExitCode::Success)
}
