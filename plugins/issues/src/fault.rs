//! Why a request to a service did not work.

use urldb_protocol::{Delivery, DeliveryOutcome, Scope};

/// A request that did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// For people.
    pub(crate) message: String,
    /// The status of the answer; 0 without an answer.
    pub(crate) status: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// No connection.
    Unreachable,
    /// No complete answer: what was asked may be done.
    Lost,
    /// The service asks for a wait that is longer than a run.
    Limited,
    /// The service has a fault of its own (5xx).
    Busy,
    /// The token is refused, or lacks a right, or the repository is not there.
    Refused,
    /// There is no such thing (404, 410).
    Missing,
    /// The service does not want this very request.
    Invalid,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: 0,
        }
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Whether the service may have done what was asked.
    pub(crate) const fn may_be_done(&self) -> bool {
        matches!(self.kind, FaultKind::Lost | FaultKind::Busy)
    }

    pub(crate) const fn scope(&self) -> Scope {
        match self.kind {
            FaultKind::Unreachable | FaultKind::Lost | FaultKind::Limited | FaultKind::Refused => {
                Scope::Notifier
            }
            FaultKind::Busy | FaultKind::Missing | FaultKind::Invalid => Scope::Delivery,
        }
    }

    const fn outcome(&self) -> DeliveryOutcome {
        match self.kind {
            FaultKind::Unreachable | FaultKind::Lost | FaultKind::Limited | FaultKind::Busy => {
                DeliveryOutcome::Retry
            }
            FaultKind::Refused | FaultKind::Missing | FaultKind::Invalid => DeliveryOutcome::Failed,
        }
    }

    /// The result of a delivery that ended with this fault.
    pub(crate) fn delivery(&self, id: &str) -> Delivery {
        let delivery = match self.outcome() {
            DeliveryOutcome::Retry => Delivery::retry(id, &self.message),
            _ => Delivery::failed(id, &self.message),
        };
        match self.scope() {
            Scope::Notifier => delivery.of_notifier(),
            Scope::Delivery => delivery,
        }
    }
}
