//! Runs jobs: takes them in as there is room, fetches, asks whether to fetch again, hands them out.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures_util::future::OptionFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::Timestamp;
use tokio::sync::mpsc::Sender;
use url::Url;

use super::chain::{Shared, observe};
use super::queue::{HostId, Queue};
use super::{Failure, FailureKind, Next, Observation, after};
use crate::plan::Job;
use crate::stop::Stop;

/// Jobs that are taken in ahead of their time at most, in search of hosts that are free.
const LOOKAHEAD: usize = 100_000;

/// Jobs that are taken in at a stretch.
const STRETCH: usize = 64;

/// Finished jobs that may wait to be taken before no more are started.
const OUTBOX: usize = 16;

/// Bodies kept of one job: as many as are compared with each other.
const KEPT: usize = 3;

/// A job that is finished.
pub(super) type Finished = (Job, Vec<Observation>);

/// When a run is over before its jobs are.
#[derive(Debug, Clone)]
pub(super) struct End {
    stop: Stop,
    deadline: Option<Instant>,
}

impl End {
    /// A run that starts now.
    pub(super) fn new(stop: &Stop, time: Option<Duration>) -> Self {
        Self {
            stop: stop.clone(),
            deadline: time.map(after),
        }
    }

    /// Returns once the run is over, with what that means for a job.
    async fn reached(&self) -> Failure {
        let over: OptionFuture<_> = self
            .deadline
            .map(|at| tokio::time::sleep_until(at.into()))
            .into();
        let detail = tokio::select! {
            biased;
            () = self.stop.wait() => "the run was interrupted",
            Some(()) = over => "the run's time was over",
        };
        Failure {
            kind: FailureKind::RunEnded,
            detail: detail.to_owned(),
        }
    }
}

/// A job and what was seen of it so far.
#[derive(Debug)]
struct Work {
    job: Job,
    observations: Vec<Observation>,
    fresh: bool,
}

impl Work {
    fn new(job: Job) -> Self {
        Self {
            job,
            observations: Vec::new(),
            fresh: false,
        }
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

    fn decide(&self, next: impl Fn(&Job, &[Observation]) -> Next) -> Next {
        let failure = self
            .observations
            .last()
            .and_then(|last| last.failure.as_ref());
        if failure.is_some_and(|failure| failure.kind == FailureKind::RunEnded) {
            return Next::Done;
        }
        next(&self.job, &self.observations)
    }

    fn give_up(mut self, failure: Failure) -> Finished {
        self.add(Observation {
            started: Timestamp::now(),
            elapsed: Duration::ZERO,
            hops: Vec::new(),
            body: None,
            failure: Some(failure),
        });
        self.finish()
    }

    fn finish(self) -> Finished {
        (self.job, self.observations)
    }
}

/// Runs all jobs; returns when every one has been handed out, or nobody takes them any more.
pub(super) async fn drive(
    shared: &Shared,
    jobs: impl Iterator<Item = Job>,
    next: impl Fn(&Job, &[Observation]) -> Next,
    out: Sender<Finished>,
    end: End,
) {
    let mut jobs = jobs.fuse();
    let concurrency = shared.check.concurrency.max(1);
    let mut queue = Queue::new(shared.check.host_concurrency);
    let mut running = FuturesUnordered::new();
    let mut outbox = VecDeque::new();
    let mut more = true;
    let mut over: Option<Failure> = None;
    let mut ending = std::pin::pin!(end.reached());
    loop {
        let mut taken_in = 0;
        while outbox.len() < OUTBOX && running.len() < concurrency {
            if let Some(failure) = &over {
                let Some(job) = jobs.next() else {
                    more = false;
                    break;
                };
                outbox.push_back(Work::new(job).give_up(failure.clone()));
            } else if let Some((host, work)) = queue.start(&shared.pace, Instant::now()) {
                running.push(fetch(shared, &end, host, work));
            } else if more && taken_in < STRETCH && queue.len() < LOOKAHEAD {
                taken_in += 1;
                match jobs.next() {
                    Some(job) => queue.push(&host_of(&job), Work::new(job)),
                    None => more = false,
                }
            } else {
                break;
            }
        }
        if !more && running.is_empty() && queue.len() == 0 && outbox.is_empty() {
            return;
        }
        let has_room = outbox.len() < OUTBOX && running.len() < concurrency;
        let wakes = queue.wakes().filter(|_| has_room);
        let wake: OptionFuture<_> = wakes.map(|at| tokio::time::sleep_until(at.into())).into();
        tokio::select! {
            biased;
            failure = &mut ending, if over.is_none() => {
                outbox.extend(queue.drain().into_iter().map(|work| work.give_up(failure.clone())));
                over = Some(failure);
            }
            Some((host, work)) = running.next(), if !running.is_empty() => {
                queue.release(host);
                match (work.decide(&next), &over) {
                    (Next::Done, _) => outbox.push_back(work.finish()),
                    (Next::Again { .. }, Some(failure)) => outbox.push_back(work.give_up(failure.clone())),
                    (Next::Again { wait, fresh }, None) => {
                        queue.push_later(host, after(wait), Work { fresh, ..work });
                    }
                }
            }
            permit = out.reserve(), if !outbox.is_empty() => {
                let Ok(permit) = permit else { return };
                if let Some(finished) = outbox.pop_front() {
                    permit.send(finished);
                }
            }
            Some(()) = wake => {}
            () = tokio::task::yield_now(), if taken_in == STRETCH => {}
        }
    }
}

async fn fetch(shared: &Shared, end: &End, host: HostId, mut work: Work) -> (HostId, Work) {
    let observation = observe(shared, &work.job, work.fresh, end.reached()).await;
    work.add(observation);
    (host, work)
}

/// The host that a job's share of requests is counted for.
fn host_of(job: &Job) -> String {
    let url = Url::parse(&job.url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.unwrap_or(&job.key.domain).to_owned()
}
