//! The memory of notifiers about incidents between runs: their newest cards, and facts such as the number of an
//! issue.

use urldb_protocol::Remembered;

use crate::ledger::{IncidentFile, NewestCard};

/// Stores newest cards and facts of notifiers in the ledger.
pub trait IncidentFacts: Sync {
    /// The incidents that are open, or closed a short time ago, as they are now.
    fn incidents(&self) -> Vec<IncidentFile>;

    /// Stores facts that a notifier learned.
    fn remember(&self, notifier: &str, facts: &[Remembered]) -> anyhow::Result<()>;

    /// Stores the newest cards of a notifier, by the ids of their incidents.
    fn deliver(&self, notifier: &str, cards: Vec<(String, NewestCard)>) -> anyhow::Result<()>;

    /// Notes incidents that a notifier has to tell, by their ids, unless it has a card of them.
    fn expect(&self, notifier: &str, expected: Vec<String>) -> anyhow::Result<()>;
}

/// Stores nothing: a test message has no incidents.
impl IncidentFacts for () {
    fn incidents(&self) -> Vec<IncidentFile> {
        vec![]
    }

    fn remember(&self, _: &str, _: &[Remembered]) -> anyhow::Result<()> {
        Ok(())
    }

    fn deliver(&self, _: &str, _: Vec<(String, NewestCard)>) -> anyhow::Result<()> {
        Ok(())
    }

    fn expect(&self, _: &str, _: Vec<String>) -> anyhow::Result<()> {
        Ok(())
    }
}
