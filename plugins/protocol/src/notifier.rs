//! The way out of the program.

use std::future::Future;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Envelope;

/// A delivery under way.
pub type Delivery<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// Takes a report out of the program.
pub trait Notifier: Send + Sync {
    /// Which reports it wants.
    fn interest(&self) -> Interest;

    /// Delivers one report. The caller sets the time limit by dropping the future.
    fn deliver<'a>(&'a self, envelope: &'a Envelope) -> Delivery<'a>;
}

/// Which reports a notifier wants to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Only those with changes in them.
    News,
    /// Every one.
    EveryRun,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It has left our hands for good.
    Delivered,
    /// It may work later: keep it and try again.
    Retry,
    /// It will never work as it is: tell people.
    Failed,
}

/// What a notifier says of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// How it ended.
    pub outcome: Outcome,
    /// For people: where it went, or what went wrong and what to do.
    pub message: String,
}

impl Answer {
    /// It arrived; `message` says where.
    pub fn delivered(message: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Delivered,
            message: message.into(),
        }
    }

    /// It may work later; `message` says what went wrong.
    pub fn retry(message: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Retry,
            message: message.into(),
        }
    }

    /// It will not work; `message` says what went wrong and what to do.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Failed,
            message: message.into(),
        }
    }
}
