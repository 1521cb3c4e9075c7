//! The handle that ends a run before its time.

use std::sync::Arc;

use tokio::sync::watch;

/// Ends a run before its time, from any thread; clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    set: Arc<watch::Sender<bool>>,
}

impl Stop {
    /// A handle that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets it, for good. What is not finished is given up.
    pub fn stop(&self) {
        self.set.send_replace(true);
    }

    /// Whether it is set.
    pub fn is_stopped(&self) -> bool {
        *self.set.borrow()
    }

    /// Returns once it is set.
    pub async fn stopped(&self) {
        // The sender lives as long as this handle, so waiting cannot fail.
        let _ = self.set.subscribe().wait_for(|set| *set).await;
    }
}
