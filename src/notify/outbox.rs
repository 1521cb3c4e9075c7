//! Undelivered reports: `outbox/NOTIFIER/RUN.json` in the ledger's folder.

use std::collections::BTreeMap;

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_files::{Kind, Root, RootFile};
use urldb_protocol::{
    Delay, Delivery, DeliveryOutcome, Envelope, PROTOCOL, PlannedDelivery, Scope, Shown,
    WaitingMessages,
};
use urldb_text::sanitize;

use crate::ledger::Heard;
use crate::limits;

/// Most replies of a service that are stored for one delivery.
const MOST_REPLIES: usize = 20;

/// The folder of undelivered reports.
#[derive(Debug)]
pub struct Outbox(Root);

/// A report that one notifier has not delivered completely.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    file: RootFile,
    content: MessageFile,
}

/// The content of an outbox file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct MessageFile {
    protocol: u32,
    /// Digest of the notifier's section of urldb.toml when the deliveries were planned.
    settings: String,
    /// Every delivery of the report; absent until they are planned.
    deliveries: Option<Vec<OutboxDelivery>>,
    /// The earlier messages whose place this one takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<EarlierTries>,
    /// The position of the notifier in each incident after the first delivery, by the id of the incident.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    heard: BTreeMap<String, Heard>,
    envelope: Envelope,
}

/// The tries of earlier messages that nobody got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct EarlierTries {
    /// The start of the run of the first message.
    since: Timestamp,
    /// The first try; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_tried: Option<Timestamp>,
    /// The last try; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_tried: Option<Timestamp>,
    /// The fault of the last try, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    fault: Shown,
    /// Number of tries.
    attempts: u32,
}

/// One delivery of a report, and the result of its tries so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutboxDelivery {
    /// [`PlannedDelivery::id`].
    pub(crate) id: String,
    /// The topic, for people.
    pub(crate) about: Shown,
    /// The recipient, for people.
    pub(crate) to: Shown,
    /// The end of the last try.
    pub(crate) outcome: OutboxOutcome,
    /// Whether the fault concerns the other deliveries too.
    pub(crate) scope: Scope,
    /// The fault, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(crate) message: Shown,
    /// The replies of the service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) replies: Vec<Shown>,
    /// Advice for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<Shown>,
    /// The time of the first try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_tried: Option<Timestamp>,
    /// The time of the last try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_tried: Option<Timestamp>,
    /// Number of tries.
    pub(crate) attempts: u32,
}

/// The end of the last try of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OutboxOutcome {
    /// Not tried yet.
    Pending,
    Delivered,
    Retry,
    Failed,
}

impl Outbox {
    /// The outbox beside this ledger.
    pub fn new(ledger: &Root) -> Self {
        Self(ledger.folder("outbox"))
    }

    /// Adds a report for one notifier, in place of messages that nobody got. Adding the same report twice
    /// changes nothing. The next try plans the deliveries if they are not `planned`.
    pub(super) fn put(
        &self,
        notifier: &str,
        settings: &str,
        (envelope, heard): (&Envelope, Vec<(String, Heard)>),
        planned: Option<&[PlannedDelivery]>,
        unheard: &[Message],
    ) -> anyhow::Result<()> {
        let name = format!("{}.json", envelope.run.id);
        let file = self.0.folder(notifier).file(name);
        let content = MessageFile {
            protocol: PROTOCOL,
            settings: settings.to_owned(),
            deliveries: planned.map(|planned| planned.iter().map(OutboxDelivery::new).collect()),
            earlier: EarlierTries::of(unheard),
            heard: heard.into_iter().collect(),
            envelope: envelope.clone(),
        };
        let path = file.path();
        let mut message = Message { file, content };
        message.keep_refusals(unheard);
        message.save()?;
        let others = unheard.iter().filter(|message| message.file.path() != path);
        others.into_iter().try_for_each(Message::remove)
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
            let read = all.iter().flatten();
            let starts = read.map(|message| message.envelope().run.started);
            WaitingMessages {
                since: starts.min(),
                messages: all.len() as u64,
                notifier: sanitize(&notifier).into_owned(),
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

    /// The short id: the random part of the run's id.
    pub(crate) fn id(&self) -> &str {
        let run = &self.content.envelope.run.id;
        run.rsplit('-').next().unwrap_or(run)
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

    /// Whether anybody got the message.
    pub(super) fn is_heard(&self) -> bool {
        self.delivered().next().is_some()
    }

    /// The position of the notifier in each incident after the first delivery.
    pub(crate) fn heard(&self) -> Vec<(String, Heard)> {
        let heard = self.content.heard.iter();
        heard
            .map(|(id, heard)| (id.clone(), heard.clone()))
            .collect()
    }

    /// Number of incidents that the message tells.
    pub(crate) fn incidents(&self) -> u64 {
        self.content.heard.len() as u64
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

    /// Follows a change of the notifier's settings, whose digest is `settings`: deliveries that failed
    /// are due again, new recipients are added, and recipients that people removed are dropped.
    pub(super) fn follow_settings(&mut self, settings: &str, planned: &[PlannedDelivery]) {
        if self.content.settings != settings || self.content.deliveries.is_none() {
            self.retry_failed();
            let old = self.content.deliveries.take().unwrap_or_default();
            let kept = |plan: &PlannedDelivery| {
                let known = old.iter().find(|delivery| delivery.id == plan.id);
                known.cloned().unwrap_or_else(|| OutboxDelivery::new(plan))
            };
            let mut deliveries: Vec<_> = planned.iter().map(kept).collect();
            // A delivery that was made stays made, so that a recipient who comes back gets no second copy.
            let is_planned = |id: &str| planned.iter().any(|plan| plan.id == id);
            let delivered = old.iter().filter(|delivery| {
                delivery.outcome == OutboxOutcome::Delivered && !is_planned(&delivery.id)
            });
            deliveries.extend(delivered.cloned());
            self.content.deliveries = Some(deliveries);
        }
        settings.clone_into(&mut self.content.settings);
    }

    /// Does not ask again for what a service refused with the same settings: a person must act first.
    fn keep_refusals(&mut self, earlier: &[Self]) {
        let settings = &self.content.settings;
        let alike = earlier.iter().filter(|it| it.content.settings == *settings);
        let refused: Vec<OutboxDelivery> = alike
            .flat_map(Self::waiting)
            .filter(|it| it.outcome == OutboxOutcome::Failed && it.scope == Scope::Delivery)
            .cloned()
            .collect();
        for delivery in self.content.deliveries.iter_mut().flatten() {
            if let Some(refused) = refused.iter().find(|it| it.to == delivery.to) {
                let (id, about) = (delivery.id.clone(), delivery.about.clone());
                *delivery = OutboxDelivery {
                    id,
                    about,
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

    fn save(&self) -> anyhow::Result<()> {
        let bytes =
            serde_json::to_vec_pretty(&self.content).context("cannot write a report as JSON")?;
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

impl MessageFile {
    fn read(file: &RootFile) -> anyhow::Result<Self> {
        let value: serde_json::Value = serde_json::from_slice(&file.read(limits::MESSAGE)?)?;
        let protocol = value.get("protocol").and_then(serde_json::Value::as_u64);
        anyhow::ensure!(
            protocol == Some(u64::from(PROTOCOL)),
            "it has format {}, and this urldb reads format {PROTOCOL}",
            protocol.map_or("no number".to_owned(), |number| number.to_string())
        );
        Ok(serde_json::from_value(value)?)
    }
}

impl OutboxDelivery {
    fn new(planned: &PlannedDelivery) -> Self {
        Self {
            id: planned.id.clone(),
            about: Delivery::text(&planned.about),
            to: Delivery::text(&planned.to),
            outcome: OutboxOutcome::Pending,
            scope: Scope::Delivery,
            message: Shown::default(),
            replies: vec![],
            advice: None,
            first_tried: None,
            last_tried: None,
            attempts: 0,
        }
    }

    /// Whether a run tries the delivery: unless a person must correct this delivery first.
    fn is_due(&self) -> bool {
        match self.outcome {
            OutboxOutcome::Pending | OutboxOutcome::Retry => true,
            OutboxOutcome::Failed => self.scope == Scope::Notifier,
            OutboxOutcome::Delivered => false,
        }
    }

    fn record(&mut self, result: &Delivery, now: Timestamp) {
        self.outcome = match result.outcome {
            DeliveryOutcome::Delivered => OutboxOutcome::Delivered,
            DeliveryOutcome::Retry => OutboxOutcome::Retry,
            DeliveryOutcome::Failed => OutboxOutcome::Failed,
        };
        self.scope = result.scope;
        self.message = result.message.clone();
        let replies = &result.replies;
        let last = &replies[replies.len().saturating_sub(MOST_REPLIES)..];
        self.replies = last.to_vec();
        self.advice.clone_from(&result.advice);
        self.first_tried.get_or_insert(now);
        self.last_tried = Some(now);
        self.attempts = self.attempts.saturating_add(1);
    }
}

fn is_empty(text: &Shown) -> bool {
    text.is_empty()
}
