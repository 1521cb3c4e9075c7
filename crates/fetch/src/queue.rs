//! Which work starts next: a queue per host, so that a slow host holds up nobody else.
//!
//! Hosts take turns, but one that was asked already comes before those that were not: its
//! connections are open, and a thousand open at once would be many. A host takes part while it
//! has work waiting, fewer than its share of requests under way, and its interval allows. Knows
//! nothing of networks or clocks; the time is always told.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::AGES;

/// A host's number in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct HostId(usize);

/// What one host may be asked to bear.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateLimit {
    /// Requests under way at once; one at least.
    pub(super) at_once: usize,
    /// The least time between the starts of two requests.
    pub(super) interval: Duration,
}

/// Work, host by host.
#[derive(Debug)]
pub(super) struct Queue<T> {
    ids: HashMap<String, HostId>,
    hosts: Vec<Host<T>>,
    /// Hosts that may start something now, in turn.
    ready: VecDeque<HostId>,
    /// Hosts that would be ready but for their interval.
    parked: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// Work that waits for its time, by number.
    later: BinaryHeap<Reverse<(Instant, u64)>>,
    sleeping: HashMap<u64, (HostId, T)>,
    serial: u64,
    waiting: usize,
}

#[derive(Debug)]
struct Host<T> {
    name: String,
    share: RateLimit,
    waiting: VecDeque<T>,
    running: usize,
    /// The interval keeps it closed until then.
    opens: Option<Instant>,
    /// Whether it stands in `ready` or `parked`.
    listed: bool,
}

impl<T> Queue<T> {
    /// An empty queue.
    pub(super) fn new() -> Self {
        Self {
            ids: HashMap::new(),
            hosts: Vec::new(),
            ready: VecDeque::new(),
            parked: BinaryHeap::new(),
            later: BinaryHeap::new(),
            sleeping: HashMap::new(),
            serial: 0,
            waiting: 0,
        }
    }

    /// How much has not been started.
    pub(super) fn len(&self) -> usize {
        self.waiting + self.sleeping.len()
    }

    /// Adds work that may start at once. The share is that of the host, always the same one.
    pub(super) fn push(&mut self, host: &str, share: RateLimit, work: T) {
        let id = self.host(host, share);
        self.hosts[id.0].waiting.push_back(work);
        self.waiting += 1;
        if self.list(id) {
            self.ready.push_back(id);
        }
    }

    /// Adds work that was begun elsewhere: it comes before what was not.
    pub(super) fn push_begun(&mut self, host: &str, share: RateLimit, work: T) {
        let id = self.host(host, share);
        self.push_front(id, work);
    }

    /// Adds work that may start from `when` on.
    pub(super) fn push_later(&mut self, host: HostId, when: Instant, work: T) {
        self.later.push(Reverse((when, self.serial)));
        self.sleeping.insert(self.serial, (host, work));
        self.serial += 1;
    }

    /// Starts something, if anything may start now. [`Queue::release`] must follow when it is over.
    pub(super) fn start(&mut self, now: Instant) -> Option<(HostId, T)> {
        self.wake_up(now);
        while let Some(id) = self.ready.pop_front() {
            let host = &mut self.hosts[id.0];
            if let Some(opens) = host.opens.filter(|opens| *opens > now) {
                self.parked.push(Reverse((opens, id)));
                continue;
            }
            host.listed = false;
            let Some(work) = host.waiting.pop_front() else {
                continue;
            };
            host.running += 1;
            host.opens = (!host.share.interval.is_zero()).then(|| now + host.share.interval);
            self.waiting -= 1;
            if self.list(id) {
                self.ready.push_back(id);
            }
            return Some((id, work));
        }
        None
    }

    /// Gives back the place that a started work had taken.
    pub(super) fn release(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0];
        host.running = host.running.saturating_sub(1);
        if self.list(id) {
            self.ready.push_front(id);
        }
    }

    /// When something may start that may not start yet, unless a release comes first.
    pub(super) fn wakes(&self) -> Option<Instant> {
        let parked = self.parked.peek().map(|Reverse((when, _))| *when);
        let later = self.later.peek().map(|Reverse((when, _))| *when);
        parked.into_iter().chain(later).min()
    }

    /// The number of a host that work has been added for.
    pub(super) fn id_of(&self, host: &str) -> Option<HostId> {
        self.ids.get(host).copied()
    }

    /// Its name.
    pub(super) fn name_of(&self, id: HostId) -> &str {
        &self.hosts[id.0].name
    }

    /// Takes out all of one host's work that was not started.
    pub(super) fn drain_host(&mut self, id: HostId) -> Vec<T> {
        let mut work: Vec<T> = self.hosts[id.0].waiting.drain(..).collect();
        self.waiting -= work.len();
        let asleep = self.sleeping.extract_if(|_, (host, _)| *host == id);
        work.extend(asleep.map(|(_, (_, work))| work));
        work
    }

    /// Takes out all that was not started.
    pub(super) fn drain(&mut self) -> Vec<T> {
        let mut all: Vec<T> = self
            .hosts
            .iter_mut()
            .flat_map(|host| host.waiting.drain(..))
            .collect();
        all.extend(self.sleeping.drain().map(|(_, (_, work))| work));
        self.ready.clear();
        self.parked.clear();
        self.later.clear();
        self.waiting = 0;
        for host in &mut self.hosts {
            host.listed = false;
        }
        all
    }

    fn push_front(&mut self, id: HostId, work: T) {
        self.hosts[id.0].waiting.push_front(work);
        self.waiting += 1;
        if self.list(id) {
            self.ready.push_front(id);
        }
    }

    fn host(&mut self, name: &str, share: RateLimit) -> HostId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = HostId(self.hosts.len());
        self.hosts.push(Host {
            name: name.to_owned(),
            share: RateLimit {
                at_once: share.at_once.max(1),
                interval: share.interval.min(AGES),
            },
            waiting: VecDeque::new(),
            running: 0,
            opens: None,
            listed: false,
        });
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// Whether the host is to stand among the ready from now on.
    fn list(&mut self, id: HostId) -> bool {
        let host = &mut self.hosts[id.0];
        let joins = !host.listed && !host.waiting.is_empty() && host.running < host.share.at_once;
        host.listed |= joins;
        joins
    }

    fn wake_up(&mut self, now: Instant) {
        while let Some(Reverse((when, serial))) = self.later.peek().copied()
            && when <= now
        {
            self.later.pop();
            if let Some((id, work)) = self.sleeping.remove(&serial) {
                self.push_front(id, work);
            }
        }
        while let Some(Reverse((when, id))) = self.parked.peek().copied()
            && when <= now
        {
            self.parked.pop();
            self.ready.push_front(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(at_once: usize, interval: Duration) -> RateLimit {
        RateLimit { at_once, interval }
    }

    fn started(queue: &mut Queue<&'static str>, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.start(now).map(|(_, work)| work)).collect()
    }

    #[test]
    fn hosts_take_turns_within_their_share() {
        let now = Instant::now();
        let mut queue = Queue::new();
        for work in ["a1", "a2", "a3", "b1", "b2"] {
            let at_once = if work.starts_with('a') { 2 } else { 1 };
            queue.push(&work[..1], share(at_once, Duration::ZERO), work);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1", "a2"]);
        queue.release(HostId(0));
        assert_eq!(started(&mut queue, now), ["a3"]);
        queue.release(HostId(1));
        assert_eq!(started(&mut queue, now), ["b2"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn the_interval_parks_a_host_and_nobody_else() {
        let (now, interval) = (Instant::now(), Duration::from_secs(10));
        let mut queue = Queue::new();
        for work in ["a1", "a2", "b1"] {
            queue.push(&work[..1], share(4, interval), work);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1"]);
        assert_eq!(queue.wakes(), Some(now + interval));
        assert_eq!(started(&mut queue, now + interval), ["a2"]);
    }

    #[test]
    fn later_work_takes_no_place_and_then_comes_first() {
        let (now, wait, one) = (
            Instant::now(),
            Duration::from_secs(5),
            share(1, Duration::ZERO),
        );
        let mut queue = Queue::new();
        queue.push("a", one, "first");
        let (id, work) = queue.start(now).unwrap();
        queue.push_later(id, now + wait, work);
        queue.release(id);
        queue.push("a", one, "second");
        queue.push("a", one, "third");
        assert_eq!(started(&mut queue, now), ["second"]);
        queue.release(id);
        assert_eq!(queue.wakes(), Some(now + wait));
        assert_eq!(started(&mut queue, now + wait), ["first"]);
        assert_eq!(queue.drain(), ["third"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn what_was_begun_elsewhere_takes_its_place_at_the_new_host() {
        let (now, one) = (Instant::now(), share(1, Duration::ZERO));
        let mut queue = Queue::new();
        for (host, work) in [("a", "a1"), ("b", "b1"), ("b", "b2")] {
            queue.push(host, one, work);
        }
        assert_eq!(started(&mut queue, now), ["a1", "b1"]);
        queue.release(HostId(0));
        queue.push_begun("b", one, "a1");
        assert_eq!(started(&mut queue, now), [""; 0]);
        queue.release(HostId(1));
        assert_eq!(started(&mut queue, now), ["a1"]);
    }
}
