//! When a notifier repeats what is open. Pure.

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{AffectedUrl, Incident};

use super::intervals::has_passed;
use crate::config::{Audience, Occasion};
use crate::ledger::Heard;

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
    pub(super) fn is_due(&self, incident: &Incident, heard: &Heard) -> bool {
        let is_over = |told| {
            let interval = self.interval;
            interval.is_some_and(|interval| has_passed(told, self.now, interval))
        };
        self.names(incident, heard) && heard.told_at().is_some_and(is_over)
    }

    /// Whether a reminder of the notifier names the incident.
    pub(super) fn names(&self, incident: &Incident, heard: &Heard) -> bool {
        let is_repeated = |url: &AffectedUrl| !url.intermittent && !url.muted && !url.acked;
        self.interval.is_some() && heard.run_at.is_some() && incident.affected().any(is_repeated)
    }

    /// The time from which on the incident may be repeated, if nothing is told before.
    pub(super) fn next(&self, incident: &Incident, heard: &Heard) -> Option<Timestamp> {
        let told = heard.told_at().filter(|_| self.names(incident, heard))?;
        told.checked_add(self.interval?).ok()
    }

    /// The time from which on the next reminder comes, if one comes now.
    pub(super) fn after_this(&self) -> Option<Timestamp> {
        self.now.checked_add(self.interval?).ok()
    }
}

/// The time between reminders. A reader of each run, or of no breaks, needs none.
fn interval(audience: &Audience) -> Option<SignedDuration> {
    let is_told_all = audience.on.contains(&Occasion::EveryRun);
    let interval = audience.remind.try_into().ok();
    interval.filter(|_| !is_told_all && audience.tells_breaks())
}
