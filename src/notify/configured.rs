//! A notifier with its settings and its audience.

use urldb_protocol::{Envelope, Notifier, PlannedDelivery};

use super::audience::{Routing, Section};
use super::factory::new_notifier;
use super::incident_facts::IncidentFacts;
use super::outbox::{Message, Outbox};
use super::panic;
use super::report::{NotifierReport, report_for};
use super::status::NotifierStatus;
use super::week::{self, weekly_report};
use crate::config::{self, Audience, Config, NotifierKind};
use crate::explain::explain;
use crate::ledger::{IncidentFile, RunLine};

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

    /// The destination of deliveries, for people, or that the notifier cannot work.
    pub(super) fn destination(&self) -> String {
        let notifier = self.notifier.as_ref();
        notifier.map_or_else(
            |_| "cannot work".to_owned(),
            |notifier| notifier.destination(),
        )
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

    /// Puts a message about the run into the outbox if there is something to tell, in place of what nobody got. `past`
    /// are the runs before.
    pub(super) fn post(
        &self,
        outbox: &Outbox,
        (run, past): (&Envelope, &[RunLine]),
        facts: &dyn IncidentFacts,
        routing: &Routing,
    ) -> anyhow::Result<()> {
        let name = &self.name;
        // A message that cannot be read is an error of its delivery.
        let waiting: Vec<Message> = outbox.messages(name).into_iter().flatten().collect();
        for message in &waiting {
            // A run that was killed after a delivery has not stored this.
            facts.deliver(name, message.accepted())?;
        }
        let (weekly, news): (Vec<Message>, Vec<Message>) =
            waiting.into_iter().partition(Message::is_weekly);
        if let Some(message) = self.weekly(outbox, (run, past), &weekly) {
            weekly.iter().try_for_each(Message::remove)?;
            self.put(message, run, facts, routing)?;
        }
        let put = self.put(outbox.message(name, run, &news), run, facts, routing)?;
        news.iter()
            .filter(|old| match &put {
                Some(put) => !put.is_at(old),
                None => !old.is_refused(),
            })
            .try_for_each(Message::remove)
    }

    /// Puts a message into the outbox, and returns it. `None` if there is nothing to tell.
    fn put(
        &self,
        mut message: Message,
        run: &Envelope,
        facts: &dyn IncidentFacts,
        routing: &Routing,
    ) -> anyhow::Result<Option<Message>> {
        let name = &self.name;
        let report = self.compose(&message, Some(run), &facts.incidents(), routing);
        facts.deliver(name, report.passed.clone())?;
        if !report.has_news {
            return Ok(None);
        }
        // A notifier that has to tell an incident tells its end too.
        let begun = report.delivered.iter().map(|(id, _)| id.clone());
        facts.expect(name, begun.collect())?;
        // The next try plans the deliveries of a notifier that crashes now.
        let planned = self.deliveries(&report.envelope).ok();
        message.plan(&self.settings, &report, planned.as_deref(), false);
        message.save()?;
        Ok(Some(message))
    }

    /// The weekly report, if this is its run, or if the last one has not reached everybody: it tells what is true now.
    /// `waiting` are those that wait.
    fn weekly(
        &self,
        outbox: &Outbox,
        (run, past): (&Envelope, &[RunLine]),
        waiting: &[Message],
    ) -> Option<Message> {
        let is_due = week::is_due(self.audience.digest?, past, run.run.started);
        // That of this week takes the place of the one before.
        let unsent = if is_due { &[] } else { waiting };
        if !is_due && unsent.is_empty() {
            return None;
        }
        let mut week = week::week_before(run, past);
        week.waiting = outbox.waiting(|message| message.envelope().run.id != run.run.id);
        week.waiting.retain(|waiting| waiting.notifier != self.name);
        Some(outbox.weekly(&self.name, run, week, unsent))
    }

    /// The report that a message tells now. `run` is the run that ends now, if there is one.
    pub(super) fn compose(
        &self,
        message: &Message,
        run: Option<&Envelope>,
        incidents: &[IncidentFile],
        routing: &Routing,
    ) -> NotifierReport {
        let stored = message.envelope();
        let base = match run {
            Some(run) if run.run.id == stored.run.id => run,
            // The last run that told it anything; nothing was checked since.
            _ => stored,
        };
        if let Some(week) = &stored.week {
            let base = Envelope {
                week: Some(week.clone()),
                ..base.clone()
            };
            return weekly_report(&base, incidents, self.section(routing));
        }
        report_for(base, incidents, self.section(routing))
    }

    fn section<'a>(&'a self, routing: &'a Routing) -> Section<'a> {
        Section {
            name: &self.name,
            audience: &self.audience,
            routing,
        }
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
