//! Facts about incidents that notifiers need in later runs, such as the number of an issue.

use urldb_protocol::{Envelope, Remembered};

/// Stores facts about incidents that notifiers need in later runs, in the ledger.
pub trait IncidentFacts: Sync {
    /// Adds the stored facts to the incidents of a report that may be older than they are.
    fn recall(&self, notifier: &str, envelope: &mut Envelope);

    /// Stores facts that a notifier learned.
    fn remember(&self, notifier: &str, facts: &[Remembered]) -> anyhow::Result<()>;
}

/// Stores nothing: a test message has no incidents.
impl IncidentFacts for () {
    fn recall(&self, _: &str, _: &mut Envelope) {}

    fn remember(&self, _: &str, _: &[Remembered]) -> anyhow::Result<()> {
        Ok(())
    }
}
