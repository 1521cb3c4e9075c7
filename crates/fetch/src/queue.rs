//! Which job starts next: one queue for each host, so that a slow host does not delay other hosts.
//!
//! Ready hosts take turns. A host that was asked before comes ahead of a host that was not: its
//! connections are open, and a thousand open connections would be many. A host is ready while it has
//! jobs waiting, runs fewer requests than its rate limit allows, and its interval has passed.
//!
//! The module knows neither network nor clock: callers pass the time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::deadline::LONGEST_WAIT;

/// A host's number in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HostId(usize);

/// The rate limit of one host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateLimit {
    /// Most requests under way at once; at least one.
    pub(crate) concurrency: usize,
    /// Shortest time between the starts of two requests.
    pub(crate) interval: Duration,
}

/// Jobs that wait to start, by host.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    ids: HashMap<String, HostId>,
    hosts: Vec<Host<T>>,
    /// Hosts that may start a job now, in turn.
    ready: VecDeque<HostId>,
    /// Hosts that wait for their interval only.
    paused: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// Start times of delayed jobs, with their keys in `delayed`.
    delayed_starts: BinaryHeap<Reverse<(Instant, u64)>>,
    delayed: HashMap<u64, (HostId, T)>,
    next_key: u64,
    /// Jobs in the `waiting` lists of all hosts.
    waiting: usize,
}

#[derive(Debug)]
struct Host<T> {
    name: String,
    rate_limit: RateLimit,
    waiting: VecDeque<T>,
    /// Number of delayed jobs.
    delayed: usize,
    running: usize,
    /// The interval permits no start before this time.
    paused_until: Option<Instant>,
    /// Whether the host is in `ready` or `paused`.
    is_listed: bool,
}

impl<T> Queue<T> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self {
            ids: HashMap::new(),
            hosts: Vec::new(),
            ready: VecDeque::new(),
            paused: BinaryHeap::new(),
            delayed_starts: BinaryHeap::new(),
            delayed: HashMap::new(),
            next_key: 0,
            waiting: 0,
        }
    }

    /// The number of jobs that have not started.
    pub(crate) fn len(&self) -> usize {
        self.waiting + self.delayed.len()
    }

    /// The number of jobs of a host that wait to start.
    pub(crate) fn waiting_of(&self, id: HostId) -> usize {
        self.hosts[id.0].waiting.len()
    }

    /// The number of delayed jobs of a host.
    pub(crate) fn delayed_of(&self, id: HostId) -> usize {
        self.hosts[id.0].delayed
    }

    /// Adds a job that may start at once.
    pub(crate) fn push(&mut self, id: HostId, job: T) {
        self.hosts[id.0].waiting.push_back(job);
        self.waiting += 1;
        if self.mark_listed(id) {
            self.ready.push_back(id);
        }
    }

    /// Adds a job that a redirect brought to this host, ahead of jobs that have not begun.
    pub(crate) fn push_redirected(&mut self, host: &str, rate_limit: RateLimit, job: T) {
        let id = self.host_id(host, rate_limit);
        self.push_front(id, job);
    }

    /// Adds a job that may start from `start` on.
    pub(crate) fn push_delayed(&mut self, host: HostId, start: Instant, job: T) {
        self.delayed_starts.push(Reverse((start, self.next_key)));
        self.delayed.insert(self.next_key, (host, job));
        self.hosts[host.0].delayed += 1;
        self.next_key += 1;
    }

    /// Starts the next job, if any job may start now. The caller calls [`Queue::release`] at its end.
    pub(crate) fn start(&mut self, now: Instant) -> Option<(HostId, T)> {
        self.end_pauses(now);
        while let Some(id) = self.ready.pop_front() {
            let host = &mut self.hosts[id.0];
            if let Some(paused_until) = host.paused_until.filter(|until| *until > now) {
                self.paused.push(Reverse((paused_until, id)));
                continue;
            }
            host.is_listed = false;
            let Some(job) = host.waiting.pop_front() else {
                continue;
            };
            host.running += 1;
            let interval = host.rate_limit.interval;
            host.paused_until = (!interval.is_zero()).then(|| now + interval);
            self.waiting -= 1;
            if self.mark_listed(id) {
                self.ready.push_back(id);
            }
            return Some((id, job));
        }
        None
    }

    /// Ends a started job: its host may start another one.
    pub(crate) fn release(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0];
        host.running = host.running.saturating_sub(1);
        if self.mark_listed(id) {
            self.ready.push_front(id);
        }
    }

    /// The earliest time at which an interval or a delay ends.
    pub(crate) fn next_start(&self) -> Option<Instant> {
        let paused = self.paused.peek().map(|Reverse((until, _))| *until);
        let delayed = self.delayed_starts.peek().map(|Reverse((start, _))| *start);
        paused.into_iter().chain(delayed).min()
    }

    /// The name of a host.
    pub(crate) fn name_of(&self, id: HostId) -> &str {
        &self.hosts[id.0].name
    }

    /// Removes all jobs of one host that have not started.
    pub(crate) fn drain_host(&mut self, id: HostId) -> Vec<T> {
        let mut jobs: Vec<T> = self.hosts[id.0].waiting.drain(..).collect();
        self.waiting -= jobs.len();
        let delayed = self.delayed.extract_if(|_, (host, _)| *host == id);
        jobs.extend(delayed.map(|(_, (_, job))| job));
        self.hosts[id.0].delayed = 0;
        jobs
    }

    /// Removes all jobs that have not started.
    pub(crate) fn drain(&mut self) -> Vec<T> {
        let mut jobs: Vec<T> = self
            .hosts
            .iter_mut()
            .flat_map(|host| host.waiting.drain(..))
            .collect();
        jobs.extend(self.delayed.drain().map(|(_, (_, job))| job));
        self.ready.clear();
        self.paused.clear();
        self.delayed_starts.clear();
        self.waiting = 0;
        for host in &mut self.hosts {
            host.is_listed = false;
            host.delayed = 0;
        }
        jobs
    }

    fn push_front(&mut self, id: HostId, job: T) {
        self.hosts[id.0].waiting.push_front(job);
        self.waiting += 1;
        if self.mark_listed(id) {
            self.ready.push_front(id);
        }
    }

    /// The number of a host; a new host is added. The rate limit of a host is the same in every call.
    pub(crate) fn host_id(&mut self, name: &str, rate_limit: RateLimit) -> HostId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = HostId(self.hosts.len());
        self.hosts.push(Host {
            name: name.to_owned(),
            rate_limit: RateLimit {
                concurrency: rate_limit.concurrency.max(1),
                interval: rate_limit.interval.min(LONGEST_WAIT),
            },
            waiting: VecDeque::new(),
            delayed: 0,
            running: 0,
            paused_until: None,
            is_listed: false,
        });
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// Marks a host as listed if it can start a job and is not listed yet; returns whether the caller
    /// must add the host to `ready`.
    fn mark_listed(&mut self, id: HostId) -> bool {
        let host = &mut self.hosts[id.0];
        let can_start = !host.waiting.is_empty() && host.running < host.rate_limit.concurrency;
        let is_new = !host.is_listed && can_start;
        host.is_listed |= is_new;
        is_new
    }

    /// Moves delayed jobs and paused hosts whose time has come to the front.
    fn end_pauses(&mut self, now: Instant) {
        while let Some(Reverse((start, key))) = self.delayed_starts.peek().copied()
            && start <= now
        {
            self.delayed_starts.pop();
            if let Some((id, job)) = self.delayed.remove(&key) {
                self.hosts[id.0].delayed -= 1;
                self.push_front(id, job);
            }
        }
        while let Some(Reverse((until, id))) = self.paused.peek().copied()
            && until <= now
        {
            self.paused.pop();
            self.ready.push_front(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_limit(concurrency: usize, interval: Duration) -> RateLimit {
        RateLimit {
            concurrency,
            interval,
        }
    }

    fn started(queue: &mut Queue<&'static str>, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.start(now).map(|(_, job)| job)).collect()
    }

    #[test]
    fn hosts_take_turns_within_their_rate_limit() {
        let now = Instant::now();
        let mut queue = Queue::new();
        for job in ["a1", "a2", "a3", "b1", "b2"] {
            let concurrency = if job.starts_with('a') { 2 } else { 1 };
            let id = queue.host_id(&job[..1], rate_limit(concurrency, Duration::ZERO));
            queue.push(id, job);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1", "a2"]);
        queue.release(HostId(0));
        assert_eq!(started(&mut queue, now), ["a3"]);
        queue.release(HostId(1));
        assert_eq!(started(&mut queue, now), ["b2"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn the_interval_pauses_one_host_only() {
        let (now, interval) = (Instant::now(), Duration::from_secs(10));
        let mut queue = Queue::new();
        for job in ["a1", "a2", "b1"] {
            let id = queue.host_id(&job[..1], rate_limit(4, interval));
            queue.push(id, job);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1"]);
        assert_eq!(queue.next_start(), Some(now + interval));
        assert_eq!(started(&mut queue, now + interval), ["a2"]);
    }

    #[test]
    fn a_delayed_job_takes_no_slot_and_then_comes_first() {
        let (now, wait, one) = (
            Instant::now(),
            Duration::from_secs(5),
            rate_limit(1, Duration::ZERO),
        );
        let mut queue = Queue::new();
        let id = queue.host_id("a", one);
        queue.push(id, "first");
        let (id, job) = queue.start(now).unwrap();
        queue.push_delayed(id, now + wait, job);
        queue.release(id);
        queue.push(id, "second");
        queue.push(id, "third");
        assert_eq!((queue.waiting_of(id), queue.delayed_of(id)), (2, 1));
        assert_eq!(started(&mut queue, now), ["second"]);
        queue.release(id);
        assert_eq!(queue.next_start(), Some(now + wait));
        assert_eq!(started(&mut queue, now + wait), ["first"]);
        assert_eq!((queue.waiting_of(id), queue.delayed_of(id)), (1, 0));
        assert_eq!(queue.drain(), ["third"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_redirected_job_takes_a_slot_at_the_new_host() {
        let (now, one) = (Instant::now(), rate_limit(1, Duration::ZERO));
        let mut queue = Queue::new();
        for (host, job) in [("a", "a1"), ("b", "b1"), ("b", "b2")] {
            let id = queue.host_id(host, one);
            queue.push(id, job);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1"]);
        queue.release(HostId(0));
        queue.push_redirected("b", one, "a1");
        assert_eq!(started(&mut queue, now), [""; 0]);
        queue.release(HostId(1));
        assert_eq!(started(&mut queue, now), ["a1"]);
    }
}
