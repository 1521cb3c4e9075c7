//! What is believed of a URL between runs.

use jiff::Timestamp;
use urldb_protocol::State;

use super::{Verdict, VerdictOptions};

/// What is believed of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlStatus {
    /// The believed state.
    pub state: State,
    /// When it was first seen.
    pub since: Timestamp,
    /// The text of a [`Reason`](urldb_protocol::Reason). Text, since the ledger may hold a reason of a newer program.
    pub reason: Option<String>,
    /// Another state that was seen lately and is not believed yet.
    pub pending: Option<Pending>,
}

/// A state that is not believed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The state seen last.
    pub state: State,
    /// When the doubt began.
    pub first: Timestamp,
    /// How many runs in a row have seen it.
    pub count: u32,
    /// The other doubt, where both last: that it fails, or that it is turned away.
    pub other: Option<Doubt>,
}

/// A doubt beside that of the state seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt {
    /// When it began.
    pub first: Timestamp,
    /// How many runs have confirmed it.
    pub count: u32,
}

/// The believed state has become another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// What was believed.
    pub from: State,
    /// Since when.
    pub from_since: Option<Timestamp>,
    /// What is believed now.
    pub to: State,
}

impl UrlStatus {
    /// What is believed after `seen` at `now`, and whether that is news.
    ///
    /// A URL that was never seen before is believed to be as promised, so its
    /// first good classification is no news, and its first bad one is.
    pub fn after(
        previous: Option<&Self>,
        seen: &Verdict,
        now: Timestamp,
        policy: &VerdictOptions,
    ) -> (Self, Option<Transition>) {
        let known = previous.cloned().unwrap_or(Self {
            state: State::Ok,
            since: now,
            reason: None,
            pending: None,
        });
        let state = seen.state();
        if state == State::Inconclusive {
            return (known, None);
        }
        if state == known.state {
            let reason = seen.classification.reason.map(|reason| reason.to_string());
            return (
                Self {
                    reason,
                    pending: None,
                    ..known
                },
                None,
            );
        }
        let pending = known.pending_after(state, now);
        if !pending.is_believed(seen, now, policy) {
            return (
                Self {
                    pending: Some(pending),
                    ..known
                },
                None,
            );
        }
        let news = Transition {
            from: known.state,
            from_since: previous.map(|url_status| url_status.since),
            to: state,
        };
        let since = if state == State::Ok {
            now
        } else {
            pending.first
        };
        (
            Self {
                state,
                since,
                reason: seen.classification.reason.map(|reason| reason.to_string()),
                pending: None,
            },
            Some(news),
        )
    }

    /// Whether it is believed to be as promised, without a doubt.
    pub fn is_untroubled(&self) -> bool {
        self.state == State::Ok && self.pending.is_none()
    }

    /// Whether this state is believed, or was seen last time.
    pub fn has_seen(&self, state: State) -> bool {
        self.state == state
            || self
                .pending
                .as_ref()
                .is_some_and(|pending| pending.state == state)
    }

    /// The doubt, one run older. A URL that fails now in one way and now in
    /// another is failing all the time; only being turned away as a robot is
    /// another matter, and has a clock of its own. Neither stops that of the other.
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

impl Pending {
    fn is_believed(&self, seen: &Verdict, now: Timestamp, policy: &VerdictOptions) -> bool {
        if seen.sure {
            return true;
        }
        if self.state == State::Blocked {
            return now.duration_since(self.first).unsigned_abs() >= policy.blocked_after;
        }
        self.count >= policy.confirm
    }
}
