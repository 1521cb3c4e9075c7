//! Hosts that do not answer, and when to stop asking them.
//!
//! A dead host with a thousand records would keep a run busy for hours, only to fail the same way a
//! thousand times. A host is given up once one of its jobs has failed without a response and the host
//! has sent no response head for its `host-patience`; its remaining jobs are then not fetched.
//!
//! The module reads no clock: callers pass the time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use urldb_verdict::{Failure, FailureKind};

use crate::queue::HostId;

/// Hosts with requests that have no response yet.
#[derive(Debug, Default)]
pub(crate) struct UnresponsiveHosts {
    hosts: HashMap<HostId, UnansweredRequests>,
}

/// Requests to one host since its last complete response.
#[derive(Debug)]
struct UnansweredRequests {
    /// When the first of these requests was sent.
    since: Instant,
    /// Whether a job has finished without a response.
    has_failed_job: bool,
    has_response: ResponseFlag,
}

/// Set once the head of a response has come: a host that sends a long body is responsive.
pub(crate) type ResponseFlag = Arc<AtomicBool>;

impl UnansweredRequests {
    /// The time since the host's first request without any response; `None` once a head has come.
    fn silence(&self, now: Instant) -> Option<Duration> {
        let has_response = self.has_response.load(Ordering::Relaxed);
        (!has_response).then(|| now.saturating_duration_since(self.since))
    }
}

impl UnresponsiveHosts {
    /// Notes a request that starts now. The caller sets the returned flag once the head of the
    /// response has come.
    pub(crate) fn request_started(&mut self, host: HostId, now: Instant) -> ResponseFlag {
        let requests = self
            .hosts
            .entry(host)
            .or_insert_with(|| UnansweredRequests {
                since: now,
                has_failed_job: false,
                has_response: ResponseFlag::default(),
            });
        Arc::clone(&requests.has_response)
    }

    /// Notes that a response has ended.
    pub(crate) fn response_finished(&mut self, host: HostId) {
        self.hosts.remove(&host);
    }

    /// Notes that a job is finished; without effect if the host has answered meanwhile.
    pub(crate) fn job_finished(&mut self, host: HostId) {
        if let Some(requests) = self.hosts.get_mut(&host) {
            requests.has_failed_job = true;
        }
    }

    /// Whether the host has sent nothing for longer than `duration`.
    pub(crate) fn is_silent(&self, host: HostId, now: Instant, duration: Duration) -> bool {
        let requests = self.hosts.get(&host);
        let silence = requests.and_then(|requests| requests.silence(now));
        silence.is_some_and(|silence| silence > duration)
    }

    /// Whether the host is asked no more.
    pub(crate) fn is_given_up(&self, host: HostId, now: Instant, patience: Duration) -> bool {
        self.hosts.get(&host).is_some_and(|requests| {
            let silence = requests.silence(now);
            requests.has_failed_job && silence.is_some_and(|silence| silence >= patience)
        })
    }
}

/// The failure of all remaining jobs of a host that has been silent for its `host-patience`.
pub(crate) fn silent(host: &str, patience: Duration) -> Failure {
    Failure {
        kind: FailureKind::HostSilent,
        detail: format!("{host} sent no response for {patience:?} (host-patience)"),
        certificate: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::RateLimit;
    use crate::queue::Queue;

    #[test]
    fn a_host_is_given_up_only_after_a_job_and_its_time_and_until_it_answers() {
        let rate_limit = RateLimit {
            concurrency: 1,
            interval: Duration::ZERO,
            patience: Duration::ZERO,
        };
        let mut queue = Queue::new(9, Duration::ZERO);
        let host = queue.host_id("a", rate_limit);
        queue.push(host, ());
        let (now, (host, ())) = (
            Instant::now(),
            queue.start(Instant::now()).expect("a job that may start"),
        );
        let patience = Duration::from_secs(10);
        let mut unresponsive = UnresponsiveHosts::default();
        unresponsive.request_started(host, now);
        assert!(!unresponsive.is_given_up(host, now + patience, patience));
        unresponsive.job_finished(host);
        assert!(!unresponsive.is_given_up(host, now + patience / 2, patience));
        assert!(unresponsive.is_given_up(host, now + patience, patience));
        unresponsive.request_started(host, now + patience);
        assert!(unresponsive.is_given_up(host, now + patience, patience));
        let flag = unresponsive.request_started(host, now);
        flag.store(true, Ordering::Relaxed);
        assert!(!unresponsive.is_given_up(host, now + patience, patience));
        unresponsive.response_finished(host);
        assert!(!unresponsive.is_given_up(host, now + patience, patience));
    }
}
