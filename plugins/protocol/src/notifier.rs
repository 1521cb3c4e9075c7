//! The interface between a run and a notifier.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use urldb_text::Shown;

use crate::envelope::Envelope;

/// The deliveries of one report, in progress.
pub type DeliveryFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Takes the result of one delivery, as soon as the delivery has ended.
pub type ReportDelivery<'a> = &'a (dyn Fn(Delivery) + Send + Sync);

/// Delivers the reports of runs to people or programs.
///
/// The caller keeps each report until every delivery was made: delivery is at least once. The caller
/// has removed from the envelope what the notifier is not asked to tell.
pub trait Notifier: Send + Sync {
    /// The deliveries that the report needs: by default one. The same report and the same settings give the
    /// same ids.
    fn deliveries(&self, envelope: &Envelope) -> Vec<PlannedDelivery> {
        vec![PlannedDelivery::of_report(envelope, self.destination())]
    }

    /// Tries the deliveries with the ids in `pending`, and reports the result of each at once, so that
    /// no result is lost when the process ends.
    ///
    /// The caller enforces the time limit: the caller drops the future, and tries every delivery
    /// without a result again in the next run. A notifier stops after a result with
    /// [`Scope::Notifier`].
    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        pending: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a>;

    /// The destination of the deliveries, for people: `smtp.example.org:587, STARTTLS, user urldb`.
    fn destination(&self) -> String;

    /// Whether a message opens something that a later message has to close, such as an issue.
    fn keeps_threads(&self) -> bool {
        false
    }

    /// Whether a report replaces all earlier reports, so that only the report of the latest run is
    /// delivered, and never kept for another try. True for a status page.
    fn replaces_earlier(&self) -> bool {
        false
    }
}

/// A delivery that a report needs: one message to one recipient, one issue, one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedDelivery {
    /// Identifies the delivery within the report.
    pub id: String,
    /// The topic, for people: the subject of a mail, the title of an issue.
    pub about: String,
    /// The recipient, for people: `ada@example.org`.
    pub to: String,
    /// The ids of the incidents that the delivery tells; empty if it tells the whole report.
    pub incidents: Vec<String>,
    /// Facts of the delivery before its first try, such as the subject of a mail thread.
    pub remember: Vec<Remembered>,
}

impl PlannedDelivery {
    /// The id of the one delivery of a notifier that delivers each report as a whole.
    pub const REPORT: &str = "report";

    /// The one delivery of a notifier that delivers each report as a whole. `to` is the destination.
    pub fn of_report(envelope: &Envelope, to: String) -> Self {
        Self {
            id: Self::REPORT.to_owned(),
            about: format!("report of run {}", envelope.run.id),
            to,
            incidents: Vec::new(),
            remember: Vec::new(),
        }
    }
}

/// A fact that a notifier needs in later runs. Later envelopes contain the fact in
/// [`Incident::threads`](crate::Incident::threads).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Remembered {
    /// The id of the incident.
    pub incident: String,
    /// The name of the fact, such as `issue`.
    pub key: String,
    /// The value. A later value of the same name replaces an earlier one.
    pub value: Shown,
}

/// The result of one delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Delivery {
    /// [`PlannedDelivery::id`].
    pub id: String,
    /// The end of the delivery.
    pub outcome: DeliveryOutcome,
    /// Whether the fault concerns the other deliveries too. Without meaning for a delivery that was
    /// made.
    #[serde(default)]
    pub scope: Scope,
    /// For people, on one line: the destination, or what went wrong.
    pub message: Shown,
    /// The replies of the service, in order; the last one decided. Without secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<Shown>,
    /// For people: where to look for the cause of a fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Shown>,
    /// Facts that the delivery made known, such as the number of an issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remember: Vec<Remembered>,
    /// A line for the terminal alone, which no file and no report gets: it may hold a secret.
    #[serde(skip)]
    pub aside: Option<Shown>,
    /// The service takes the delivery again after this time.
    #[serde(skip)]
    pub wait: Option<Duration>,
}

/// The end of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryOutcome {
    /// The delivery was made.
    Delivered,
    /// The delivery may work later without help: no connection, a server that is busy.
    Retry,
    /// A person must correct something first.
    Failed,
}

/// The deliveries that a fault concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// This delivery only, such as an unknown recipient. Other deliveries are tried. A delivery that
    /// failed is tried again when the notifier's settings have changed, or when a person asks for it.
    #[default]
    Delivery,
    /// All deliveries of the notifier, such as a server that does not answer or refuses the login.
    /// This run tries no other delivery of the notifier; the next run tries again.
    Notifier,
}

impl Delivery {
    /// Most characters of a text of a delivery.
    pub const LONGEST_TEXT: usize = 500;

    /// A text of a delivery: what a service said, or ours about it.
    pub fn text(text: impl AsRef<str>) -> Shown {
        Shown::new(text.as_ref(), Self::LONGEST_TEXT)
    }

    /// A delivery that was made. `message` names the destination.
    pub fn delivered(id: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self::new(id, DeliveryOutcome::Delivered, message)
    }

    /// A delivery that may work later. `message` says what went wrong.
    pub fn retry(id: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self::new(id, DeliveryOutcome::Retry, message)
    }

    /// A delivery that cannot work. `message` says what went wrong and what to do.
    pub fn failed(id: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self::new(id, DeliveryOutcome::Failed, message)
    }

    fn new(id: impl Into<String>, outcome: DeliveryOutcome, message: impl AsRef<str>) -> Self {
        Self {
            id: id.into(),
            outcome,
            scope: Scope::Delivery,
            message: Self::text(message),
            replies: Vec::new(),
            advice: None,
            aside: None,
            wait: None,
            remember: Vec::new(),
        }
    }

    /// The same result, with the time after which the service takes the delivery again.
    #[must_use]
    pub fn after(mut self, wait: Option<Duration>) -> Self {
        self.wait = wait;
        self
    }

    /// The same result, for a fault that concerns all deliveries of the notifier.
    #[must_use]
    pub fn of_notifier(mut self) -> Self {
        self.scope = Scope::Notifier;
        self
    }
}
