//! The order in which jobs start: one queue for each host, so that a slow host does not delay other hosts.
//!
//! Ready hosts take turns. A host is ready while it has jobs waiting, runs fewer requests than its pace
//! allows, and its interval has passed. A host with an idle connection comes first, and a host
//! that was asked before comes ahead of a host that was not: connections are few.
//!
//! The queue estimates the number of open connections. While there are too many of them, no host gets a
//! further connection, and a host without one gets it only if the idle connections of a host without further
//! jobs can be closed.
//!
//! The module knows neither network nor clock: callers pass the time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::pace::{Pace, RateLimit};

/// A host's number in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HostId(usize);

/// Jobs that wait to start, by host.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    ids: HashMap<String, HostId>,
    hosts: Vec<Host<T>>,
    /// Most open connections.
    max_connections: usize,
    /// Longest lifetime of an idle connection.
    longest_idle: Duration,
    /// Open connections of all hosts.
    connections: usize,
    /// Hosts that may start a job now, in turn, each with an idle connection.
    warm: VecDeque<HostId>,
    /// Hosts that may start a job now, in turn, over a new connection. Those that have become warm
    /// meanwhile are skipped.
    cold: VecDeque<HostId>,
    /// When the connections of hosts without requests are closed, in order.
    closing: VecDeque<(Instant, HostId)>,
    /// Hosts that had no further jobs, in the order of their last requests. Those that have jobs again are
    /// skipped.
    spare: VecDeque<HostId>,
    /// Hosts whose connections are to be closed, and how many each has.
    closed: Vec<(HostId, usize)>,
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
    pace: Pace,
    waiting: VecDeque<T>,
    /// Number of delayed jobs.
    delayed: usize,
    running: usize,
    /// Connections that are open, as far as the starts and ends of requests tell.
    connections: usize,
    /// When idle connections are closed, while no request runs.
    closes_at: Option<Instant>,
    /// The start of the last request.
    last_start: Option<Instant>,
    listing: Listing,
    /// Whether the host is in `cold`, perhaps as an entry that counts no more.
    is_in_cold: bool,
    /// Whether the host is in `spare`, perhaps as an entry that counts no more.
    is_in_spare: bool,
}

/// The list that a host is in while it has jobs that could start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listing {
    None,
    Paused,
    Cold,
    Warm,
}

impl<T> Host<T> {
    fn can_start(&self) -> bool {
        !self.waiting.is_empty() && self.running < self.pace.concurrency()
    }

    fn has_idle_connection(&self) -> bool {
        self.running < self.connections
    }

    /// Whether the host has connections and no job for them.
    fn is_spare(&self) -> bool {
        let has_jobs = self.running > 0 || self.delayed > 0 || !self.waiting.is_empty();
        self.connections > 0 && !has_jobs
    }
}

impl<T> Queue<T> {
    /// An empty queue of jobs that open at most this many connections. An idle connection is closed after
    /// `longest_idle`.
    pub(crate) fn new(max_connections: usize, longest_idle: Duration) -> Self {
        Self {
            ids: HashMap::new(),
            hosts: Vec::new(),
            max_connections: max_connections.max(1),
            longest_idle,
            connections: 0,
            warm: VecDeque::new(),
            cold: VecDeque::new(),
            closing: VecDeque::new(),
            spare: VecDeque::new(),
            closed: Vec::new(),
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

    /// Whether a new connection can be opened now, perhaps instead of idle ones.
    pub(crate) fn can_connect(&mut self) -> bool {
        while let Some(id) = self.spare.front()
            && !self.hosts[id.0].is_spare()
        {
            self.hosts[id.0].is_in_spare = false;
            self.spare.pop_front();
        }
        !self.is_out_of_connections() || !self.spare.is_empty()
    }

    fn is_out_of_connections(&self) -> bool {
        self.connections >= self.max_connections
    }

    /// The hosts whose connections are no longer counted, so that the caller closes them, and how many each
    /// has.
    pub(crate) fn closed(&mut self) -> impl Iterator<Item = (HostId, usize)> {
        self.closed.drain(..)
    }

    /// Adds a job that may start at once.
    pub(crate) fn push(&mut self, id: HostId, job: T) {
        self.hosts[id.0].waiting.push_back(job);
        self.waiting += 1;
        self.list(id, VecDeque::push_back);
    }

    /// Adds a job ahead of jobs that have not begun: a redirect brought it to this host, or it was set aside.
    pub(crate) fn push_front(&mut self, id: HostId, job: T) {
        self.hosts[id.0].waiting.push_front(job);
        self.waiting += 1;
        self.list(id, VecDeque::push_front);
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
        self.close_connections(now);
        while let Some(id) = self.next_ready() {
            let host = &mut self.hosts[id.0];
            host.listing = Listing::None;
            // The host may have become slower meanwhile.
            if !host.can_start() {
                continue;
            }
            let next_start = host.last_start.map(|last| host.pace.next_start(last));
            if let Some(paused_until) = next_start.filter(|until| *until > now) {
                host.listing = Listing::Paused;
                self.paused.push(Reverse((paused_until, id)));
                continue;
            }
            let Some(job) = host.waiting.pop_front() else {
                continue;
            };
            host.running += 1;
            host.closes_at = None;
            if host.running > host.connections {
                host.connections += 1;
                self.connections += 1;
            }
            host.last_start = Some(now);
            self.waiting -= 1;
            self.list(id, VecDeque::push_back);
            return Some((id, job));
        }
        None
    }

    /// Ends a started job: its host may start another one.
    pub(crate) fn release(&mut self, id: HostId, now: Instant) {
        let host = &mut self.hosts[id.0];
        host.running = host.running.saturating_sub(1);
        if host.running == 0 {
            let closes_at = now + self.longest_idle;
            host.closes_at = Some(closes_at);
            self.closing.push_back((closes_at, id));
        }
        if host.is_spare() && !host.is_in_spare {
            host.is_in_spare = true;
            self.spare.push_back(id);
        }
        self.list(id, VecDeque::push_front);
    }

    /// The earliest time at which an interval or a delay ends, or, while there are too many connections,
    /// some of them are closed.
    pub(crate) fn next_start(&self) -> Option<Instant> {
        let paused = self.paused.peek().map(|Reverse((until, _))| *until);
        let delayed = self.delayed_starts.peek().map(|Reverse((start, _))| *start);
        let closing = self
            .closing
            .front()
            .map(|(at, _)| *at)
            .filter(|_| self.is_out_of_connections());
        paused.into_iter().chain(delayed).chain(closing).min()
    }

    /// The pace of a host. The caller notes an answer before it releases the request.
    pub(crate) fn pace(&mut self, id: HostId) -> &mut Pace {
        &mut self.hosts[id.0].pace
    }

    /// Whether a host has no job that could start now or is under way.
    pub(crate) fn is_idle(&self, id: HostId) -> bool {
        let host = &self.hosts[id.0];
        host.waiting.is_empty() && host.running == 0
    }

    /// All hosts.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = HostId> + use<T> {
        (0..self.hosts.len()).map(HostId)
    }

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
        self.warm.clear();
        self.cold.clear();
        self.paused.clear();
        self.delayed_starts.clear();
        self.waiting = 0;
        for host in &mut self.hosts {
            host.listing = Listing::None;
            host.is_in_cold = false;
            host.delayed = 0;
        }
        jobs
    }

    /// The number of a host; a new host is added. The rate limit of a host is the same in every call.
    pub(crate) fn host_id(&mut self, name: &str, rate_limit: RateLimit) -> HostId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = HostId(self.hosts.len());
        self.hosts.push(Host {
            name: name.to_owned(),
            pace: Pace::new(rate_limit),
            waiting: VecDeque::new(),
            delayed: 0,
            running: 0,
            connections: 0,
            closes_at: None,
            last_start: None,
            listing: Listing::None,
            is_in_cold: false,
            is_in_spare: false,
        });
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// Puts a host into the list of its kind if it can start a job. A host that is in `cold` stays at its
    /// place there.
    fn list(&mut self, id: HostId, push: fn(&mut VecDeque<HostId>, HostId)) {
        let host = &mut self.hosts[id.0];
        if !host.can_start() {
            return;
        }
        match (host.listing, host.has_idle_connection()) {
            (Listing::None | Listing::Cold, true) => {
                host.listing = Listing::Warm;
                push(&mut self.warm, id);
            }
            (Listing::None, false) => {
                host.listing = Listing::Cold;
                if !host.is_in_cold {
                    host.is_in_cold = true;
                    push(&mut self.cold, id);
                }
            }
            _ => {}
        }
    }

    /// Takes the next host out of `warm` or `cold`.
    fn next_ready(&mut self) -> Option<HostId> {
        while let Some(id) = self.warm.pop_front() {
            let host = &mut self.hosts[id.0];
            if host.has_idle_connection() {
                return Some(id);
            }
            // Its connections were closed meanwhile.
            host.listing = Listing::None;
            self.list(id, VecDeque::push_back);
        }
        while let Some(id) = self.cold.front().copied() {
            let host = &self.hosts[id.0];
            let is_cold = host.listing == Listing::Cold;
            // A host with connections has requests under way, and is listed again when one ends.
            let may_wait = host.connections > 0 && self.is_out_of_connections();
            if is_cold && !may_wait && !self.make_room() {
                return None;
            }
            self.cold.pop_front();
            let host = &mut self.hosts[id.0];
            host.is_in_cold = false;
            if is_cold && !may_wait {
                return Some(id);
            }
            if is_cold {
                host.listing = Listing::None;
            }
        }
        None
    }

    /// Closes the connections of the host that has had no jobs for the longest time, if a new connection
    /// can be opened only then. Returns whether one can be opened.
    fn make_room(&mut self) -> bool {
        let can_connect = self.can_connect();
        if self.is_out_of_connections()
            && let Some(id) = self.spare.pop_front()
        {
            self.hosts[id.0].is_in_spare = false;
            self.close(id);
        }
        can_connect
    }

    /// Takes the connections of a host without requests out of the count.
    fn close(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0];
        host.closes_at = None;
        let connections = std::mem::take(&mut host.connections);
        self.connections -= connections;
        self.closed.push((id, connections));
    }

    /// Closes connections whose idle time is over.
    fn close_connections(&mut self, now: Instant) {
        while let Some((at, id)) = self.closing.front().copied()
            && at <= now
        {
            self.closing.pop_front();
            if self.hosts[id.0].closes_at == Some(at) {
                self.close(id);
            }
        }
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
            self.hosts[id.0].listing = Listing::None;
            self.list(id, VecDeque::push_front);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(2);

    fn rate_limit(concurrency: usize, interval: Duration) -> RateLimit {
        RateLimit {
            concurrency,
            interval,
            patience: Duration::from_mins(10),
        }
    }

    fn started(queue: &mut Queue<&'static str>, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.start(now).map(|(_, job)| job)).collect()
    }

    #[test]
    fn hosts_take_turns_within_their_rate_limit() {
        let now = Instant::now();
        let mut queue = Queue::new(9, IDLE);
        for job in ["a1", "a2", "a3", "b1", "b2"] {
            let concurrency = if job.starts_with('a') { 2 } else { 1 };
            let id = queue.host_id(&job[..1], rate_limit(concurrency, Duration::ZERO));
            queue.push(id, job);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1", "a2"]);
        queue.release(HostId(0), now);
        assert_eq!(started(&mut queue, now), ["a3"]);
        queue.release(HostId(1), now);
        assert_eq!(started(&mut queue, now), ["b2"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn the_interval_pauses_one_host_only() {
        let (now, interval) = (Instant::now(), Duration::from_secs(10));
        let mut queue = Queue::new(9, IDLE);
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
        let mut queue = Queue::new(9, IDLE);
        let id = queue.host_id("a", one);
        queue.push(id, "first");
        let (id, job) = queue.start(now).unwrap();
        queue.push_delayed(id, now + wait, job);
        queue.release(id, now);
        queue.push(id, "second");
        queue.push(id, "third");
        assert_eq!((queue.waiting_of(id), queue.delayed_of(id)), (2, 1));
        assert_eq!(started(&mut queue, now), ["second"]);
        queue.release(id, now);
        assert_eq!(queue.next_start(), Some(now + wait));
        assert_eq!(started(&mut queue, now + wait), ["first"]);
        assert_eq!((queue.waiting_of(id), queue.delayed_of(id)), (1, 0));
        assert_eq!(queue.drain(), ["third"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_redirected_job_takes_a_slot_at_the_new_host() {
        let (now, one) = (Instant::now(), rate_limit(1, Duration::ZERO));
        let mut queue = Queue::new(9, IDLE);
        for (host, job) in [("a", "a1"), ("b", "b1"), ("b", "b2")] {
            let id = queue.host_id(host, one);
            queue.push(id, job);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1"]);
        queue.release(HostId(0), now);
        let id = queue.host_id("b", one);
        queue.push_front(id, "a1");
        assert_eq!(started(&mut queue, now), [""; 0]);
        queue.release(HostId(1), now);
        assert_eq!(started(&mut queue, now), ["a1"]);
    }

    #[test]
    fn idle_connections_are_used_before_new_ones_and_before_new_hosts() {
        let now = Instant::now();
        let mut queue = Queue::new(9, IDLE);
        for job in ["a1", "a2", "b1", "b2", "b3", "c1"] {
            let id = queue.host_id(&job[..1], rate_limit(2, Duration::ZERO));
            queue.push(id, job);
        }
        let start = |queue: &mut Queue<_>| queue.start(now).unwrap().1;
        assert_eq!([start(&mut queue), start(&mut queue)], ["a1", "b1"]);
        queue.release(HostId(1), now);
        assert_eq!(start(&mut queue), "b2");
        // `b` has its turn for a second connection after `c` and `a`.
        let rest = ["c1", "a2", "b3"].map(|_| start(&mut queue));
        assert_eq!(rest, ["c1", "a2", "b3"]);
    }

    #[test]
    fn no_connection_is_opened_beyond_the_limit_until_an_idle_one_is_closed() {
        let (now, millisecond) = (Instant::now(), Duration::from_millis(1));
        let mut queue = Queue::new(2, IDLE);
        for job in ["a1", "a2", "b1", "b2", "c1"] {
            let id = queue.host_id(&job[..1], rate_limit(1, IDLE * 2));
            queue.push(id, job);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1"]);
        assert!(!queue.can_connect());
        // `a` waits for its interval, and needs its connection again.
        queue.release(HostId(0), now);
        assert_eq!(started(&mut queue, now), [""; 0]);
        assert_eq!(queue.next_start(), Some(now + IDLE));
        queue.release(HostId(1), now + millisecond);
        assert_eq!(started(&mut queue, now + IDLE), ["c1"]);
        assert_eq!(queue.closed().collect::<Vec<_>>(), [(HostId(0), 1)]);
        assert!(!queue.can_connect());
        assert_eq!(started(&mut queue, now + IDLE * 2), ["a2"]);
        assert_eq!(queue.closed().collect::<Vec<_>>(), [(HostId(1), 1)]);
    }

    #[test]
    fn a_host_without_further_jobs_makes_room_for_others() {
        let now = Instant::now();
        let mut queue = Queue::new(2, IDLE);
        for job in ["a1", "b1", "c1", "d1", "b2"] {
            let id = queue.host_id(&job[..1], rate_limit(1, Duration::ZERO));
            queue.push(id, job);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1"]);
        queue.release(HostId(0), now);
        assert!(queue.can_connect());
        assert_eq!(started(&mut queue, now), ["c1"]);
        assert_eq!(queue.closed().collect::<Vec<_>>(), [(HostId(0), 1)]);
        // `b` has another job for its connection.
        queue.release(HostId(1), now);
        assert!(!queue.can_connect());
        assert_eq!(started(&mut queue, now), ["b2"]);
        // A host that is asked again keeps its connection.
        queue.release(HostId(2), now);
        queue.push(HostId(2), "c2");
        assert_eq!(started(&mut queue, now), ["c2"]);
        assert!(!queue.can_connect());
        queue.release(HostId(1), now);
        assert_eq!(started(&mut queue, now), ["d1"]);
        assert_eq!(queue.closed().collect::<Vec<_>>(), [(HostId(1), 1)]);
        assert_eq!(queue.connections, 2);
    }

    #[test]
    fn no_room_is_made_for_a_further_connection_of_a_host() {
        let now = Instant::now();
        let mut queue = Queue::new(2, IDLE);
        for job in ["a1", "b1", "b2", "b3", "c1"] {
            let id = queue.host_id(&job[..1], rate_limit(2, Duration::ZERO));
            queue.push(id, job);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1"]);
        queue.release(HostId(0), now);
        assert_eq!(started(&mut queue, now), ["c1"]);
        queue.release(HostId(2), now);
        assert_eq!(started(&mut queue, now), [""; 0]);
        queue.release(HostId(1), now);
        assert_eq!(started(&mut queue, now), ["b2"]);
        // The connection of `c` is closed after its idle time.
        queue.release(HostId(1), now + IDLE);
        assert_eq!(started(&mut queue, now + IDLE), ["b3"]);
        assert_eq!(queue.connections, 1);
    }

    #[test]
    fn a_host_whose_connections_were_closed_waits_for_a_new_one() {
        let now = Instant::now();
        let mut queue = Queue::new(1, IDLE);
        let id = queue.host_id("a", rate_limit(1, Duration::ZERO));
        queue.push(id, "a1");
        assert_eq!(started(&mut queue, now), ["a1"]);
        queue.release(id, now);
        queue.push(id, "a2");
        assert_eq!(started(&mut queue, now + IDLE * 2), ["a2"]);
        assert_eq!(queue.connections, 1);
    }
}
