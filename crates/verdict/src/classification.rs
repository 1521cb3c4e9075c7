//! The classification of one observation.

use urldb_protocol::{Reason, State};

use crate::warning::Warning;

/// The classification of one observation against the promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classification {
    /// The state.
    pub state: State,
    /// The reason, where the state has several.
    pub reason: Option<Reason>,
    /// The promise, for people; absent where `observed` says enough.
    pub expected: Option<String>,
    /// The observation, for people.
    pub observed: String,
    /// A remark besides the state.
    pub warning: Option<Warning>,
}

impl Classification {
    pub(super) fn ok() -> Self {
        Self {
            state: State::Ok,
            reason: None,
            expected: None,
            observed: "as promised".into(),
            warning: None,
        }
    }

    pub(super) fn new(
        state: State,
        reason: impl Into<Option<Reason>>,
        observed: impl Into<String>,
    ) -> Self {
        Self {
            state,
            reason: reason.into(),
            expected: None,
            observed: observed.into(),
            warning: None,
        }
    }

    pub(super) fn given_up() -> Self {
        Self::new(
            State::Inconclusive,
            Reason::RunEnded,
            "the run ended before it could be judged",
        )
    }

    pub(super) fn not_asked(cause: &str) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::NotAsked,
            format!("was not asked: {cause}"),
        )
    }

    pub(super) fn own_network(observed: &str) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::OwnNetwork,
            format!("no host answered in this run, so it may be our own network: {observed}"),
        )
    }

    pub(super) fn same_page(observed: &str, domains: usize) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::OwnNetwork,
            format!(
                "hosts of {domains} domains answer with the same page and no promised bytes \
                 arrived in this run, so it may be our own network: {observed}"
            ),
        )
    }

    pub(super) fn expecting(self, expected: impl Into<String>) -> Self {
        Self {
            expected: Some(expected.into()),
            ..self
        }
    }

    pub(super) fn warning(self, warning: Warning) -> Self {
        Self {
            warning: Some(warning),
            ..self
        }
    }

    /// One sentence for people.
    pub fn message(&self) -> String {
        match &self.expected {
            Some(expected) => format!("{}, promised {expected}", self.observed),
            None => self.observed.clone(),
        }
    }
}
