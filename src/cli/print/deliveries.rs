//! Delivered and waiting messages of notifiers.

use std::collections::BTreeMap;
use std::io::Write;

use jiff::Timestamp;
use urldb_protocol::Shown;
use urldb_render::numbers::{age_in_words, day};
use urldb_render::{Block, Deliveries, NextTry, StuckMessages, Text, stuck_blocks, terminal_stuck};

use super::output;
use super::style::count;
use crate::cli::Context;
use crate::notify::{MadeDelivery, Message, MessageKind, NotifierStatus, OutboxDelivery};

/// Prints waiting messages and failed deliveries on standard error, also for a quiet run.
pub(crate) fn print_stuck(blocks: &[Block], context: &Context) {
    let text = terminal_stuck(blocks, context.terminal_options());
    // A closed standard error is no error.
    let _ = output::stderr().write_all(text.as_bytes());
}

/// Prints waiting messages and failed deliveries, for a command that is no run.
pub(crate) fn print_statuses(statuses: &[NotifierStatus], now: Timestamp, context: &Context) {
    print_stuck(&stuck_blocks(&deliveries(statuses, now), now), context);
    for status in statuses {
        for aside in &status.asides {
            super::style::print_note(&format!("{}: {aside}", status.notifier));
        }
    }
}

/// Prints the errors besides the deliveries, on standard error.
pub(crate) fn print_errors(statuses: &[NotifierStatus], now: Timestamp, context: &Context) {
    let errors = Deliveries {
        errors: errors(statuses),
        ..Deliveries::default()
    };
    print_stuck(&stuck_blocks(&errors, now), context);
}

/// Delivered and waiting messages, for the report.
pub(crate) fn deliveries(statuses: &[NotifierStatus], now: Timestamp) -> Deliveries {
    Deliveries {
        delivered: statuses
            .iter()
            .filter_map(|status| {
                let late = late(status, now);
                delivered(status).map(|text| text.own(late))
            })
            .collect(),
        stuck: statuses
            .iter()
            .filter_map(|status| stuck(status, now))
            .collect(),
        errors: errors(statuses),
    }
}

fn errors(statuses: &[NotifierStatus]) -> Vec<String> {
    let of_notifier = |status: &NotifierStatus| {
        let name = status.notifier.clone();
        status
            .errors
            .clone()
            .into_iter()
            .map(move |error| format!("{name}: {error}"))
    };
    statuses.iter().flat_map(of_notifier).collect()
}

/// `mail to 2 recipients`, `weekly report by mail to 2 recipients`; another notifier says in its own words what it
/// has done.
fn delivered(status: &NotifierStatus) -> Option<Text> {
    let mut by_kind: BTreeMap<MessageKind, Vec<&MadeDelivery>> = BTreeMap::new();
    for made in &status.delivered {
        by_kind.entry(made.kind).or_default().push(made);
    }
    let is_mail = status.kind == "email";
    let mut phrases = by_kind.into_iter().map(|(kind, made)| {
        if is_mail {
            Text::from(mailed(kind, &made))
        } else {
            said(kind, &made)
        }
    });
    let first = match phrases.next()? {
        first if is_mail => first,
        first => Text::new().outside(&status.notifier).own(": ").and(first),
    };
    Some(phrases.fold(first, |text, phrase| text.own(", ").and(phrase)))
}

/// `mail to 2 recipients`, `2 mails to 2 recipients`, `reminder by mail to 1 recipient, the next one on 2026-11-17`.
fn mailed(kind: MessageKind, made: &[&MadeDelivery]) -> String {
    // Each mail goes to each recipient, unless one was refused.
    let mut mails: BTreeMap<&str, u64> = BTreeMap::new();
    for done in made {
        *mails.entry(&done.to).or_default() += 1;
    }
    let recipients = count(mails.len() as u64, "recipient");
    match (kind, mails.values().max()) {
        (MessageKind::Weekly, _) => format!("weekly report by mail to {recipients}"),
        (MessageKind::Reminder(next), _) => {
            let next = next.map(|next| format!(", the next one on {}", day(next)));
            format!(
                "reminder by mail to {recipients}{}",
                next.unwrap_or_default()
            )
        }
        (MessageKind::News, Some(&mails @ 2..)) => {
            format!("{} to {recipients}", count(mails, "mail"))
        }
        (MessageKind::News, _) => format!("mail to {recipients}"),
    }
}

/// `127.0.0.1 answers 200`, `127.0.0.1 answers 200 (weekly report)`.
fn said(kind: MessageKind, made: &[&MadeDelivery]) -> Text {
    let mut messages: Vec<&str> = made.iter().map(|done| done.message.as_str()).collect();
    messages.dedup();
    let text = Text::new().outside(&messages.join(", "));
    match kind {
        MessageKind::News => text,
        MessageKind::Reminder(_) => text.own(" (reminder)"),
        MessageKind::Weekly => text.own(" (weekly report)"),
    }
}

/// `, 3 days late`, or nothing if the deliveries are less than an hour late.
fn late(status: &NotifierStatus, now: Timestamp) -> String {
    status
        .delivered
        .iter()
        .filter_map(|made| made.first_tried)
        .min()
        .filter(|first| now.duration_since(*first).as_hours() >= 1)
        .map_or_else(String::new, |first| {
            format!(", {} late", age_in_words(first, now))
        })
}

fn stuck(status: &NotifierStatus, now: Timestamp) -> Option<StuckMessages> {
    let since = status.waiting_since()?;
    let fault = status.fault();
    let waiting = &status.waiting;
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    Some(StuckMessages {
        notifier: status.notifier.clone(),
        kind: channel(status.kind).to_owned(),
        cause: text(fault.map(|fault| fault.message.as_str())),
        reply: text(fault.and_then(|fault| fault.replies.last().map(Shown::as_str))),
        incidents: waiting.iter().map(Message::incidents).sum(),
        tries: waiting
            .iter()
            .map(Message::attempts)
            .max()
            .unwrap_or_default(),
        since: Some(since),
        recipients: recipients(waiting),
        reached: names(waiting.iter().flat_map(Message::delivered)),
        advice: text(fault.and_then(|fault| fault.advice.as_deref())),
        next: if !status.is_configured() {
            NextTry::Section
        } else if status.waits_for_change() {
            NextTry::Change
        } else {
            NextTry::EveryRun
        },
        is_urgent: status.is_urgent(now),
    })
}

/// The recipients of waiting messages, each once.
pub(crate) fn recipients(waiting: &[Message]) -> Vec<String> {
    names(waiting.iter().flat_map(Message::waiting))
}

fn names<'a>(deliveries: impl Iterator<Item = &'a OutboxDelivery>) -> Vec<String> {
    let mut all: Vec<String> = deliveries
        .map(|delivery| delivery.to.to_string())
        .filter(|to| !to.is_empty())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The word for the channel of a type of notifier.
pub(crate) fn channel(kind: &str) -> &str {
    match kind {
        "email" => "mail",
        other => other,
    }
}
