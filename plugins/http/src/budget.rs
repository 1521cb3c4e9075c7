//! The budget of a conversation, and its use so far.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The most that one conversation may take. The server can make no conversation take more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Requests; repetitions, redirects and pages of a list count.
    pub requests: u64,
    /// Bytes of the bodies of all answers together.
    pub bytes: u64,
    /// Seconds since the begin of the first request.
    pub seconds: u64,
}

/// The limit at which a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// The server wants more requests.
    #[error("the conversation ended after {0} requests")]
    Requests(u64),
    /// The server sends more bytes.
    #[error("the conversation ended after {0} bytes")]
    Bytes(u64),
    /// The server takes more time.
    #[error("the conversation ended after {0} seconds")]
    Seconds(u64),
}

/// A budget, and what is used of it.
#[derive(Debug)]
pub(crate) struct Usage {
    budget: Budget,
    requests: AtomicU64,
    bytes: AtomicU64,
    begun: OnceLock<Instant>,
}

impl Usage {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            begun: OnceLock::new(),
        }
    }

    pub(crate) fn begin_request(&self) -> Result<(), Ended> {
        let most = self.budget.requests;
        if self.requests.fetch_add(1, Ordering::Relaxed) >= most {
            return Err(Ended::Requests(most));
        }
        self.ensure_bytes()
    }

    /// The number of the next `length` bytes that are within the budget.
    pub(crate) fn take_bytes(&self, length: usize) -> usize {
        let used = self.bytes.fetch_add(length as u64, Ordering::Relaxed);
        let room = self.budget.bytes.saturating_sub(used);
        length.min(usize::try_from(room).unwrap_or(usize::MAX))
    }

    pub(crate) fn ensure_bytes(&self) -> Result<(), Ended> {
        let most = self.budget.bytes;
        if self.bytes.load(Ordering::Relaxed) > most {
            return Err(Ended::Bytes(most));
        }
        Ok(())
    }

    /// The remaining time.
    pub(crate) fn rest(&self) -> Result<Duration, Ended> {
        let now = Instant::now();
        let begun = *self.begun.get_or_init(|| now);
        let rest = Duration::from_secs(self.budget.seconds).saturating_sub(now - begun);
        if rest.is_zero() {
            return Err(self.late());
        }
        Ok(rest)
    }

    pub(crate) fn late(&self) -> Ended {
        Ended::Seconds(self.budget.seconds)
    }
}
