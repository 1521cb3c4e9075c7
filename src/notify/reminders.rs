//! When a notifier repeats what is open. Pure.

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{AffectedUrl, Incident};

use super::intervals::has_passed;
use crate::config::{Audience, Occasion};
use crate::ledger::NewestCard;

/// The reminders of one notifier.
pub(super) struct Reminders {
    interval: Option<SignedDuration>,
    now: Timestamp,
}

impl Reminders {
    pub(super) fn new(audience: &Audience, now: Timestamp) -> Self {
        Self {
            interval: interval(audience),
            now,
        }
    }

    /// Whether a reminder comes now because of this incident. It names all that are open, so that they stay in step.
    pub(super) fn is_due(&self, incident: &Incident, newest: &NewestCard) -> bool {
        let is_over = |delivered| {
            let interval = self.interval;
            interval.is_some_and(|interval| has_passed(delivered, self.now, interval))
        };
        self.names(incident, newest) && newest.at.is_some_and(is_over)
    }

    /// Whether a reminder of the notifier names the incident.
    pub(super) fn names(&self, incident: &Incident, newest: &NewestCard) -> bool {
        let is_repeated = |url: &AffectedUrl| !url.acked;
        self.interval.is_some() && newest.at.is_some() && incident.affected().any(is_repeated)
    }

    /// The time from which on the incident may be repeated, if nothing is told before.
    pub(super) fn next(&self, incident: &Incident, newest: &NewestCard) -> Option<Timestamp> {
        newest
            .at
            .filter(|_| self.names(incident, newest))?
            .checked_add(self.interval?)
            .ok()
    }

    /// The time from which on the next reminder comes, if one comes now.
    pub(super) fn after_this(&self) -> Option<Timestamp> {
        self.now.checked_add(self.interval?).ok()
    }
}

/// The time between reminders. A reader of each run, or of no breaks, needs none.
fn interval(audience: &Audience) -> Option<SignedDuration> {
    let has_every_run = audience.on.contains(&Occasion::EveryRun);
    audience
        .remind
        .try_into()
        .ok()
        .filter(|_| !has_every_run && audience.tells_breaks())
}
