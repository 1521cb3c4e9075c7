//! The content of a file of the outbox: the deliveries of a message, and their faults.

use std::collections::BTreeMap;

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_files::RootFile;
use urldb_protocol::{
    Delivery, DeliveryOutcome, Envelope, PROTOCOL, PlannedDelivery, Scope, Shown,
};

use crate::ledger::NewestCard;
use crate::limits;

/// Most replies of a service that are stored for one delivery.
const MOST_REPLIES: usize = 20;

/// Most bytes of a file.
const LARGEST: usize = 64 << 10;

/// The content of an outbox file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MessageFile {
    pub(super) protocol: u32,
    /// Digest of the notifier's section of urldb.toml when the deliveries were planned.
    pub(super) settings: String,
    /// Identifies what the deliveries tell, as [`Envelope::tells`].
    pub(super) tells: String,
    /// Every delivery of the message; absent until they are planned.
    pub(super) deliveries: Option<Vec<OutboxDelivery>>,
    /// The earlier messages whose place this one takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) earlier: Option<EarlierTries>,
    /// The newest card of each incident once the message is delivered, by the id of the incident.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) delivered: BTreeMap<String, NewestCard>,
    /// Number of incidents that the message tells.
    pub(super) incidents: u64,
    /// The run without its incidents, findings and mistakes.
    pub(super) envelope: Envelope,
}

/// The tries of earlier messages that nobody got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EarlierTries {
    /// The start of the run of the first message.
    pub(super) since: Timestamp,
    /// The first try; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_tried: Option<Timestamp>,
    /// The last try; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_tried: Option<Timestamp>,
    /// The fault of the last try, for people.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) fault: Shown,
    /// Number of tries.
    pub(super) attempts: u32,
}

/// One delivery of a report, and the result of its tries so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutboxDelivery {
    /// [`PlannedDelivery::id`].
    pub(crate) id: String,
    /// The recipient, for people.
    pub(crate) to: Shown,
    /// The ids of the incidents that the delivery tells; empty if it tells the whole report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) incidents: Vec<String>,
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

impl MessageFile {
    /// The text of the file: a message that is too long leaves out replies, facts, then deliveries.
    pub(super) fn to_bytes(&self) -> anyhow::Result<Vec<u8>> {
        let mut short = self.clone();
        let mut deliveries = short.deliveries.iter().flatten();
        if !deliveries.any(|it| it.outcome == OutboxOutcome::Delivered) {
            // Each try composes the message anew.
            short.delivered.clear();
        }
        loop {
            let bytes = serde_json::to_vec_pretty(&short).context("cannot write a message")?;
            if bytes.len() <= LARGEST || !short.shorten() {
                return Ok(bytes);
            }
        }
    }

    /// Leaves something out. Returns false if nothing is left to leave out.
    fn shorten(&mut self) -> bool {
        let deliveries = self.deliveries.as_deref_mut().unwrap_or_default();
        let long = deliveries.iter_mut().filter(|it| it.replies.len() > 1);
        let mut is_shorter = false;
        for delivery in long {
            delivery.replies.drain(..delivery.replies.len() - 1);
            is_shorter = true;
        }
        if is_shorter {
            return true;
        }
        if !self.delivered.is_empty() {
            // The ledger gets these after each delivery; after a kill in between, readers hear it twice.
            self.delivered.clear();
            return true;
        }
        // The next try plans anew what was not made; a delivery that was made is forgotten last.
        let Some(deliveries) = self.deliveries.as_mut().filter(|it| it.len() > 1) else {
            return false;
        };
        deliveries.sort_by_key(|it| it.outcome != OutboxOutcome::Delivered);
        deliveries.truncate(deliveries.len() / 2);
        true
    }

    pub(super) fn read(file: &RootFile) -> anyhow::Result<Self> {
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
    pub(super) fn new(planned: &PlannedDelivery) -> Self {
        Self {
            id: planned.id.clone(),
            to: Delivery::text(&planned.to),
            incidents: planned.incidents.clone(),
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
    pub(super) fn is_due(&self) -> bool {
        match self.outcome {
            OutboxOutcome::Pending | OutboxOutcome::Retry => true,
            OutboxOutcome::Failed => self.scope == Scope::Notifier,
            OutboxOutcome::Delivered => false,
        }
    }

    pub(super) fn record(&mut self, result: &Delivery, now: Timestamp) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_keeps_what_was_delivered() {
        let text = include_str!("../../docs/envelope.example.json");
        let mut envelope: Envelope = serde_json::from_str(text).unwrap();
        envelope.incidents.clear();
        envelope.findings.clear();
        let ids: Vec<String> = (0..400)
            .map(|number| format!("20261104T041702Z-{number:08x}"))
            .collect();
        let deliveries = (0..300).map(|number| OutboxDelivery {
            outcome: match number % 100 {
                99 => OutboxOutcome::Delivered,
                _ => OutboxOutcome::Retry,
            },
            message: Delivery::text("450 try again later"),
            replies: vec![Delivery::text("450 try again later"); 1 + number % 3],
            ..OutboxDelivery::new(&PlannedDelivery {
                id: format!("delivery-{number}"),
                about: String::new(),
                to: format!("reader-{number}@example.org"),
                incidents: ids.clone(),
                remember: vec![],
            })
        });
        let card = NewestCard {
            facts: [(
                "subject".to_owned(),
                Delivery::text("a file is gone".repeat(9)),
            )]
            .into(),
            ..NewestCard::default()
        };
        let file = MessageFile {
            protocol: PROTOCOL,
            settings: String::new(),
            deliveries: Some(deliveries.collect()),
            tells: String::new(),
            earlier: None,
            delivered: ids.iter().map(|id| (id.clone(), card.clone())).collect(),
            incidents: 400,
            envelope,
        };
        let bytes = file.to_bytes().unwrap();
        assert!(bytes.len() <= LARGEST, "{}", bytes.len());
        let short: MessageFile = serde_json::from_slice(&bytes).unwrap();
        let deliveries = short.deliveries.unwrap();
        let first = deliveries.first().map(|it| it.id.as_str());
        assert_eq!(first, Some("delivery-99"));
        assert!(deliveries.iter().all(|it| it.replies.len() == 1));
    }
}
