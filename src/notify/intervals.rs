//! The time between messages. Pure.

use jiff::{SignedDuration, Timestamp};

use crate::ledger::is_known;

/// A daily run begins a few minutes earlier or later each day.
pub(super) const TOLERANCE: SignedDuration = SignedDuration::from_hours(1);

/// News that is not urgent waits so long after the last message of a thread.
pub(super) const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Whether nothing was told within a day.
pub(super) fn is_over(last: Option<Timestamp>, now: Timestamp) -> bool {
    last.is_none_or(|last| has_passed(last, now, DAY))
}

/// Whether the time has passed. Since a time in the future, which a wrong clock has written, it always has.
pub(super) fn has_passed(since: Timestamp, now: Timestamp, time: SignedDuration) -> bool {
    !is_known(since, now) || now.duration_since(since) >= time - TOLERANCE
}
