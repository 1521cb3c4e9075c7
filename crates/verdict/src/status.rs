//! The confirmed state of a URL between runs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::State;

use crate::options::VerdictOptions;
use crate::verdict::{Classification, Verdict};

/// The confirmed state of one job between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UrlStatus {
    /// The confirmed state.
    pub state: State,
    /// When that state was first seen.
    pub since: Timestamp,
    /// The text of a [`Reason`](urldb_protocol::Reason). Text, since the ledger may hold a reason of a newer program.
    pub reason: Option<String>,
    /// Another state that the last run saw, and that is not confirmed yet.
    pub pending: Option<Pending>,
}

/// A state that is not confirmed yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The state seen last.
    pub state: State,
    /// When the doubt began.
    pub first: Timestamp,
    /// Number of consecutive runs that have seen it.
    pub count: u32,
    /// The other kind of doubt, if both last: that the URL fails, or that it is blocked.
    pub other: Option<Doubt>,
}

/// First sight and number of runs of one kind of bad state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// When the first of these runs saw it.
    pub first: Timestamp,
    /// Number of runs that have seen it.
    pub count: u32,
}

impl UrlStatus {
    /// The status after the verdict `seen` at `now`. A URL without a previous status is confirmed to be as promised.
    pub fn after(
        previous: Option<&Self>,
        seen: &Verdict,
        now: Timestamp,
        options: &VerdictOptions,
    ) -> Self {
        let believed = previous.cloned().unwrap_or_else(|| Self::as_promised(now));
        // A page that our own network may have served is no certainty, but it is a doubt.
        let masked = seen.masked();
        let classification = masked.unwrap_or(&seen.classification);
        let state = classification.state;
        let is_repeated = state == believed.state;
        if state == State::Inconclusive || masked.is_some() && is_repeated {
            return believed;
        }
        if is_repeated {
            return believed.confirmed(classification, seen.sure);
        }
        let pending = believed.pending_after(state, now);
        if !pending.is_believed(seen, now, options) {
            let pending = Some(pending);
            return Self {
                pending,
                ..believed
            };
        }
        Self::replaced(classification, &pending, now)
    }

    fn as_promised(since: Timestamp) -> Self {
        Self {
            state: State::Ok,
            since,
            reason: None,
            pending: None,
        }
    }

    /// The same state, seen once more. A doubtful reason does not replace that of a state which may be certain:
    /// a single run would be news.
    fn confirmed(self, seen: &Classification, sure: bool) -> Self {
        let may_be_sure = matches!(self.state, State::Changed | State::Gone);
        Self {
            reason: if sure || !may_be_sure {
                reason_text(seen)
            } else {
                self.reason
            },
            pending: None,
            ..self
        }
    }

    /// The state of `seen`, confirmed from now on. A recovery dates from now, any other state from
    /// the first run that saw it.
    fn replaced(seen: &Classification, pending: &Pending, now: Timestamp) -> Self {
        let state = seen.state;
        Self {
            state,
            since: if state == State::Ok {
                now
            } else {
                pending.first
            },
            reason: reason_text(seen),
            pending: None,
        }
    }

    /// Whether the promise is confirmed to hold, and no other state is pending.
    pub fn is_untroubled(&self) -> bool {
        self.state == State::Ok && self.pending.is_none()
    }

    /// Whether `state` is confirmed, or was seen by the last run.
    pub fn has_seen(&self, state: State) -> bool {
        self.state == state
            || self
                .pending
                .as_ref()
                .is_some_and(|pending| pending.state == state)
    }

    /// The pending state after a run that saw `state`. A URL that fails in changing ways is failing
    /// all the time, so these runs count together. Runs in which the URL is blocked count apart.
    /// Neither count stops the other.
    fn pending_after(&self, state: State, now: Timestamp) -> Pending {
        let (mut same, mut other) = (None, None);
        if let Some(pending) = &self.pending {
            let latest = Some(Doubt {
                first: pending.first,
                count: pending.count,
            });
            (same, other) = if pending.state.is_unsure() == state.is_unsure() {
                (latest, pending.other)
            } else {
                (pending.other, latest)
            };
        }
        Pending {
            state,
            first: same.map_or(now, |doubt| doubt.first),
            count: same.map_or(1, |doubt| doubt.count.saturating_add(1)),
            other,
        }
    }
}

fn reason_text(seen: &Classification) -> Option<String> {
    seen.reason.map(|reason| reason.to_string())
}

impl Pending {
    fn is_believed(&self, seen: &Verdict, now: Timestamp, options: &VerdictOptions) -> bool {
        if seen.sure {
            return true;
        }
        if self.state == State::Blocked {
            return now.duration_since(self.first).unsigned_abs() >= options.blocked_after;
        }
        self.count >= options.confirm
    }
}
