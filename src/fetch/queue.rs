//! Which work starts next: a queue per host, so that a slow host holds up nobody else.
//!
//! Hosts take turns. A host takes part while it has work waiting, fewer than
//! its share of requests under way, and its pace allows. Knows nothing of
//! networks or clocks; the time is always told.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Instant;

use super::pace::Pace;

/// A host's number in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HostId(usize);

/// Work, host by host.
#[derive(Debug)]
pub(super) struct Queue<T> {
    host_concurrency: usize,
    ids: HashMap<String, HostId>,
    hosts: Vec<Host<T>>,
    /// Hosts that may start something now, in turn.
    ready: VecDeque<HostId>,
    /// Hosts that would be ready but for their pace.
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
    waiting: VecDeque<T>,
    running: usize,
    /// Whether it stands in `ready` or `parked`.
    listed: bool,
}

impl<T> Queue<T> {
    /// An empty queue that lets this much run at once per host.
    pub(super) fn new(host_concurrency: usize) -> Self {
        Self {
            host_concurrency: host_concurrency.max(1),
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

    /// Adds work that may start at once.
    pub(super) fn push(&mut self, host: &str, work: T) {
        let id = self.host(host);
        self.hosts[id.0].waiting.push_back(work);
        self.waiting += 1;
        self.list(id);
    }

    /// Adds work that may start from `when` on.
    pub(super) fn push_later(&mut self, host: HostId, when: Instant, work: T) {
        self.later.push(Reverse((when, self.serial)));
        self.sleeping.insert(self.serial, (host, work));
        self.serial += 1;
    }

    /// Starts something, if anything may start now. [`Queue::release`] must follow when it is over.
    pub(super) fn start(&mut self, pace: &Pace, now: Instant) -> Option<(HostId, T)> {
        self.wake_up(now);
        while let Some(id) = self.ready.pop_front() {
            let host = &mut self.hosts[id.0];
            if let Some(opens) = pace.opens(&host.name, now) {
                self.parked.push(Reverse((opens, id)));
                continue;
            }
            host.listed = false;
            let Some(work) = host.waiting.pop_front() else {
                continue;
            };
            host.running += 1;
            pace.reserve(&host.name, now);
            self.waiting -= 1;
            self.list(id);
            return Some((id, work));
        }
        None
    }

    /// Gives back the place that a started work had taken.
    pub(super) fn release(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0];
        host.running = host.running.saturating_sub(1);
        self.list(id);
    }

    /// When something may start that may not start yet, unless a release comes first.
    pub(super) fn wakes(&self) -> Option<Instant> {
        let parked = self.parked.peek().map(|Reverse((when, _))| *when);
        let later = self.later.peek().map(|Reverse((when, _))| *when);
        parked.into_iter().chain(later).min()
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

    fn host(&mut self, name: &str) -> HostId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = HostId(self.hosts.len());
        self.hosts.push(Host {
            name: name.to_owned(),
            waiting: VecDeque::new(),
            running: 0,
            listed: false,
        });
        self.ids.insert(name.to_owned(), id);
        id
    }

    fn list(&mut self, id: HostId) {
        let host = &mut self.hosts[id.0];
        if !host.listed && !host.waiting.is_empty() && host.running < self.host_concurrency {
            host.listed = true;
            self.ready.push_back(id);
        }
    }

    fn wake_up(&mut self, now: Instant) {
        while let Some(Reverse((when, serial))) = self.later.peek().copied()
            && when <= now
        {
            self.later.pop();
            if let Some((id, work)) = self.sleeping.remove(&serial) {
                // Before the rest: what was begun is finished first.
                self.hosts[id.0].waiting.push_front(work);
                self.waiting += 1;
                self.list(id);
            }
        }
        while let Some(Reverse((when, id))) = self.parked.peek().copied()
            && when <= now
        {
            self.parked.pop();
            self.ready.push_back(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn started(queue: &mut Queue<&'static str>, pace: &Pace, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.start(pace, now).map(|(_, work)| work)).collect()
    }

    #[test]
    fn hosts_take_turns_within_their_share() {
        let (now, pace) = (Instant::now(), Pace::new(Duration::ZERO));
        let mut queue = Queue::new(2);
        for work in ["a1", "a2", "a3", "b1"] {
            queue.push(&work[..1], work);
        }
        assert_eq!(started(&mut queue, &pace, now), ["a1", "b1", "a2"]);
        queue.release(HostId(0));
        assert_eq!(started(&mut queue, &pace, now), ["a3"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn the_pace_parks_a_host_and_nobody_else() {
        let (now, interval) = (Instant::now(), Duration::from_secs(10));
        let pace = Pace::new(interval);
        let mut queue = Queue::new(4);
        for work in ["a1", "a2", "b1"] {
            queue.push(&work[..1], work);
        }
        assert_eq!(started(&mut queue, &pace, now), ["a1", "b1"]);
        assert_eq!(queue.wakes(), Some(now + interval));
        assert_eq!(started(&mut queue, &pace, now + interval), ["a2"]);
    }

    #[test]
    fn later_work_takes_no_place_and_then_comes_first() {
        let (now, wait, pace) = (
            Instant::now(),
            Duration::from_secs(5),
            Pace::new(Duration::ZERO),
        );
        let mut queue = Queue::new(1);
        queue.push("a", "first");
        let (id, work) = queue.start(&pace, now).unwrap();
        queue.push_later(id, now + wait, work);
        queue.release(id);
        queue.push("a", "second");
        queue.push("a", "third");
        assert_eq!(started(&mut queue, &pace, now), ["second"]);
        queue.release(id);
        assert_eq!(queue.wakes(), Some(now + wait));
        assert_eq!(started(&mut queue, &pace, now + wait), ["first"]);
        assert_eq!(queue.drain(), ["third"]);
        assert_eq!(queue.len(), 0);
    }
}
