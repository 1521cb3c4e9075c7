//! The interface between a run and a notifier.

use std::future::Future;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::envelope::Envelope;

/// A delivery in progress.
pub type DeliveryFuture<'a> = Pin<Box<dyn Future<Output = DeliveryReport> + Send + 'a>>;

/// Delivers the report of a run to people or programs.
pub trait Notifier: Send + Sync {
    /// Which reports the notifier is called with.
    fn trigger(&self) -> Trigger;

    /// Delivers one report. The caller enforces the time limit: it drops the future.
    fn deliver<'a>(&'a self, envelope: &'a Envelope) -> DeliveryFuture<'a>;
}

/// Which reports a notifier is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Only reports that contain news ([`Envelope::has_news`]).
    News,
    /// The report of every run.
    EveryRun,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryOutcome {
    /// The notifier delivered the report. urldb forgets the report.
    Delivered,
    /// The delivery may work later. urldb keeps the report and tries again in the next run.
    Retry,
    /// The delivery cannot work until a person corrects something. urldb reports the failure.
    Failed,
}

/// What a notifier reports about one delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryReport {
    /// How the delivery ended.
    pub outcome: DeliveryOutcome,
    /// For people: the destination, or what went wrong and what to do.
    pub message: String,
}

impl DeliveryReport {
    /// A successful delivery. `message` names the destination.
    pub fn delivered(message: impl Into<String>) -> Self {
        Self {
            outcome: DeliveryOutcome::Delivered,
            message: message.into(),
        }
    }

    /// A delivery that may work later. `message` says what went wrong.
    pub fn retry(message: impl Into<String>) -> Self {
        Self {
            outcome: DeliveryOutcome::Retry,
            message: message.into(),
        }
    }

    /// A delivery that cannot work. `message` says what went wrong and what to do.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            outcome: DeliveryOutcome::Failed,
            message: message.into(),
        }
    }
}
