//! A stop flag that threads and tasks can check or wait for.
//!
//! The caller creates one [`Stop`] and passes clones to threads and tasks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// A stop flag, shared by all its clones. Once set, the flag stays set.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_set: AtomicBool,
    tasks: Notify,
    lock: Mutex<()>,
    threads: Condvar,
}

impl Stop {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag and wakes all waiting threads and tasks.
    pub fn set(&self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        self.0.tasks.notify_waiters();
        // The lock prevents a lost wake-up between a thread's check of the flag and its sleep.
        let _guard = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.threads.notify_all();
    }

    /// Whether the flag is set; cheap enough for an inner loop.
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::SeqCst)
    }

    /// Waits in a task until the flag is set. The future is cancel-safe.
    pub async fn wait(&self) {
        let woken = self.0.tasks.notified();
        tokio::pin!(woken);
        // Registered before the check: a `set` between the two still wakes the task.
        woken.as_mut().enable();
        if !self.is_set() {
            woken.await;
        }
    }

    /// Blocks the thread until the flag is set, at most this long; returns whether the flag is set.
    pub fn wait_timeout(&self, longest: Duration) -> bool {
        let guard = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _woken = self
            .0
            .threads
            .wait_timeout_while(guard, longest, |()| !self.is_set())
            .unwrap_or_else(PoisonError::into_inner);
        self.is_set()
    }
}

/// Longest wait that is ever computed: longer than any run, and safe to add to an [`Instant`].
pub(crate) const LONGEST_WAIT: Duration = Duration::from_hours(24 * 365);

/// The point in time this long from now, capped at [`LONGEST_WAIT`].
pub(crate) fn deadline_in(wait: Duration) -> Instant {
    Instant::now() + wait.min(LONGEST_WAIT)
}
