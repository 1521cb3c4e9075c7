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

use crate::open_files::Capacity;

/// A request unanswered this long gives up its slot.
pub(crate) const SLOT_WAIT: Duration = Duration::from_secs(1);

/// Counts the requests that gave up their slot.
#[derive(Debug)]
pub(crate) struct Slots {
    capacity: Capacity,
    waiting: AtomicUsize,
    changed: Notify,
}

impl Slots {
    /// Slots of a run with this capacity.
    pub(crate) fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            waiting: AtomicUsize::new(0),
            changed: Notify::new(),
        }
    }

    /// The most connections that may be open.
    pub(crate) fn connections(&self) -> usize {
        self.capacity.connections
    }

    /// The most sources of jobs that may be read at the same time.
    pub(crate) fn sources(&self) -> usize {
        self.capacity.sources
    }

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

    /// The number of requests that may be under way now, waiting ones included.
    pub(crate) fn limit(&self) -> usize {
        let Capacity {
            concurrency,
            connections,
            ..
        } = self.capacity;
        let waiting = self.waiting.load(Ordering::Relaxed);
        (concurrency + waiting).min(connections)
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

    fn slots(concurrency: usize, connections: usize) -> Slots {
        Slots::new(Capacity {
            concurrency,
            connections,
            sources: 1,
        })
    }

    #[tokio::test]
    async fn a_request_that_waits_long_gives_up_its_slot_until_the_response() {
        for (connections, limit) in [(9, 5), (4, 4)] {
            let slots = slots(4, connections);
            let (respond, response) = tokio::sync::oneshot::channel();
            let waiting = slots.wait_for(response, Duration::from_millis(1));
            let watching = async {
                assert_eq!(slots.limit(), 4);
                slots.changed().await;
                assert_eq!(slots.limit(), limit);
                respond.send(()).unwrap();
            };
            tokio::join!(waiting, watching).0.unwrap();
            assert_eq!(slots.limit(), 4);
        }
    }
}
