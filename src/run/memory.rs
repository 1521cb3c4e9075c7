//! The notifiers' memory of incidents between runs: `threads` in the files of incidents.

use std::sync::{Mutex, MutexGuard, PoisonError};

use urldb_files::Root;
use urldb_protocol::{Envelope, Incident, Remembered};

use crate::ledger::{Incidents, incidents};
use crate::notify::IncidentFacts;

/// Stores facts of notifiers in the files of incidents.
pub struct IncidentMemory {
    ledger: Root,
    /// The incidents of a run until their files are written.
    unsaved: Mutex<Vec<Incident>>,
}

impl IncidentMemory {
    /// The memory of incidents whose files are written.
    pub fn of_ledger(ledger: &Root) -> Self {
        Self::of_run(ledger, vec![])
    }

    /// The memory of a run whose incidents have no files yet. [`Self::save`] writes them.
    pub(super) fn of_run(ledger: &Root, incidents: Vec<Incident>) -> Self {
        Self {
            ledger: ledger.clone(),
            unsaved: Mutex::new(incidents),
        }
    }

    /// Writes the incidents of the run with all facts. Later facts go into the files.
    pub(super) fn save(&self, known: &Incidents) -> anyhow::Result<()> {
        known.save(&self.unsaved())?;
        self.unsaved().clear();
        Ok(())
    }

    fn unsaved(&self) -> MutexGuard<'_, Vec<Incident>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IncidentFacts for IncidentMemory {
    fn recall(&self, notifier: &str, envelope: &mut Envelope) {
        for incident in &mut envelope.incidents {
            // A report about an incident without a file is delivered as it is.
            let threads = incidents::threads(&self.ledger, &incident.id);
            if let Some(thread) = threads
                .ok()
                .and_then(|mut threads| threads.remove(notifier))
            {
                incident.threads.insert(notifier.to_owned(), thread);
            }
        }
    }

    fn remember(&self, notifier: &str, facts: &[Remembered]) -> anyhow::Result<()> {
        let mut unsaved = self.unsaved();
        for facts in facts.chunk_by(|one, other| one.incident == other.incident) {
            let id = &facts[0].incident;
            let values = || {
                facts
                    .iter()
                    .map(|fact| (fact.key.clone(), fact.value.clone()))
            };
            match unsaved.iter_mut().find(|incident| incident.id == *id) {
                Some(incident) => {
                    let thread = incident.threads.entry(notifier.to_owned());
                    thread.or_default().extend(values());
                }
                None => incidents::remember(&self.ledger, id, notifier, values())?,
            }
        }
        Ok(())
    }
}
