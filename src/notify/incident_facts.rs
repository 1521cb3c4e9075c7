//! The memory of notifiers about incidents between runs: their positions, and facts such as the number of an
//! issue.

use urldb_protocol::Remembered;

use crate::ledger::{Heard, IncidentFile};

/// Stores positions and facts of notifiers in the ledger.
pub trait IncidentFacts: Sync {
    /// The incidents that are open, or closed a short time ago, as they are now.
    fn incidents(&self) -> Vec<IncidentFile>;

    /// Stores facts that a notifier learned.
    fn remember(&self, notifier: &str, facts: &[Remembered]) -> anyhow::Result<()>;

    /// Stores the position of a notifier in incidents, by their ids.
    fn hear(&self, notifier: &str, heard: Vec<(String, Heard)>) -> anyhow::Result<()>;

    /// Notes incidents of which a notifier has to hear, by their ids, unless it has a position in them.
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

    fn hear(&self, _: &str, _: Vec<(String, Heard)>) -> anyhow::Result<()> {
        Ok(())
    }

    fn expect(&self, _: &str, _: Vec<String>) -> anyhow::Result<()> {
        Ok(())
    }
}
