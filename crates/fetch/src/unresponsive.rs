//! Hosts that do not answer, and when to stop asking them.
//!
//! A dead host with a thousand records would keep a run busy for hours, only to say the same a
//! thousand times. Once one job has come to nothing there, and nothing else has been answered for
//! as long as the host's patience goes, the rest is not asked for. Knows no clock; the time is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::queue::HostId;

/// The hosts that owe answers.
#[derive(Debug, Default)]
pub(super) struct Unresponsive {
    hosts: HashMap<HostId, Quiet>,
}

#[derive(Debug)]
struct Quiet {
    /// When the first request was made that nothing has been answered since.
    since: Instant,
    /// Whether a job has come to its end without an answer.
    came_to_nothing: bool,
    heard: Heard,
}

/// Whether the head of an answer has come: a host that is sending a long body is not silent.
pub(super) type Heard = Arc<AtomicBool>;

impl Quiet {
    /// For how long nothing has been heard.
    fn lasts(&self, now: Instant) -> Option<Duration> {
        let heard = self.heard.load(Ordering::Relaxed);
        (!heard).then(|| now.saturating_duration_since(self.since))
    }
}

impl Unresponsive {
    /// A request is made; what comes back is to be set once its head has come.
    pub(super) fn asked(&mut self, host: HostId, now: Instant) -> Heard {
        let quiet = self.hosts.entry(host).or_insert_with(|| Quiet {
            since: now,
            came_to_nothing: false,
            heard: Heard::default(),
        });
        Arc::clone(&quiet.heard)
    }

    /// An answer has come to its end.
    pub(super) fn answered(&mut self, host: HostId) {
        self.hosts.remove(&host);
    }

    /// A job is finished, and has had no answer.
    pub(super) fn came_to_nothing(&mut self, host: HostId) {
        if let Some(quiet) = self.hosts.get_mut(&host) {
            quiet.came_to_nothing = true;
        }
    }

    /// Whether the host has owed an answer for longer than this.
    pub(super) fn owes(&self, host: HostId, now: Instant, at_least: Duration) -> bool {
        let lasts = self.hosts.get(&host).and_then(|quiet| quiet.lasts(now));
        lasts.is_some_and(|lasts| lasts > at_least)
    }

    /// Whether the host is not asked any more.
    pub(super) fn is_over(&self, host: HostId, now: Instant, patience: Duration) -> bool {
        self.hosts.get(&host).is_some_and(|quiet| {
            quiet.came_to_nothing && quiet.lasts(now).is_some_and(|lasts| lasts >= patience)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Queue, RateLimit};

    #[test]
    fn a_host_is_given_up_only_after_a_job_and_its_time_and_until_it_answers() {
        let share = RateLimit {
            at_once: 1,
            interval: Duration::ZERO,
        };
        let mut queue = Queue::new();
        queue.push("a", share, ());
        let (now, (host, ())) = (
            Instant::now(),
            queue.start(Instant::now()).expect("it may start"),
        );
        let patience = Duration::from_secs(10);
        let mut unresponsive = Unresponsive::default();
        unresponsive.asked(host, now);
        assert!(!unresponsive.is_over(host, now + patience, patience));
        unresponsive.came_to_nothing(host);
        assert!(!unresponsive.is_over(host, now + patience / 2, patience));
        assert!(unresponsive.is_over(host, now + patience, patience));
        unresponsive.asked(host, now + patience);
        assert!(unresponsive.is_over(host, now + patience, patience));
        unresponsive.asked(host, now).store(true, Ordering::Relaxed);
        assert!(!unresponsive.is_over(host, now + patience, patience));
        unresponsive.answered(host);
        assert!(!unresponsive.is_over(host, now + patience, patience));
    }
}
