//! The notifiers' memory of incidents between runs: `notified` in the files of incidents.

use std::sync::{Mutex, MutexGuard, PoisonError};

use urldb_files::Root;
use urldb_protocol::{Envelope, Remembered};

use crate::ledger::{Heard, IncidentFile, Incidents, incidents};
use crate::notify::IncidentFacts;

/// Stores facts of notifiers in the files of incidents.
pub struct IncidentMemory {
    ledger: Root,
    /// The incidents of a run until their files are written.
    unsaved: Mutex<Vec<IncidentFile>>,
}

impl IncidentMemory {
    /// The memory of incidents whose files are written.
    pub fn of_ledger(ledger: &Root) -> Self {
        Self::of_run(ledger, vec![])
    }

    /// The memory of a run whose incidents have no files yet. [`Self::save`] writes them.
    pub(super) fn of_run(ledger: &Root, incidents: Vec<IncidentFile>) -> Self {
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

    /// Changes incidents, by their ids: those that are not written yet, or else the files.
    fn each(
        &self,
        changes: Vec<(String, Heard)>,
        change: impl Fn(&mut IncidentFile, Heard),
    ) -> anyhow::Result<()> {
        let mut unsaved = self.unsaved();
        for (id, heard) in changes {
            match unsaved.iter_mut().find(|incident| incident.log.id == id) {
                Some(incident) => change(incident, heard),
                None => incidents::change(&self.ledger, &id, |incident| change(incident, heard))?,
            }
        }
        Ok(())
    }

    fn unsaved(&self) -> MutexGuard<'_, Vec<IncidentFile>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IncidentFacts for IncidentMemory {
    fn recall(&self, notifier: &str, envelope: &mut Envelope) {
        for incident in &mut envelope.incidents {
            // A report about an incident without a file is delivered as it is.
            let heard = incidents::notified(&self.ledger, &incident.id);
            if let Some(heard) = heard.ok().and_then(|mut it| it.remove(notifier)) {
                incident.threads.insert(notifier.to_owned(), heard.facts);
            }
        }
    }

    fn incidents(&self) -> Vec<IncidentFile> {
        self.unsaved().clone()
    }

    fn hear(&self, notifier: &str, heard: Vec<(String, Heard)>) -> anyhow::Result<()> {
        self.each(heard, |incident, heard| incident.hear(notifier, heard))
    }

    fn expect(&self, notifier: &str, expected: Vec<(String, Heard)>) -> anyhow::Result<()> {
        self.each(expected, |incident, heard| {
            incident
                .notified
                .entry(notifier.to_owned())
                .or_insert(heard);
        })
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
            match unsaved.iter_mut().find(|incident| incident.log.id == *id) {
                Some(incident) => {
                    let heard = incident.notified.entry(notifier.to_owned());
                    heard.or_default().facts.extend(values());
                }
                None => incidents::change(&self.ledger, id, |incident| {
                    let heard = incident.notified.entry(notifier.to_owned());
                    heard.or_default().facts.extend(values());
                })?,
            }
        }
        Ok(())
    }
}
