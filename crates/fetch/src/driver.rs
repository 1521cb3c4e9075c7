//! Runs jobs: takes them in as there is room, fetches, asks whether to fetch again, hands them out.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures_util::future::OptionFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::Timestamp;
use tokio::sync::mpsc::Sender;
use url::Url;

use super::chain::{Chain, Permit, Shared, Step};
use super::limits::Limits;
use super::queue::{HostId, Queue};
use super::slots::SOON;
use super::unresponsive::Unresponsive;
use super::{FetchedJob, Next, after};
use urldb_verdict::Job;
use urldb_verdict::{Failure, FailureKind, Observation};

/// Jobs that are taken in ahead of their time at most, in search of hosts that are free.
const LOOKAHEAD: usize = 100_000;

/// Jobs that are taken in at a stretch.
const STRETCH: usize = 64;

/// Finished jobs that may wait to be taken before no more are started.
const OUTBOX: usize = 16;

/// Bodies kept of one job: as many as are compared with each other.
const KEPT: usize = 3;

/// A job and what was seen of it so far.
#[derive(Debug)]
struct Work {
    job: Job,
    observations: Vec<Observation>,
    fresh: bool,
    /// A fetch that a redirect leads on.
    begun: Option<Box<Chain>>,
}

impl Work {
    /// In a box, for it is moved about, and waits in queues that grow.
    fn new(job: Job) -> Box<Self> {
        Box::new(Self {
            job,
            observations: Vec::new(),
            fresh: false,
            begun: None,
        })
    }

    fn add(&mut self, observation: Observation) {
        self.observations.push(observation);
        let older = self.observations.len().saturating_sub(KEPT);
        for observation in &mut self.observations[..older] {
            if let Some(body) = &mut observation.body {
                body.bytes = None;
            }
        }
    }

    /// The next step, with the caller's decision if the caller was asked; `None` while a fetch is
    /// under way.
    fn decide<D>(&self, next: impl Fn(&Job, &[Observation]) -> Next<D>) -> Option<Next<Option<D>>> {
        if self.begun.is_some() {
            return None;
        }
        let failure = self
            .observations
            .last()
            .and_then(|last| last.failure.as_ref());
        if failure.is_some_and(|failure| failure.kind == FailureKind::RunEnded) {
            return Some(Next::Done(None));
        }
        Some(match next(&self.job, &self.observations) {
            Next::Done(decision) => Next::Done(Some(decision)),
            Next::Retry { wait, fresh } => Next::Retry { wait, fresh },
        })
    }

    /// Whether our own rules kept the last request from being sent.
    fn was_refused(&self) -> bool {
        let last = self.observations.last();
        let failure = last.and_then(|last| last.failure.as_ref());
        failure.is_some_and(|failure| {
            matches!(
                failure.kind,
                FailureKind::Refused | FailureKind::UnsafeMethod
            )
        })
    }

    fn give_up<D>(mut self, failure: Failure) -> FetchedJob<D> {
        let observation = match self.begun.take() {
            Some(chain) => chain.given_up(failure),
            None => Observation::of_nothing(failure, Timestamp::now()),
        };
        self.add(observation);
        self.finish(None)
    }

    fn finish<D>(self, decision: Option<D>) -> FetchedJob<D> {
        FetchedJob {
            job: self.job,
            observations: self.observations,
            decision,
        }
    }
}

/// Runs all jobs; returns when every one has been handed out, or nobody takes them any more.
pub(super) async fn drive<D>(
    shared: &Shared,
    jobs: impl Iterator<Item = Job>,
    next: impl Fn(&Job, &[Observation]) -> Next<D>,
    out: Sender<FetchedJob<D>>,
    limits: Limits,
) {
    let mut run = Run {
        shared,
        next,
        jobs: jobs.fuse(),
        more: true,
        stretch: STRETCH,
        queue: Queue::new(),
        unresponsive: Unresponsive::default(),
        outbox: VecDeque::new(),
        over: None,
    };
    let mut running = FuturesUnordered::new();
    let mut reached = std::pin::pin!(limits.reached());
    loop {
        run.stretch = STRETCH;
        if run.over.is_none()
            && let Some(failure) = limits.is_spent()
        {
            run.end(failure);
        }
        let slots = shared.slots.number(shared.check.concurrency);
        while running.len() < slots
            && let Some((host, work)) = run.start()
        {
            let turn = run.turn(host);
            running.push(fetch(shared, &limits, host, work, turn));
        }
        if running.is_empty() && run.is_finished() {
            return;
        }
        let wakes = run.wakes().filter(|_| running.len() < slots);
        let wake: OptionFuture<_> = wakes.map(|at| tokio::time::sleep_until(at.into())).into();
        tokio::select! {
            biased;
            failure = &mut reached, if run.over.is_none() => run.end(failure),
            Some(fetched) = running.next(), if !running.is_empty() => run.settle(fetched),
            permit = out.reserve(), if !run.outbox.is_empty() => {
                let Ok(permit) = permit else { return };
                if let Some(finished) = run.outbox.pop_front() {
                    permit.send(finished);
                }
            }
            Some(()) = wake => {}
            () = shared.slots.changed(), if running.len() >= slots => {}
            () = tokio::task::yield_now(), if run.stretch == 0 => {}
        }
    }
}

/// What a run keeps account of, besides the fetches under way.
struct Run<'a, J, N, D> {
    shared: &'a Shared,
    next: N,
    jobs: J,
    /// Whether `jobs` may have more.
    more: bool,
    /// Jobs that may still be taken in at this stretch.
    stretch: usize,
    queue: Queue<Box<Work>>,
    unresponsive: Unresponsive,
    outbox: VecDeque<FetchedJob<D>>,
    /// Set once the run is over.
    over: Option<Failure>,
}

impl<J, N, D> Run<'_, J, N, D>
where
    J: Iterator<Item = Job>,
    N: Fn(&Job, &[Observation]) -> Next<D>,
{
    /// The next work that may start now; takes in jobs in search of it.
    fn start(&mut self) -> Option<(HostId, Box<Work>)> {
        while self.outbox.len() < OUTBOX {
            let start = self.queue.start(Instant::now());
            if start.is_some() || !self.more || self.stretch == 0 || self.queue.len() >= LOOKAHEAD {
                return start;
            }
            self.take_in();
        }
        None
    }

    /// The terms of a request that starts now. Those to a host that owes answers already would
    /// only fill all places, again and again.
    fn turn(&mut self, host: HostId) -> Permit {
        let now = Instant::now();
        let owes = self.unresponsive.owes(host, now, SOON);
        Permit {
            soon: if owes { Duration::ZERO } else { SOON },
            heard: self.unresponsive.asked(host, now),
        }
    }

    fn take_in(&mut self) {
        self.stretch -= 1;
        match (self.jobs.next(), &self.over) {
            (Some(job), None) => {
                let host = host_of(&job);
                let work = Work::new(job);
                let known = self.queue.id_of(&host);
                if let Some(failure) = known.and_then(|id| self.given_up(id)) {
                    self.outbox.push_back(work.give_up(failure));
                    return;
                }
                let share = self.shared.hosts.of(&host).share();
                self.queue.push(&host, share, work);
            }
            (Some(job), Some(failure)) => self
                .outbox
                .push_back(Work::new(job).give_up(failure.clone())),
            (None, _) => self.more = false,
        }
    }

    /// A fetch has come back: the job is finished, goes on elsewhere, or will be fetched again.
    fn settle(&mut self, fetched: Fetched) {
        let Fetched {
            host,
            mut work,
            answered,
        } = fetched;
        self.queue.release(host);
        if answered {
            self.unresponsive.answered(host);
        }
        let finished = match (work.decide(&self.next), &self.over) {
            (None, None) => return self.lead_on(work),
            (None | Some(Next::Retry { .. }), Some(failure)) => work.give_up(failure.clone()),
            (Some(Next::Done(decision)), _) => {
                self.unresponsive.came_to_nothing(host);
                work.finish(decision)
            }
            (Some(Next::Retry { wait, fresh }), None) => {
                let Some(failure) = self.given_up(host) else {
                    work.fresh = fresh;
                    return self.queue.push_later(host, after(wait), work);
                };
                work.give_up(failure)
            }
        };
        self.outbox.push_back(finished);
        if !answered && let Some(failure) = self.given_up(host) {
            let left = self.queue.drain_host(host).into_iter();
            let left = left.map(|work| work.give_up(failure.clone()));
            self.outbox.extend(left);
        }
    }

    /// What it means for a host's work that it has been silent for too long.
    fn given_up(&self, id: HostId) -> Option<Failure> {
        let host = self.queue.name_of(id);
        let patience = self.shared.hosts.of(host).options.host_patience;
        let is_over = self.unresponsive.is_over(id, Instant::now(), patience);
        is_over.then(|| Failure {
            kind: FailureKind::HostSilent,
            detail: format!("{host} has answered nothing for {patience:?} (host-patience)"),
        })
    }

    /// Waits for a turn at the host that a redirect leads to.
    fn lead_on(&mut self, work: Box<Work>) {
        let Some(chain) = &work.begun else { return };
        let host = chain.host().to_owned();
        let share = self.shared.hosts.of(&host).share();
        self.queue.push_begun(&host, share, work);
    }

    /// The run is over: nothing starts any more.
    fn end(&mut self, failure: Failure) {
        let left = self.queue.drain().into_iter();
        self.outbox
            .extend(left.map(|work| work.give_up(failure.clone())));
        self.over = Some(failure);
    }

    /// When to look again for something to start; never while finished jobs pile up.
    fn wakes(&self) -> Option<Instant> {
        self.queue.wakes().filter(|_| self.outbox.len() < OUTBOX)
    }

    fn is_finished(&self) -> bool {
        !self.more && self.queue.len() == 0 && self.outbox.is_empty()
    }
}

/// A work after a request.
struct Fetched {
    host: HostId,
    work: Box<Work>,
    /// Whether the head of an answer has come, or none is owed: what we do not send has none.
    answered: bool,
}

/// Sends one request for a job, and takes in what comes.
async fn fetch(
    shared: &Shared,
    limits: &Limits,
    host: HostId,
    mut work: Box<Work>,
    turn: Permit,
) -> Fetched {
    let chain = match work.begun.take() {
        Some(chain) => Ok(*chain),
        None => Chain::begin(shared, &work.job, work.fresh),
    };
    let mut before = 0;
    let step = match chain {
        Ok(chain) => {
            before = chain.answers();
            chain.step(shared, &work.job, limits, turn).await
        }
        Err(failure) => Step::Done(Observation::of_nothing(failure, Timestamp::now())),
    };
    let answers = match step {
        Step::Done(observation) => {
            let answers = observation.hops.len();
            work.add(observation);
            answers
        }
        Step::Further(chain) => {
            let answers = chain.answers();
            work.begun = Some(Box::new(chain));
            answers
        }
    };
    Fetched {
        host,
        answered: answers > before || work.was_refused(),
        work,
    }
}

/// The host that a job's share of requests is counted for.
fn host_of(job: &Job) -> String {
    let url = Url::parse(&job.url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.unwrap_or(&job.key.domain).to_owned()
}
