//! The state of one notifier: its deliveries of this run, and its messages that wait.

use std::time::Duration;

use jiff::Timestamp;
use urldb_protocol::{Envelope, Shown};

use super::outbox::Message;
use super::outbox_file::{OutboxDelivery, OutboxOutcome};
use crate::explain::explain;
use crate::ledger::is_known;

/// Time that a delivery may wait for a fault that mends itself, before people have to know.
const PATIENCE: Duration = Duration::from_hours(24);

/// The deliveries of one notifier in this run, and its messages that wait.
#[derive(Debug)]
pub struct NotifierStatus {
    /// The name in urldb.toml.
    pub notifier: String,
    /// The type in urldb.toml; empty if urldb.toml does not name the notifier.
    pub kind: &'static str,
    /// The destination of deliveries, for people.
    pub destination: String,
    /// The deliveries of this run.
    pub delivered: Vec<MadeDelivery>,
    /// Number of messages that are delivered completely now.
    pub sent: u64,
    /// The messages that wait, the oldest first.
    pub(crate) waiting: Vec<Message>,
    /// Errors besides the deliveries, such as a message that cannot be read.
    pub errors: Vec<String>,
    /// Words of programs about faults: lines for the terminal alone, since they may hold a secret.
    pub asides: Vec<Shown>,
}

/// A delivery that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeDelivery {
    /// The recipient, for people; empty if the notifier has named none.
    pub to: String,
    /// The destination, for people.
    pub message: Shown,
    /// The first try, if there was an earlier one.
    pub first_tried: Option<Timestamp>,
    /// The kind of the message.
    pub kind: MessageKind,
}

/// The kind of a message that was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageKind {
    /// News.
    News,
    /// Nothing but what is still open; with the time of the next reminder, if that is known.
    Reminder(Option<Timestamp>),
    /// The weekly report.
    Weekly,
}

impl MessageKind {
    pub(super) fn of(envelope: &Envelope) -> Self {
        let mut incidents = envelope.incidents.iter();
        let has_mistakes = envelope.mistakes.iter().any(|mistake| mistake.new);
        match &envelope.week {
            Some(_) => Self::Weekly,
            None if incidents.any(|incident| !incident.reminder) => Self::News,
            None if has_mistakes || envelope.incidents.is_empty() => Self::News,
            None => Self::Reminder(envelope.next_reminder),
        }
    }
}

impl NotifierStatus {
    pub(super) fn new(notifier: &str, kind: &'static str, destination: String) -> Self {
        Self {
            notifier: notifier.to_owned(),
            kind,
            destination,
            delivered: vec![],
            sent: 0,
            waiting: vec![],
            errors: vec![],
            asides: vec![],
        }
    }

    /// The messages of a notifier that urldb.toml does not name.
    pub(super) fn without_notifier(notifier: &str, messages: Vec<anyhow::Result<Message>>) -> Self {
        let mut status = Self::new(notifier, "", String::new());
        status.waiting = status.take_readable(messages);
        status
    }

    /// The messages that can be read; the others are errors.
    pub(super) fn take_readable(&mut self, messages: Vec<anyhow::Result<Message>>) -> Vec<Message> {
        let mut readable = vec![];
        for message in messages {
            match message {
                Ok(message) => readable.push(message),
                Err(error) => self.errors.push(explain(&error)),
            }
        }
        readable
    }

    /// Removes a message that need not be told any more.
    pub(super) fn remove(&mut self, message: &Message) {
        let removed = message.remove();
        self.errors
            .extend(removed.err().map(|error| explain(&error)));
    }

    pub(super) fn sort(&mut self) {
        self.waiting
            .sort_by(|a, b| a.envelope().run.id.cmp(&b.envelope().run.id));
    }

    /// Whether urldb.toml names the notifier.
    pub fn is_configured(&self) -> bool {
        !self.kind.is_empty()
    }

    /// When the run of the oldest waiting message began.
    pub fn waiting_since(&self) -> Option<Timestamp> {
        self.waiting.iter().map(Message::since).min()
    }

    /// Whether people have to act: for what waits, or for an error besides.
    pub fn needs_action(&self, now: Timestamp) -> bool {
        !self.errors.is_empty() || self.is_urgent(now)
    }

    /// Whether a person must act for what waits, or a fault that mends itself has lasted too long.
    pub fn is_urgent(&self, now: Timestamp) -> bool {
        let is_old = |since: Timestamp| {
            let waited = Duration::try_from(now.duration_since(since));
            // A message from the future, written by a wrong clock, must not wait until then.
            !is_known(since, now) || waited.is_ok_and(|waited| waited >= PATIENCE)
        };
        self.waiting.iter().any(Message::is_stuck)
            || (!self.is_configured() && !self.waiting.is_empty())
            || self.waiting_since().is_some_and(is_old)
    }

    /// Whether no delivery is tried again before a person acts.
    pub fn waits_for_change(&self) -> bool {
        self.waiting
            .iter()
            .all(|message| message.is_planned() && message.due().is_empty())
    }

    /// The fault that people should look at first: what a person must mend, or else the last fault.
    pub(crate) fn fault(&self) -> Option<&OutboxDelivery> {
        let tried = || {
            self.waiting
                .iter()
                .flat_map(Message::waiting)
                .filter(|delivery| !delivery.message.is_empty())
        };
        let failed = tried().filter(|delivery| delivery.outcome == OutboxOutcome::Failed);
        let latest = |delivery: &&OutboxDelivery| delivery.last_tried;
        failed
            .max_by_key(latest)
            .or_else(|| tried().max_by_key(latest))
    }
}
