//! Asking work under way to end: a flag that threads and tasks can look at or wait for.
//!
//! The starter of the work makes one [`Stop`] and hands clones of it down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// A request to end, shared by all its clones. It is set once and stays set.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    set: AtomicBool,
    tasks: Notify,
    lock: Mutex<()>,
    threads: Condvar,
}

impl Stop {
    /// One that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everything that holds a clone to end.
    pub fn set(&self) {
        self.0.set.store(true, Ordering::SeqCst);
        self.0.tasks.notify_waiters();
        // The lock keeps the wake-up from falling between a thread's look at the flag and its sleep.
        let _guard = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.threads.notify_all();
    }

    /// Whether an end was asked for; cheap enough for an inner loop.
    pub fn is_set(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    /// Waits, as a task, until an end is asked for. Dropping the future loses nothing.
    pub async fn wait(&self) {
        let woken = self.0.tasks.notified();
        tokio::pin!(woken);
        // Enlisted before the look, so that a `set` in between is not missed.
        woken.as_mut().enable();
        if !self.is_set() {
            woken.await;
        }
    }

    /// Waits, as a thread, at most this long; says whether an end was asked for.
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
