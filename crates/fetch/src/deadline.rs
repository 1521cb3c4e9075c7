//! Points in time that no configured duration can overflow.

use std::time::{Duration, Instant};

/// Longest wait that is ever computed: longer than any run, and safe to add to an [`Instant`].
pub(crate) const LONGEST_WAIT: Duration = Duration::from_hours(24 * 365);

/// The point in time this long from now, capped at [`LONGEST_WAIT`].
pub(crate) fn deadline_in(wait: Duration) -> Instant {
    Instant::now() + wait.min(LONGEST_WAIT)
}
