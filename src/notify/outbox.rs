//! Faults of deliveries: `outbox/NOTIFIER/RUN.json` in the ledger's folder.
//!
//! A file has no text of a message: each try composes the message anew, from the positions of its readers and
//! the incidents as they are by then.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use jiff::Timestamp;
use urldb_files::{Kind, Root, RootFile};
use urldb_protocol::{
    Delay, Delivery, Envelope, PROTOCOL, PlannedDelivery, Scope, Shown, WaitingMessages, Week,
};
use urldb_text::sanitize;

use super::outbox_file::{EarlierTries, MessageFile, OutboxDelivery, OutboxOutcome};
use super::report::NotifierReport;
use crate::ledger::{Heard, IncidentFile};

/// The last event that readers have heard of each incident, by the id of the incident.
type Positions = BTreeMap<String, Option<String>>;

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

    /// A message about a run, in place of `earlier` ones. [`Message::save`] puts it into the outbox.
    pub(super) fn message(&self, notifier: &str, run: &Envelope, earlier: &[Message]) -> Message {
        let name = format!("{}.json", run.run.id);
        let content = MessageFile {
            protocol: PROTOCOL,
            settings: String::new(),
            deliveries: None,
            reached: BTreeSet::new(),
            before: BTreeMap::new(),
            earlier: EarlierTries::of(earlier),
            heard: BTreeMap::new(),
            incidents: 0,
            envelope: without_findings(run),
        };
        Message {
            file: self.0.folder(notifier).file(name),
            content,
        }
    }

    /// The weekly report of a run, for the readers whom the `unsent` ones did not reach.
    pub(super) fn weekly(
        &self,
        notifier: &str,
        run: &Envelope,
        week: Week,
        unsent: &[Message],
    ) -> Message {
        let mut message = self.message(notifier, run, unsent);
        for unsent in unsent {
            let made = unsent.delivered().map(|delivery| delivery.to.clone());
            let reached = &mut message.content.reached;
            reached.extend(unsent.content.reached.iter().cloned().chain(made));
        }
        let name = format!("weekly-{}.json", run.run.id);
        message.file = self.0.folder(notifier).file(name);
        message.content.envelope.week = Some(Box::new(week));
        message
    }

    /// A message for the readers whom an earlier one did not reach, and who keep their positions; `None` if it
    /// left nobody behind.
    pub(super) fn for_others(
        &self,
        notifier: &str,
        run: &Envelope,
        left: &Message,
    ) -> Option<Message> {
        let (reached, before) = left.left_behind()?;
        let mut message = self.message(notifier, run, std::slice::from_ref(left));
        let first = left.file.name().to_string_lossy().into_owned();
        let first = first.rsplit("behind-").next().unwrap_or(&first).to_owned();
        let name = format!("behind-{first}");
        message.file = self.0.folder(notifier).file(name);
        (message.content.reached, message.content.before) = (reached, before);
        Some(message)
    }

    /// The messages for one notifier, each as one for the readers who have not got it.
    pub(super) fn undelivered(&self, notifier: &str) -> Vec<anyhow::Result<Message>> {
        let split = |message: anyhow::Result<Message>| {
            let left = message?;
            let Some(mut message) = self.for_others(notifier, left.envelope(), &left) else {
                return Ok(left);
            };
            let settings = left.content.settings.clone();
            message.content.settings = settings;
            message.content.deliveries = Some(left.waiting().cloned().collect());
            message.content.incidents = left.incidents();
            message.save()?;
            if !message.is_at(&left) {
                left.remove()?;
            }
            Ok(message)
        };
        self.messages(notifier).into_iter().map(split).collect()
    }

    /// Whether the message of a notifier about a run waits.
    pub(crate) fn has_message(&self, notifier: &str, run: &str) -> bool {
        let is_name = |text: &str| !text.contains(['/', '\\']);
        let file = self.0.folder(notifier).file(format!("{run}.json"));
        is_name(notifier) && is_name(run) && file.kind().is_some()
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
            let name = folder.path().file_name().unwrap_or_default();
            let name = name.to_string_lossy();
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
        let notifiers = self.notifiers().unwrap_or_default().into_iter();
        let waiting = notifiers.map(|notifier| {
            let mut all = self.messages(&notifier);
            all.retain(|message| message.as_ref().map_or(true, &is_counted));
            let read = || all.iter().flatten();
            let delays = read().filter_map(|message| message.delay(message.envelope().run.started));
            let last = delays.max_by_key(|delay| delay.last_tried);
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
        let files = self.0.files().unwrap_or_default().into_iter();
        let folders = files.filter(|file| file.kind() == Some(Kind::Folder));
        folders.map(|file| self.0.folder(file.name())).collect()
    }

    fn files(&self, notifier: &str) -> anyhow::Result<Vec<RootFile>> {
        let folder = self.0.folder(notifier);
        let files = folder.files();
        let mut files =
            files.with_context(|| format!("cannot read {}", folder.path().display()))?;
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
        let deliveries = self.content.deliveries.iter().flatten();
        deliveries.filter(|delivery| delivery.outcome != OutboxOutcome::Delivered)
    }

    /// The deliveries that were made.
    pub(crate) fn delivered(&self) -> impl Iterator<Item = &OutboxDelivery> {
        let deliveries = self.content.deliveries.iter().flatten();
        deliveries.filter(|delivery| delivery.outcome == OutboxOutcome::Delivered)
    }

    /// The position of the notifier in each incident that the message tells.
    pub(crate) fn heard(&self) -> Vec<(String, Heard)> {
        let heard = self.content.heard.iter();
        heard
            .map(|(id, heard)| (id.clone(), heard.clone()))
            .collect()
    }

    /// The same in the incidents that the delivery with this id tells.
    pub(super) fn heard_with(&self, id: &str) -> Vec<(String, Heard)> {
        let mut deliveries = self.content.deliveries.iter().flatten();
        let told = deliveries.find(|delivery| delivery.id == id);
        let told = told.map_or(&[][..], |delivery| delivery.incidents.as_slice());
        let mut heard = self.heard();
        heard.retain(|(id, _)| told.is_empty() || told.contains(id));
        heard
    }

    /// The same in the incidents that the deliveries tell that were made.
    pub(super) fn heard_so_far(&self) -> Vec<(String, Heard)> {
        let made = self.delivered().flat_map(|made| self.heard_with(&made.id));
        made.collect()
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
        let mut deliveries = self.content.deliveries.iter().flatten();
        let found = deliveries.find(|delivery| delivery.id == id);
        found.map_or("", |delivery| delivery.to.as_str())
    }

    /// Number of tries of the delivery that was tried most often.
    pub(crate) fn attempts(&self) -> u32 {
        let attempts = self.waiting().map(|delivery| delivery.attempts);
        let earlier = self.content.earlier.as_ref();
        let earlier = earlier.map_or(0, |earlier| earlier.attempts);
        earlier.saturating_add(attempts.max().unwrap_or_default())
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
            .filter(|delivery| delivery.last_tried.is_some());
        let last = last.max_by_key(|delivery| delivery.last_tried);
        let reason = last.map(|delivery| delivery.message.clone());
        let last_try = last.and_then(|delivery| delivery.last_tried);
        Some(Delay {
            first_tried: tried.chain(earlier_try).min()?,
            last_tried: last_try.or(earlier.and_then(|it| it.last_tried))?,
            now,
            reason: reason.or_else(|| Some(earlier?.fault.clone()))?,
        })
    }

    /// The recipients that have got the message, and the positions of those that have not; `None` if all readers
    /// have the same position.
    fn left_behind(&self) -> Option<(BTreeSet<Shown>, Positions)> {
        let is_told = |delivery: &OutboxDelivery, id: &String| {
            delivery.incidents.is_empty() || delivery.incidents.contains(id)
        };
        let mut reached = self.content.reached.clone();
        let mut before = self.content.before.clone();
        if reached.is_empty() {
            before.retain(|id, _| {
                self.delivered().any(|it| is_told(it, id))
                    && self.waiting().any(|it| is_told(it, id))
            });
        }
        let waits = |to: &Shown| self.waiting().any(|it| it.to == *to);
        let others = self.delivered().map(|it| it.to.clone());
        reached.extend(others.filter(|to| !waits(to)));
        (!before.is_empty() && !reached.is_empty()).then_some((reached, before))
    }

    /// Whether this is a weekly report.
    pub(super) fn is_weekly(&self) -> bool {
        self.content.envelope.week.is_some()
    }

    /// Whether the message is for readers whom an earlier one did not reach.
    pub(super) fn is_for_others(&self) -> bool {
        !self.content.reached.is_empty()
    }

    /// Whether the recipient gets this message, unless another one does.
    pub(super) fn takes(&self, recipient: &str) -> bool {
        !self.content.reached.contains(&Delivery::text(recipient))
    }

    /// The incidents with the positions of the readers of this message.
    pub(super) fn as_heard(
        &self,
        notifier: &str,
        mut incidents: Vec<IncidentFile>,
    ) -> Vec<IncidentFile> {
        if self.is_for_others() {
            for file in &mut incidents {
                if let Some(through) = self.content.before.get(&file.log.id) {
                    let heard = file.notified.entry(notifier.to_owned()).or_default();
                    heard.through.clone_from(through);
                }
            }
        }
        incidents
    }

    /// Plans the deliveries of a report, with the notifier's settings, whose digest is `settings`. After a
    /// change of the settings, deliveries that failed are due again. Recipients that people removed are dropped.
    pub(super) fn plan(
        &mut self,
        settings: &str,
        report: &NotifierReport,
        incidents: &[IncidentFile],
        notifier: &str,
        planned: Option<&[PlannedDelivery]>,
    ) {
        self.content.incidents = report.heard.len() as u64;
        let audience = report.envelope.summary.audience.clone();
        self.content.envelope.summary.audience = audience;
        for (id, _) in &report.heard {
            let file = incidents.iter().find(|file| file.log.id == *id);
            let through = file.and_then(|file| file.notified.get(notifier)?.through.clone());
            self.content.before.entry(id.clone()).or_insert(through);
        }
        if !self.is_for_others() {
            self.content.heard = report.heard.iter().cloned().collect();
        }
        if self.content.settings != settings {
            self.retry_failed();
            settings.clone_into(&mut self.content.settings);
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

    /// Does not ask again for what a service refused with the same settings: a person must act first.
    pub(super) fn keep_refusals(&mut self, earlier: &[Self]) {
        let settings = &self.content.settings;
        let alike = earlier.iter().filter(|it| it.content.settings == *settings);
        let refused: Vec<OutboxDelivery> = alike
            .flat_map(Self::waiting)
            .filter(|it| it.outcome == OutboxOutcome::Failed && it.scope == Scope::Delivery)
            .cloned()
            .collect();
        for delivery in self.content.deliveries.iter_mut().flatten() {
            if let Some(refused) = refused.iter().find(|it| it.to == delivery.to) {
                let (id, incidents) = (delivery.id.clone(), delivery.incidents.clone());
                *delivery = OutboxDelivery {
                    id,
                    incidents,
                    ..refused.clone()
                };
            }
        }
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
        let due = self.waiting().filter(|delivery| delivery.is_due());
        due.map(|delivery| delivery.id.clone()).collect()
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
        let written = self.file.replace(&bytes);
        written.with_context(|| format!("cannot write {}", self.file))
    }

    /// Removes the message: every delivery was made, or a person drops the rest.
    pub(crate) fn remove(&self) -> anyhow::Result<()> {
        let removed = self.file.remove();
        removed.with_context(|| format!("cannot remove {}", self.file))?;
        // A folder stays while it has other messages.
        self.file.root().remove_empty(2);
        Ok(())
    }
}

impl EarlierTries {
    /// The tries of messages that nobody got; `None` without messages.
    fn of(unheard: &[Message]) -> Option<Self> {
        let delays = || {
            let now = |message: &Message| message.content.envelope.run.started;
            unheard.iter().filter_map(move |it| it.delay(now(it)))
        };
        Some(Self {
            since: unheard.iter().map(Message::since).min()?,
            first_tried: delays().map(|delay| delay.first_tried).min(),
            last_tried: delays().map(|delay| delay.last_tried).max(),
            fault: delays()
                .next_back()
                .map(|delay| delay.reason)
                .unwrap_or_default(),
            attempts: unheard
                .iter()
                .map(Message::attempts)
                .max()
                .unwrap_or_default(),
        })
    }
}

/// The run without its incidents, findings and mistakes.
fn without_findings(run: &Envelope) -> Envelope {
    let mut bare = run.clone();
    bare.incidents.clear();
    bare.mistakes.clear();
    bare.fixed.clear();
    bare.findings.clear();
    bare.changes.clear();
    bare.archived.clear();
    bare
}
