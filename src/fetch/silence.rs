//! Hosts that do not answer, and when to stop asking them.
//!
//! A dead host with a thousand records would keep a run busy for hours, only to say the same a
//! thousand times. Once one job has come to nothing there, and nothing else has been answered for
//! as long as the host's patience goes, the rest is not asked for. Knows no clock; the time is told.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::queue::HostId;

/// The hosts that owe answers.
#[derive(Debug, Default)]
pub(super) struct Silence {
    hosts: HashMap<HostId, Quiet>,
}

#[derive(Debug)]
struct Quiet {
    /// When the first request was made that nothing has been answered since.
    since: Instant,
    /// Whether a job has come to its end without an answer.
    came_to_nothing: bool,
}

impl Silence {
    /// A request is made.
    pub(super) fn asked(&mut self, host: HostId, now: Instant) {
        self.hosts.entry(host).or_insert(Quiet {
            since: now,
            came_to_nothing: false,
        });
    }

    /// The head of an answer has come.
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
        self.hosts
            .get(&host)
            .is_some_and(|quiet| now.saturating_duration_since(quiet.since) > at_least)
    }

    /// Whether the host is not asked any more.
    pub(super) fn is_over(&self, host: HostId, now: Instant, patience: Duration) -> bool {
        self.hosts.get(&host).is_some_and(|quiet| {
            quiet.came_to_nothing && now.saturating_duration_since(quiet.since) >= patience
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::queue::{Queue, Share};

    #[test]
    fn a_host_is_given_up_only_after_a_job_and_its_time_and_until_it_answers() {
        let share = Share {
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
        let mut silence = Silence::default();
        silence.asked(host, now);
        assert!(!silence.is_over(host, now + patience, patience));
        silence.came_to_nothing(host);
        assert!(!silence.is_over(host, now + patience / 2, patience));
        assert!(silence.is_over(host, now + patience, patience));
        silence.asked(host, now + patience);
        assert!(silence.is_over(host, now + patience, patience));
        silence.answered(host);
        assert!(!silence.is_over(host, now + patience, patience));
    }
}
