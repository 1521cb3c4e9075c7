//! Facts about incidents that notifiers need in later runs, such as the number of an issue.

use urldb_protocol::{Envelope, Remembered};

use crate::ledger::{Heard, IncidentFile};

/// Stores facts about incidents that notifiers need in later runs, in the ledger.
pub trait IncidentFacts: Sync {
    /// Adds the stored facts to the incidents of a report that may be older than they are.
    fn recall(&self, notifier: &str, envelope: &mut Envelope);

    /// Stores facts that a notifier learned.
    fn remember(&self, notifier: &str, facts: &[Remembered]) -> anyhow::Result<()>;

    /// The incidents after the run, until they are written.
    fn incidents(&self) -> Vec<IncidentFile>;

    /// Stores the position of a notifier in incidents, by their ids.
    fn hear(&self, notifier: &str, heard: Vec<(String, Heard)>) -> anyhow::Result<()>;

    /// Notes incidents of which a notifier has to hear, unless it has a position in them.
    fn expect(&self, notifier: &str, expected: Vec<(String, Heard)>) -> anyhow::Result<()>;
}

/// Stores nothing: a test message has no incidents.
impl IncidentFacts for () {
    fn recall(&self, _: &str, _: &mut Envelope) {}

    fn remember(&self, _: &str, _: &[Remembered]) -> anyhow::Result<()> {
        Ok(())
    }

    fn incidents(&self) -> Vec<IncidentFile> {
        vec![]
    }

    fn hear(&self, _: &str, _: Vec<(String, Heard)>) -> anyhow::Result<()> {
        Ok(())
    }

    fn expect(&self, _: &str, _: Vec<(String, Heard)>) -> anyhow::Result<()> {
        Ok(())
    }
}
