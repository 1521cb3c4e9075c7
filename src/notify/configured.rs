//! A notifier with its settings and its audience.

use urldb_protocol::{Envelope, Notifier, PlannedDelivery};

use super::factory::new_notifier;
use super::outbox::Message;
use super::panic;
use super::status::NotifierStatus;
use crate::config::{self, Audience, Config, NotifierKind};
use crate::explain::explain;

/// A notifier that urldb.toml names.
pub(super) struct ConfiguredNotifier {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) audience: Audience,
    /// Digest of the section of urldb.toml.
    pub(super) settings: String,
    /// Whether each report replaces the one before, so that none waits in the outbox.
    pub(super) replaces_earlier: bool,
    /// Why the notifier cannot work here, such as a secret that is not set: its messages wait.
    pub(super) notifier: Result<Box<dyn Notifier>, String>,
}

impl ConfiguredNotifier {
    pub(super) fn new(config: &Config, name: &str, notify: &config::Notify) -> Self {
        let made = || new_notifier(config, name, notify).map_err(|error| explain(&error));
        let notifier = panic::catch(made).unwrap_or_else(|panic| Err(of_panic(name, &panic)));
        let replaces_earlier = match &notifier {
            Ok(notifier) => notifier.replaces_earlier(),
            Err(_) => matches!(notify.kind, NotifierKind::Html(_)),
        };
        Self {
            name: name.to_owned(),
            kind: notify.kind.name(),
            audience: notify.audience.clone(),
            settings: notify.digest.clone(),
            replaces_earlier,
            notifier,
        }
    }

    /// The destination of deliveries, for people; empty if the notifier cannot work.
    pub(super) fn destination(&self) -> String {
        let notifier = self.notifier.as_ref();
        notifier.map_or_else(|_| String::new(), |notifier| notifier.destination())
    }

    /// Whether each incident has a place of its own there, which ends with it.
    pub(super) fn keeps_threads(&self) -> bool {
        let notifier = self.notifier.as_ref();
        notifier.is_ok_and(|notifier| notifier.keeps_threads()) || self.audience.counts
    }

    pub(super) fn status(&self) -> NotifierStatus {
        NotifierStatus::new(&self.name, self.kind, self.destination())
    }

    /// The messages that wait, without trying them, and why the notifier cannot work.
    pub(super) fn with_waiting(&self, messages: Vec<anyhow::Result<Message>>) -> NotifierStatus {
        let mut status = self.status();
        status.waiting = status.take_readable(messages);
        status.errors.extend(self.notifier.as_ref().err().cloned());
        status
    }

    /// The deliveries that the report needs.
    ///
    /// # Errors
    /// When the notifier cannot work or panicked, for people.
    pub(super) fn deliveries(&self, envelope: &Envelope) -> Result<Vec<PlannedDelivery>, String> {
        let notifier = self.notifier.as_ref().map_err(Clone::clone)?;
        panic::catch(|| notifier.deliveries(envelope)).map_err(|panic| of_panic(&self.name, &panic))
    }
}

/// The message about a panic.
pub(super) fn of_panic(notifier: &str, panic: &str) -> String {
    let panic = urldb_text::sanitize(panic);
    format!("the notifier {notifier} crashed, which is a fault of urldb: {panic}")
}
