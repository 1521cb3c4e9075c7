//! The window of a URL: ten counted runs or seven days, whichever reaches further back, at most 30 days.

use jiff::{SignedDuration, Timestamp};

use super::event::time_of;

/// Number of counted runs in a window.
const RUNS: usize = 10;

/// Least length of a window.
const DAYS: i64 = 7;

/// Greatest length of a window.
pub const MOST_DAYS: i64 = 30;

/// The runs before this one, as incidents need them.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// The ids of the runs before, oldest first.
    pub past: &'a [&'a str],
    /// When this run began.
    pub now: Timestamp,
    /// Whether the run at this position counts for the record: it was not stopped, and selected the record
    /// of this domain and path.
    pub counts: &'a dyn Fn(usize, &str, &str) -> bool,
}

/// The window of one URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The position of the first run of the last ten counted ones.
    first: usize,
    now: Timestamp,
}

impl Runs<'_> {
    /// The window of the record of this domain and path.
    pub fn window(&self, domain: &str, path: &str) -> Window {
        let mut counted = (0..self.past.len())
            .rev()
            .filter(|run| (self.counts)(*run, domain, path));
        // This run is the last of them.
        let first = counted.nth(RUNS - 2).unwrap_or_default();
        Window {
            first,
            now: self.now,
        }
    }

    /// Whether the run is in the window. A time that a wrong clock wrote tells nothing.
    pub fn has(&self, window: Window, run: &str) -> bool {
        let at = time_of(run).filter(|at| *at <= window.now);
        if at.is_some_and(|at| !is_within(at, window.now, MOST_DAYS)) {
            return false;
        }
        let is_recent = at.is_some_and(|at| is_within(at, window.now, DAYS));
        let position = self.past.iter().rposition(|past| *past == run);
        is_recent || position.is_some_and(|position| position >= window.first)
    }
}

/// Whether at most so many days lie between the times.
pub(super) fn is_within(at: Timestamp, now: Timestamp, days: i64) -> bool {
    now.duration_since(at) <= SignedDuration::from_hours(24 * days)
}
