//! The least time between the starts of two requests to one host.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::AGES;

/// When each host may be asked next. Redirects that are followed count as requests.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    next: Mutex<HashMap<String, Instant>>,
}

impl Pace {
    /// A pace of one request per interval to each host.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval: interval.min(AGES),
            next: Mutex::default(),
        }
    }

    /// When the host may be asked next, when that is not yet.
    pub(super) fn opens(&self, host: &str, now: Instant) -> Option<Instant> {
        if self.interval.is_zero() {
            return None;
        }
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.get(host).copied().filter(|next| *next > now)
    }

    /// Takes the next turn; returns when it is.
    pub(super) fn reserve(&self, host: &str, now: Instant) -> Instant {
        if self.interval.is_zero() {
            return now;
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = next.get(host).map_or(now, |next| now.max(*next));
        next.insert(host.to_owned(), turn + self.interval);
        turn
    }
}
