//! Slots for requests under way, and when a waiting request gives up its slot.
//!
//! `concurrency` bounds the work that is done at once. A request that only waits for a slow server
//! does no work: the request gives up its slot until the head of the response comes, so that hosts
//! that hang do not delay other hosts.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// A request unanswered this long gives up its slot.
pub(crate) const SLOT_WAIT: Duration = Duration::from_secs(1);

/// Most requests under way, waiting ones included: each connection is a file, and a process often
/// may open no more than 1024.
const MAX_REQUESTS: usize = 512;

/// Counts the requests that gave up their slot.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    waiting: AtomicUsize,
    changed: Notify,
}

impl Slots {
    /// Waits for a response; after `slot_wait` the request gives up its slot.
    pub(crate) async fn wait_for<T>(
        &self,
        response: impl Future<Output = T>,
        slot_wait: Duration,
    ) -> T {
        let mut response = pin!(response);
        if let Ok(response) = tokio::time::timeout(slot_wait, &mut response).await {
            return response;
        }
        let _waiting = WaitingRequest::new(self);
        response.await
    }

    /// The number of requests that may be under way, for this configured concurrency.
    pub(crate) fn limit(&self, concurrency: usize) -> usize {
        let concurrency = concurrency.max(1);
        let waiting = self.waiting.load(Ordering::Relaxed);
        (concurrency + waiting).min(MAX_REQUESTS.max(concurrency))
    }

    /// Returns once the limit may have grown.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// Counts one request as waiting, until dropped.
struct WaitingRequest<'a>(&'a Slots);

impl<'a> WaitingRequest<'a> {
    fn new(slots: &'a Slots) -> Self {
        slots.waiting.fetch_add(1, Ordering::Relaxed);
        slots.changed.notify_one();
        Self(slots)
    }
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_waits_long_gives_up_its_slot_until_the_response() {
        let slots = Slots::default();
        let waiting = slots.wait_for(tokio::time::sleep(SLOT_WAIT * 3), SLOT_WAIT);
        let watching = async {
            assert_eq!(slots.limit(4), 4);
            slots.changed().await;
            assert_eq!(slots.limit(4), 5);
        };
        tokio::join!(waiting, watching);
        assert_eq!(slots.limit(4), 4);
    }

    #[test]
    fn a_configured_concurrency_is_never_reduced() {
        let slots = Slots::default();
        assert_eq!(slots.limit(0), 1);
        assert_eq!(slots.limit(MAX_REQUESTS * 2), MAX_REQUESTS * 2);
    }
}
