//! What one notifier has delivered, and what still waits.

use std::time::Duration;

use jiff::Timestamp;
use urldb_protocol::Shown;

use super::outbox::{KeptDelivery, KeptOutcome, Message};
use crate::explain::explain;
use crate::ledger::is_known;

/// How long a delivery may wait for a fault that mends itself before people have to know.
const PATIENCE: Duration = Duration::from_hours(24);

/// What one notifier has delivered, and what still waits.
#[derive(Debug)]
pub struct Standing {
    /// The name in urldb.toml.
    pub notifier: String,
    /// The type in urldb.toml; empty if urldb.toml does not name the notifier.
    pub kind: &'static str,
    /// Where deliveries go.
    pub destination: String,
    /// The deliveries of this run.
    pub delivered: Vec<Delivered>,
    /// Number of messages that are delivered completely now.
    pub sent: u64,
    /// The messages that wait, the oldest first.
    pub(crate) waiting: Vec<Message>,
    /// Errors besides the deliveries, such as a message that cannot be read.
    pub errors: Vec<String>,
    /// What programs said about faults: lines for the terminal alone, since they may hold a secret.
    pub asides: Vec<Shown>,
}

/// A delivery that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The recipient, for people; empty if the notifier has named none.
    pub to: String,
    /// The destination, for people.
    pub message: Shown,
}

impl Standing {
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
        let mut standing = Self::new(notifier, "", String::new());
        standing.waiting = standing.take_readable(messages);
        standing
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
        let started = self
            .waiting
            .iter()
            .map(|message| message.envelope().run.started);
        started.min()
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
        let mut waiting = self.waiting.iter();
        waiting.all(|message| message.is_planned() && message.due().is_empty())
    }

    /// The fault that people should look at first: what a person must mend, or else the last fault.
    pub(crate) fn fault(&self) -> Option<&KeptDelivery> {
        let tried = || {
            let waiting = self.waiting.iter().flat_map(Message::waiting);
            waiting.filter(|delivery| !delivery.message.is_empty())
        };
        let failed = tried().filter(|delivery| delivery.outcome == KeptOutcome::Failed);
        let latest = |delivery: &&KeptDelivery| delivery.last_tried;
        failed
            .max_by_key(latest)
            .or_else(|| tried().max_by_key(latest))
    }
}
