//! The notifiers' memory of incidents between runs: `notified` in the files of incidents.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use urldb_files::Root;
use urldb_protocol::Remembered;

use crate::ledger::{IncidentFile, Incidents, NewestCard, incidents};
use crate::notify::IncidentFacts;

/// Stores facts of notifiers in the files of incidents.
pub struct IncidentMemory {
    ledger: Root,
    known: Mutex<Known>,
}

/// The incidents that are open, or closed a short time ago.
struct Known {
    incidents: Vec<IncidentFile>,
    /// Whether the incidents have files.
    is_saved: bool,
}

impl IncidentMemory {
    /// The memory of incidents whose files are written.
    ///
    /// # Errors
    /// As [`Incidents::load`].
    pub fn of_ledger(ledger: &Root, now: Timestamp) -> anyhow::Result<Self> {
        let known = Known {
            incidents: Incidents::load(ledger, now)?.into_known(),
            is_saved: true,
        };
        Ok(Self {
            ledger: ledger.clone(),
            known: Mutex::new(known),
        })
    }

    /// The memory of a run whose incidents have no files yet. [`Self::save`] writes them.
    pub(super) fn of_run(ledger: &Root, incidents: Vec<IncidentFile>) -> Self {
        let known = Known {
            incidents,
            is_saved: false,
        };
        Self {
            ledger: ledger.clone(),
            known: Mutex::new(known),
        }
    }

    /// Writes the incidents of the run with all facts. Later facts go into the files.
    pub(super) fn save(&self, before: &Incidents) -> anyhow::Result<()> {
        let mut known = self.known();
        before.save(&known.incidents)?;
        known.is_saved = true;
        Ok(())
    }

    /// Changes an incident here, and in its file if it has one.
    fn change(&self, id: &str, change: impl Fn(&mut IncidentFile)) -> anyhow::Result<()> {
        let mut known = self.known();
        let is_known = known
            .incidents
            .iter_mut()
            .find(|it| it.log.id == id)
            .map(&change)
            .is_some();
        if is_known && !known.is_saved {
            return Ok(());
        }
        incidents::change(&self.ledger, id, change)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IncidentFacts for IncidentMemory {
    fn incidents(&self) -> Vec<IncidentFile> {
        self.known().incidents.clone()
    }

    fn deliver(&self, notifier: &str, cards: Vec<(String, NewestCard)>) -> anyhow::Result<()> {
        cards.into_iter().try_for_each(|(id, card)| {
            self.change(&id, |incident| incident.deliver(notifier, card.clone()))
        })
    }

    fn expect(&self, notifier: &str, expected: Vec<String>) -> anyhow::Result<()> {
        expected.into_iter().try_for_each(|id| {
            self.change(&id, |incident| {
                incident.notified.entry(notifier.to_owned()).or_default();
            })
        })
    }

    fn remember(&self, notifier: &str, facts: &[Remembered]) -> anyhow::Result<()> {
        for facts in facts.chunk_by(|one, other| one.incident == other.incident) {
            self.change(&facts[0].incident, |incident| {
                let card = incident.notified.entry(notifier.to_owned()).or_default();
                let values = facts
                    .iter()
                    .map(|fact| (fact.key.clone(), fact.value.clone()));
                card.facts.extend(values);
            })?;
        }
        Ok(())
    }
}
