//! Places for requests under way, and who may do without one.
//!
//! `concurrency` bounds the work that is done at once. A request that only waits for a slow server
//! does no work: it lends its place to others until the head of the answer comes, so that hosts
//! that hang hold up nobody else.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// After this, who has no answer yet only waits.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// Requests under way at most, those that only wait included: connections are files, of which a
/// process often may open no more than 1024.
const MOST: usize = 512;

/// How many places are lent.
#[derive(Debug, Default)]
pub(super) struct Slots {
    lent: AtomicUsize,
    changed: Notify,
}

impl Slots {
    /// Waits for an answer, and has a place no longer than this meanwhile.
    pub(super) async fn wait<T>(&self, at_most: Duration, answer: impl Future<Output = T>) -> T {
        let mut answer = pin!(answer);
        if let Ok(answer) = tokio::time::timeout(at_most, &mut answer).await {
            return answer;
        }
        let _lent = SlotLoan::new(self);
        answer.await
    }

    /// How many requests may be under way.
    pub(super) fn number(&self, concurrency: usize) -> usize {
        let concurrency = concurrency.max(1);
        (concurrency + self.lent.load(Ordering::Relaxed)).min(MOST.max(concurrency))
    }

    /// Returns once there may be more places than before.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// A place that is lent; given back when dropped.
struct SlotLoan<'a>(&'a Slots);

impl<'a> SlotLoan<'a> {
    fn new(slots: &'a Slots) -> Self {
        slots.lent.fetch_add(1, Ordering::Relaxed);
        slots.changed.notify_one();
        Self(slots)
    }
}

impl Drop for SlotLoan<'_> {
    fn drop(&mut self) {
        self.0.lent.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_waits_long_lends_its_place_until_the_answer() {
        let slots = Slots::default();
        let waiting = slots.wait(SOON, tokio::time::sleep(SOON * 3));
        let watching = async {
            assert_eq!(slots.number(4), 4);
            slots.changed().await;
            assert_eq!(slots.number(4), 5);
        };
        tokio::join!(waiting, watching);
        assert_eq!(slots.number(4), 4);
    }

    #[test]
    fn a_concurrency_that_was_asked_for_is_had() {
        let slots = Slots::default();
        assert_eq!(slots.number(0), 1);
        assert_eq!(slots.number(MOST * 2), MOST * 2);
    }
}
