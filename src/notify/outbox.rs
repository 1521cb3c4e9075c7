//! Faults of deliveries: `outbox/NOTIFIER/RUN.json` in the ledger's folder.
//!
//! A file has no text of a message: each try composes the message anew, from the newest cards of its section and the
//! incidents as they are by then.

use std::collections::BTreeMap;

use anyhow::Context;
use jiff::Timestamp;
use urldb_files::{Kind, Root, RootFile};
use urldb_protocol::{Delay, Delivery, Envelope, PROTOCOL, PlannedDelivery, WaitingMessages, Week};
use urldb_text::sanitize;

use super::outbox_file::{EarlierTries, MessageFile, OutboxDelivery, OutboxOutcome};
use super::report::NotifierReport;
use crate::ledger::{IncidentFile, NewestCard};

/// The folder of undelivered reports.
#[derive(Debug)]
pub struct Outbox(Root);

/// A report that one notifier has not delivered completely.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    file: RootFile,
    content: MessageFile,
}

impl Outbox {
    /// The outbox beside this ledger.
    pub fn new(ledger: &Root) -> Self {
        Self(ledger.folder("outbox"))
    }

    /// A message about a run, in place of `earlier` ones, the oldest first: it keeps their deliveries, if it tells the
    /// same. [`Message::save`] puts it into the outbox.
    pub(super) fn message(&self, notifier: &str, run: &Envelope, earlier: &[Message]) -> Message {
        let unsent: Vec<&Message> = earlier.iter().filter(|it| !it.is_refused()).collect();
        let last = earlier.last().map(|last| &last.content);
        let content = MessageFile {
            protocol: PROTOCOL,
            settings: last.map_or_else(String::new, |last| last.settings.clone()),
            tells: last.map_or_else(String::new, |last| last.tells.clone()),
            deliveries: last.and_then(|last| Some(untried(last.deliveries.as_ref()?))),
            earlier: EarlierTries::of(&unsent),
            delivered: BTreeMap::new(),
            incidents: 0,
            envelope: without_findings(run),
        };
        Message {
            file: self.0.folder(notifier).file(format!("{}.json", run.run.id)),
            content,
        }
    }

    /// The weekly report of a run, in place of `unsent` ones, whose deliveries it keeps.
    pub(super) fn weekly(
        &self,
        notifier: &str,
        run: &Envelope,
        week: Week,
        unsent: &[Message],
    ) -> Message {
        let mut message = self.message(notifier, run, unsent);
        run.run.id.clone_into(&mut message.content.tells);
        let name = format!("weekly-{}.json", run.run.id);
        message.file = self.0.folder(notifier).file(name);
        message.content.envelope.week = Some(Box::new(week));
        message
    }

    /// The messages for one notifier, the oldest first. A file that cannot be read is an error.
    pub(crate) fn messages(&self, notifier: &str) -> Vec<anyhow::Result<Message>> {
        match self.files(notifier) {
            Ok(files) => files.into_iter().map(Message::read).collect(),
            Err(error) => vec![Err(error)],
        }
    }

    /// The names of the notifiers with messages, sorted.
    pub(crate) fn notifiers(&self) -> anyhow::Result<Vec<String>> {
        let mut names = vec![];
        for folder in self.folders() {
            let name = folder
                .path()
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            if !self.files(&name)?.is_empty() {
                names.push(name.into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// The messages that are counted, and those that cannot be read, of each notifier.
    pub(crate) fn waiting(&self, is_counted: impl Fn(&Message) -> bool) -> Vec<WaitingMessages> {
        // A folder that cannot be read is an error of the next run.
        let waiting = self
            .notifiers()
            .unwrap_or_default()
            .into_iter()
            .map(|notifier| {
                let mut all = self.messages(&notifier);
                all.retain(|message| message.as_ref().map_or(true, &is_counted));
                let read = || all.iter().flatten();
                let last = read()
                    .filter_map(|message| message.delay(message.envelope().run.started))
                    .max_by_key(|delay| delay.last_tried);
                let tries = read().map(Message::attempts);
                WaitingMessages {
                    since: read().map(Message::since).min(),
                    messages: all.len() as u64,
                    notifier: sanitize(&notifier).into_owned(),
                    tries: tries.max().unwrap_or_default(),
                    last_tried: last.as_ref().map(|delay| delay.last_tried),
                    fault: last.map(|delay| delay.reason),
                }
            });
        waiting.filter(|waiting| waiting.messages > 0).collect()
    }

    /// The folders with messages.
    pub(crate) fn folders(&self) -> Vec<Root> {
        self.0
            .files()
            .unwrap_or_default()
            .into_iter()
            .filter(|file| file.kind() == Some(Kind::Folder))
            .map(|file| self.0.folder(file.name()))
            .collect()
    }

    fn files(&self, notifier: &str) -> anyhow::Result<Vec<RootFile>> {
        let folder = self.0.folder(notifier);
        let mut files = folder
            .files()
            .with_context(|| format!("cannot read {}", folder.path().display()))?;
        files.retain(|file| file.name().extension().is_some_and(|it| it == "json"));
        Ok(files)
    }
}

impl Message {
    fn read(file: RootFile) -> anyhow::Result<Self> {
        let content = MessageFile::read(&file).with_context(|| {
            format!(
                "cannot use the waiting message {}; remove it to go on",
                file.path().display()
            )
        })?;
        Ok(Self { file, content })
    }

    /// The report, as the notifier tells it.
    pub(crate) fn envelope(&self) -> &Envelope {
        &self.content.envelope
    }

    /// The deliveries that were not made.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &OutboxDelivery> {
        self.content
            .deliveries
            .iter()
            .flatten()
            .filter(|delivery| delivery.outcome != OutboxOutcome::Delivered)
    }

    /// The deliveries that were made.
    pub(crate) fn delivered(&self) -> impl Iterator<Item = &OutboxDelivery> {
        self.content
            .deliveries
            .iter()
            .flatten()
            .filter(|delivery| delivery.outcome == OutboxOutcome::Delivered)
    }

    /// The newest cards that the service has accepted: of each incident that a delivery told, while no other one that
    /// tells it is due.
    pub(super) fn accepted(&self) -> Vec<(String, NewestCard)> {
        self.content
            .delivered
            .iter()
            .filter(|(id, _)| {
                let of_incident: Vec<&OutboxDelivery> = self
                    .content
                    .deliveries
                    .iter()
                    .flatten()
                    .filter(|it| it.incidents.is_empty() || it.incidents.contains(*id))
                    .collect();
                let is_made = |it: &&OutboxDelivery| it.outcome == OutboxOutcome::Delivered;
                of_incident.iter().any(is_made) && !of_incident.iter().any(|it| it.is_due())
            })
            .map(|(id, card)| (id.clone(), card.clone()))
            .collect()
    }

    /// Whether the service has accepted the message for some recipients, and not for others.
    pub(super) fn is_accepted_in_part(&self) -> bool {
        self.waiting().next().is_some() && self.delivered().next().is_some()
    }

    /// Whether the service has accepted the message, and refuses recipients.
    pub(super) fn is_refused(&self) -> bool {
        self.is_accepted_in_part() && self.due().is_empty()
    }

    /// Whether the deliveries were planned with these settings.
    pub(super) fn is_planned_with(&self, settings: &str) -> bool {
        self.content.settings == settings
    }

    /// Number of incidents that the message tells.
    pub(crate) fn incidents(&self) -> u64 {
        self.content.incidents
    }

    /// Whether this is the same file.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        self.file.path() == other.file.path()
    }

    /// The start of the run of the first message that this one stands for.
    pub(crate) fn since(&self) -> Timestamp {
        let earlier = self.content.earlier.as_ref();
        earlier.map_or(self.content.envelope.run.started, |earlier| earlier.since)
    }

    /// The recipient of the delivery with this id.
    pub(super) fn recipient(&self, id: &str) -> &str {
        self.content
            .deliveries
            .iter()
            .flatten()
            .find(|delivery| delivery.id == id)
            .map_or("", |delivery| delivery.to.as_str())
    }

    /// Number of tries of the delivery that was tried most often.
    pub(crate) fn attempts(&self) -> u32 {
        let attempts = self.waiting().map(|delivery| delivery.attempts);
        let earlier = self.content.earlier.as_ref();
        earlier
            .map_or(0, |earlier| earlier.attempts)
            .saturating_add(attempts.max().unwrap_or_default())
    }

    /// Whether a person has to act before a further try makes sense.
    pub(crate) fn is_stuck(&self) -> bool {
        self.waiting()
            .any(|delivery| delivery.outcome == OutboxOutcome::Failed)
    }

    /// Whether every delivery was made.
    pub(crate) fn is_done(&self) -> bool {
        self.is_planned() && self.waiting().next().is_none()
    }

    /// Why the message is late, if an earlier run has tried it.
    pub(super) fn delay(&self, now: Timestamp) -> Option<Delay> {
        let earlier = self.content.earlier.as_ref();
        let tried = self.waiting().filter_map(|delivery| delivery.first_tried);
        let earlier_try = earlier.and_then(|earlier| earlier.first_tried);
        let last = self
            .waiting()
            .filter(|delivery| delivery.last_tried.is_some())
            .max_by_key(|delivery| delivery.last_tried);
        let reason = last.map(|delivery| delivery.message.clone());
        let last_try = last.and_then(|delivery| delivery.last_tried);
        Some(Delay {
            first_tried: tried.chain(earlier_try).min()?,
            last_tried: last_try.or(earlier.and_then(|it| it.last_tried))?,
            now,
            reason: reason.or_else(|| Some(earlier?.fault.clone()))?,
        })
    }

    /// Whether this is a weekly report.
    pub(super) fn is_weekly(&self) -> bool {
        self.content.envelope.week.is_some()
    }

    /// The incidents as nobody was told of those that the message tells: for the recipients whom the service refused.
    pub(super) fn as_undelivered(
        &self,
        notifier: &str,
        mut incidents: Vec<IncidentFile>,
    ) -> Vec<IncidentFile> {
        let delivered =
            |file: &&mut IncidentFile| self.content.delivered.contains_key(&file.log.id);
        for file in incidents.iter_mut().filter(delivered) {
            let card = NewestCard::default();
            file.notified.insert(notifier.to_owned(), card);
        }
        incidents
    }

    /// Plans the deliveries of a report, with the notifier's settings, whose digest is `settings`. A delivery that was
    /// made stays made while the report tells the same, or `is_for_refused`. After a change of the settings, deliveries
    /// that failed are due again. Recipients that people removed are dropped.
    pub(super) fn plan(
        &mut self,
        settings: &str,
        report: &NotifierReport,
        planned: Option<&[PlannedDelivery]>,
        is_for_refused: bool,
    ) {
        let content = &mut self.content;
        content.incidents = report.delivered.len() as u64;
        if !is_for_refused {
            content.delivered = report.delivered.iter().cloned().collect();
        }
        let audience = report.envelope.summary.audience.clone();
        content.envelope.summary.audience = audience;
        if content.tells != report.envelope.tells() && !is_for_refused {
            report.envelope.tells().clone_into(&mut content.tells);
            content.deliveries = None;
        }
        if content.settings != settings {
            settings.clone_into(&mut content.settings);
            self.retry_failed();
        }
        let Some(planned) = planned else { return };
        let old = self.content.deliveries.take().unwrap_or_default();
        let known = |plan: &PlannedDelivery| {
            let new = OutboxDelivery::new(plan);
            let known = old.iter().find(|delivery| delivery.id == plan.id);
            known.map_or(new.clone(), |known| OutboxDelivery {
                incidents: new.incidents,
                ..known.clone()
            })
        };
        let mut deliveries: Vec<_> = planned.iter().map(known).collect();
        // A delivery that was made stays made, so that a recipient who comes back gets no second copy.
        let is_planned = |id: &str| planned.iter().any(|plan| plan.id == id);
        let delivered = old.iter().filter(|delivery| {
            delivery.outcome == OutboxOutcome::Delivered && !is_planned(&delivery.id)
        });
        deliveries.extend(delivered.cloned());
        self.content.deliveries = Some(deliveries);
    }

    /// Makes the deliveries that failed due again.
    pub(super) fn retry_failed(&mut self) {
        for delivery in self.content.deliveries.iter_mut().flatten() {
            if delivery.outcome == OutboxOutcome::Failed {
                delivery.outcome = OutboxOutcome::Retry;
            }
        }
    }

    /// Whether the deliveries are known: a notifier that cannot work has not named them.
    pub(crate) fn is_planned(&self) -> bool {
        self.content.deliveries.is_some()
    }

    /// The ids of the deliveries that are due.
    pub(crate) fn due(&self) -> Vec<String> {
        self.waiting()
            .filter(|delivery| delivery.is_due())
            .map(|delivery| delivery.id.clone())
            .collect()
    }

    /// Stores the result of one delivery.
    pub(super) fn record(&mut self, result: &Delivery, now: Timestamp) -> anyhow::Result<()> {
        let deliveries = self.content.deliveries.iter_mut().flatten();
        for delivery in deliveries.filter(|delivery| delivery.id == result.id) {
            delivery.record(result, now);
        }
        self.save()
    }

    pub(super) fn save(&self) -> anyhow::Result<()> {
        let bytes = self.content.to_bytes()?;
        self.file
            .replace(&bytes)
            .with_context(|| format!("cannot write {}", self.file))
    }

    /// Removes the message: every delivery was made, or a person drops the rest.
    pub(crate) fn remove(&self) -> anyhow::Result<()> {
        self.file
            .remove()
            .with_context(|| format!("cannot remove {}", self.file))?;
        // A folder stays while it has other messages.
        self.file.root().remove_empty(2);
        Ok(())
    }
}

impl EarlierTries {
    /// The tries of messages that nobody got; `None` without messages.
    fn of(unsent: &[&Message]) -> Option<Self> {
        let unsent = || unsent.iter().copied();
        let delays = || {
            let now = |message: &Message| message.content.envelope.run.started;
            unsent().filter_map(move |it| it.delay(now(it)))
        };
        Some(Self {
            since: unsent().map(Message::since).min()?,
            first_tried: delays().map(|delay| delay.first_tried).min(),
            last_tried: delays().map(|delay| delay.last_tried).max(),
            fault: delays()
                .next_back()
                .map(|delay| delay.reason)
                .unwrap_or_default(),
            attempts: unsent().map(Message::attempts).max().unwrap_or_default(),
        })
    }
}

/// The deliveries, whose tries are those of an earlier message.
fn untried(deliveries: &[OutboxDelivery]) -> Vec<OutboxDelivery> {
    deliveries
        .iter()
        .map(|delivery| OutboxDelivery {
            first_tried: None,
            last_tried: None,
            attempts: 0,
            ..delivery.clone()
        })
        .collect()
}

/// The run without its incidents, findings and mistakes.
fn without_findings(run: &Envelope) -> Envelope {
    let mut bare = run.clone();
    bare.incidents.clear();
    bare.mistakes.clear();
    bare.fixed.clear();
    bare.findings.clear();
    bare.archived.clear();
    bare
}
