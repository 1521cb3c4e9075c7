//! Runs all jobs of one run: starts requests, follows redirects, retries, and hands out finished jobs.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::OptionFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::Timestamp;
use tokio::sync::mpsc::Sender;
use urldb_verdict::{
    Decision, Failure, FailureKind, Job, JudgedJob, Observation, Verdict, VerdictOptions, judge,
    undecided,
};

use crate::chain::{Chain, FetchContext, Step};
use crate::client::ConnectionPool;
use crate::exchange::Permit;
use crate::limits::Limits;
use crate::queue::{HostId, Queue};
use crate::slots::SLOT_WAIT;
use crate::sources::Sources;
use crate::stop::deadline_in;
use crate::unresponsive::UnresponsiveHosts;

/// Most jobs that are queued ahead, in search of hosts that may be asked.
const LOOKAHEAD: usize = 16_384;

/// Fewest waiting jobs of a host for which its source is not read on.
const HOST_WINDOW: usize = 64;

/// Most jobs of a host that wait for a retry while its source is read on.
const HOST_RETRIES: usize = 2_048;

/// Most jobs that are queued before the driver looks after its requests again.
const QUEUE_BATCH: usize = 64;

/// No request starts while this many finished jobs wait for the caller.
const MAX_FINISHED: usize = 16;

/// Fewest tasks of the runtime that run while the driver yields once, if as many wait.
const TASKS_OF_A_YIELD: usize = 32;

/// A job that is not finished, and its observations so far.
#[derive(Debug)]
struct PendingJob {
    job: Job,
    observations: Vec<Observation>,
    /// Whether the next fetch uses new connections and no caches.
    fresh: bool,
    /// A fetch that waits for its next request, after a redirect.
    chain: Option<Box<Chain>>,
}

impl PendingJob {
    /// A job without observations. The box keeps moves and long queues cheap.
    fn new(job: Job) -> Box<Self> {
        Box::new(Self {
            job,
            observations: Vec::new(),
            fresh: false,
            chain: None,
        })
    }

    /// Adds an observation, and drops the bytes of the bodies before: a verdict rests on the last
    /// observation, and compares bodies by their digests.
    fn add(&mut self, observation: Observation) {
        self.drop_bodies();
        // Almost every job has one.
        self.observations.reserve_exact(1);
        self.observations.push(observation);
    }

    /// Drops the bytes of all bodies so far. They may fill the folder of temporary files.
    fn drop_bodies(&mut self) {
        for observation in &mut self.observations {
            if let Some(body) = &mut observation.body {
                body.bytes = None;
            }
        }
    }

    fn last_failure(&self) -> Option<FailureKind> {
        let failure = self.observations.last()?.failure.as_ref()?;
        Some(failure.kind)
    }

    /// The decision about the job, which is final once the run has ended; `None` while a fetch waits for its
    /// next request.
    fn decision<N: DecideFn>(&self, rule: &Rule<'_, N>) -> Option<Decision> {
        if self.chain.is_some() {
            return None;
        }
        let (job, seen) = (&self.job, self.observations.as_slice());
        let decision = (rule.decide)(job, seen, rule.options);
        let is_over = self.last_failure() == Some(FailureKind::RunEnded);
        Some(match decision {
            Decision::Retry { .. } if is_over => {
                Decision::Final(undecided(job, seen, rule.options))
            }
            decision => decision,
        })
    }

    /// Whether our own rules forbade the last request.
    fn was_refused(&self) -> bool {
        matches!(
            self.last_failure(),
            Some(FailureKind::Refused | FailureKind::UnsafeMethod)
        )
    }

    fn give_up<N: DecideFn>(mut self, failure: Failure, rule: &Rule<'_, N>) -> JudgedJob {
        let observation = match self.chain.take() {
            Some(chain) => chain.abandon(failure),
            None => Observation::of_nothing(failure, Timestamp::now()),
        };
        self.add(observation);
        judge(self.job, self.observations, &rule.decide, rule.options)
    }

    fn finish(self, verdict: Verdict) -> JudgedJob {
        JudgedJob {
            job: self.job,
            observations: self.observations,
            verdict,
        }
    }
}

/// A function that turns the observations of a job into a decision.
pub(crate) trait DecideFn: Fn(&Job, &[Observation], &VerdictOptions) -> Decision {}

impl<N: Fn(&Job, &[Observation], &VerdictOptions) -> Decision> DecideFn for N {}

/// The rule that decides about jobs.
pub(crate) struct Rule<'a, N> {
    pub(crate) decide: N,
    pub(crate) options: &'a VerdictOptions,
}

/// Runs all jobs; returns when all jobs are handed out, or the receiver is dropped.
pub(crate) async fn drive<J: Iterator<Item = Job>>(
    context: &FetchContext,
    sources: impl Iterator<Item = J>,
    rule: Rule<'_, impl DecideFn>,
    sender: Sender<JudgedJob>,
    limits: Limits,
) {
    let mut driver = Driver::new(context, sources, rule);
    let mut running = FuturesUnordered::new();
    let mut run_end = std::pin::pin!(limits.run_end());
    loop {
        driver.batch_left = QUEUE_BATCH;
        if driver.ended.is_none()
            && let Some(failure) = limits.budget_failure()
        {
            driver.end(failure);
        }
        let slots = context.slots.limit();
        while running.len() < slots
            && let Some((host, job)) = driver.start()
        {
            let permit = driver.permit(host);
            running.push(send_request(context, &limits, host, job, permit));
        }
        // Tasks of their own close the connections, before the jobs that start now open others.
        if driver.closed > 0 {
            for _ in 0..=driver.closed / TASKS_OF_A_YIELD {
                tokio::task::yield_now().await;
            }
            driver.closed = 0;
        }
        if running.is_empty() && driver.is_finished() {
            return;
        }
        let next_start = driver.next_start().filter(|_| running.len() < slots);
        let timer: OptionFuture<_> = next_start
            .map(|at| tokio::time::sleep_until(at.into()))
            .into();
        tokio::select! {
            biased;
            failure = &mut run_end, if driver.ended.is_none() => driver.end(failure),
            Some(result) = running.next(), if !running.is_empty() => driver.handle(result),
            permit = sender.reserve(), if !driver.finished.is_empty() => {
                let Ok(permit) = permit else { return };
                if let Some(finished) = driver.finished.pop_front() {
                    permit.send(finished);
                }
            }
            Some(()) = timer => {}
            () = context.slots.changed(), if running.len() >= slots => {}
            () = tokio::task::yield_now(), if driver.batch_left == 0 => {}
        }
    }
}

/// The state of a run, except for the requests under way.
struct Driver<'a, S, J: Iterator, N> {
    context: &'a FetchContext,
    rule: Rule<'a, N>,
    sources: Sources<S, J>,
    /// Jobs that may still be queued in this batch.
    batch_left: usize,
    queue: Queue<Box<PendingJob>>,
    /// The connections to each host that the queue counts connections of.
    pools: HashMap<HostId, Arc<ConnectionPool>>,
    /// Number of connections that are being closed.
    closed: usize,
    unresponsive: UnresponsiveHosts,
    /// Finished jobs that wait for the caller.
    finished: VecDeque<JudgedJob>,
    /// Set once the run has ended: no request starts any more.
    ended: Option<Failure>,
}

impl<'a, S, J, N> Driver<'a, S, J, N>
where
    S: Iterator<Item = J>,
    J: Iterator<Item = Job>,
    N: DecideFn,
{
    fn new(context: &'a FetchContext, sources: S, rule: Rule<'a, N>) -> Self {
        Self {
            context,
            rule,
            sources: Sources::new(sources, context.slots.sources()),
            batch_left: QUEUE_BATCH,
            queue: Queue::new(context.slots.connections(), context.hosts.longest_idle()),
            pools: HashMap::new(),
            closed: 0,
            unresponsive: UnresponsiveHosts::default(),
            finished: VecDeque::new(),
            ended: None,
        }
    }

    /// Starts the next job that may start now; queues further jobs in search of one.
    fn start(&mut self) -> Option<(HostId, Box<PendingJob>)> {
        while self.finished.len() < MAX_FINISHED {
            let started = self.queue.start(Instant::now());
            for (host, connections) in self.queue.closed() {
                self.pools.remove(&host);
                self.closed += connections;
            }
            let is_search_over = self.batch_left == 0 || self.queue.len() >= LOOKAHEAD;
            if started.is_some() || is_search_over || !self.queue_job() {
                return started;
            }
        }
        None
    }

    /// The permit of a request that starts now. A request to a silent host gets no time in a slot:
    /// requests to silent hosts would otherwise fill all slots, again and again.
    fn permit(&mut self, host: HostId) -> Permit {
        let now = Instant::now();
        let is_silent = self.unresponsive.is_silent(host, now, SLOT_WAIT);
        Permit {
            slot_wait: if is_silent { Duration::ZERO } else { SLOT_WAIT },
            has_response: self.unresponsive.request_started(host, now),
            pool: Arc::clone(self.pools.entry(host).or_default()),
        }
    }

    /// Takes one job from the sources and queues it, unless the job is given up at once. Returns
    /// whether there was a job to take.
    fn queue_job(&mut self) -> bool {
        let Self {
            queue,
            context,
            ended,
            ..
        } = self;
        let may_begin = ended.is_some() || queue.can_connect();
        let is_short = |id: HostId| {
            let host = context.hosts.of(queue.name_of(id));
            let window = host.rate_limit().concurrency.max(HOST_WINDOW);
            queue.waiting_of(id) < window && queue.delayed_of(id) < HOST_RETRIES
        };
        let Some((job, source)) = self.sources.next(is_short, may_begin) else {
            return false;
        };
        self.batch_left -= 1;
        let host = job.url.host();
        let rate_limit = self.context.hosts.of(host).rate_limit();
        let id = self.queue.host_id(host, rate_limit);
        let job = PendingJob::new(job);
        let failure = self.ended.clone();
        match failure.or_else(|| self.unresponsive_failure(id)) {
            Some(failure) => self.finished.push_back(job.give_up(failure, &self.rule)),
            None => self.queue.push(id, job),
        }
        self.sources.put_back(source, id);
        true
    }

    /// Handles the result of a request: the job is finished, redirected, or fetched again.
    fn handle(&mut self, result: RequestResult) {
        let RequestResult {
            host,
            mut job,
            is_answered,
        } = result;
        self.queue.release(host, Instant::now());
        if is_answered {
            self.unresponsive.response_finished(host);
        }
        let finished = match (job.decision(&self.rule), &self.ended) {
            (None, None) => return self.queue_redirect(job),
            (None | Some(Decision::Retry { .. }), Some(failure)) => {
                job.give_up(failure.clone(), &self.rule)
            }
            (Some(Decision::Final(verdict)), _) => {
                self.unresponsive.job_finished(host);
                job.finish(verdict)
            }
            (Some(Decision::Retry { wait, fresh }), None) => {
                let Some(failure) = self.unresponsive_failure(host) else {
                    job.fresh = fresh;
                    job.drop_bodies();
                    return self.queue.push_delayed(host, deadline_in(wait), job);
                };
                job.give_up(failure, &self.rule)
            }
        };
        self.finished.push_back(finished);
        if !is_answered && let Some(failure) = self.unresponsive_failure(host) {
            let jobs = self.queue.drain_host(host).into_iter();
            self.finished
                .extend(jobs.map(|job| job.give_up(failure.clone(), &self.rule)));
        }
    }

    /// The failure of all remaining jobs of a host that has been silent for its `host-patience`.
    fn unresponsive_failure(&self, id: HostId) -> Option<Failure> {
        let host = self.queue.name_of(id);
        let patience = self.context.hosts.of(host).options.host_patience;
        let now = Instant::now();
        self.unresponsive
            .is_given_up(id, now, patience)
            .then(|| Failure {
                kind: FailureKind::HostSilent,
                detail: format!("{host} sent no response for {patience:?} (host-patience)"),
                certificate: None,
            })
    }

    /// Queues a job at the host that a redirect leads to.
    fn queue_redirect(&mut self, job: Box<PendingJob>) {
        let Some(chain) = &job.chain else { return };
        let host = chain.next_host().to_owned();
        let rate_limit = self.context.hosts.of(&host).rate_limit();
        self.queue.push_redirected(&host, rate_limit, job);
    }

    /// Ends the run: no request starts any more.
    fn end(&mut self, failure: Failure) {
        let jobs = self.queue.drain().into_iter();
        self.finished
            .extend(jobs.map(|job| job.give_up(failure.clone(), &self.rule)));
        self.ended = Some(failure);
    }

    /// When a delayed request may start; `None` while too many finished jobs wait for the caller.
    fn next_start(&self) -> Option<Instant> {
        self.queue
            .next_start()
            .filter(|_| self.finished.len() < MAX_FINISHED)
    }

    fn is_finished(&self) -> bool {
        self.sources.is_exhausted() && self.queue.len() == 0 && self.finished.is_empty()
    }
}

/// A job after one request.
struct RequestResult {
    host: HostId,
    job: Box<PendingJob>,
    /// Whether the head of a response has come; also true for a request that our rules forbade,
    /// since the host owes no response.
    is_answered: bool,
}

/// Sends the next request of a job and reads its response.
async fn send_request(
    context: &FetchContext,
    limits: &Limits,
    host: HostId,
    mut job: Box<PendingJob>,
    permit: Permit,
) -> RequestResult {
    let chain = match job.chain.take() {
        Some(chain) => Ok(*chain),
        None => Chain::new(context, &job.job, job.fresh),
    };
    let mut responses_before = 0;
    let step = match chain {
        Ok(chain) => {
            responses_before = chain.response_count();
            chain.step(context, &job.job, limits, permit).await
        }
        Err(failure) => Step::Done(Observation::of_nothing(failure, Timestamp::now())),
    };
    let responses = match step {
        Step::Done(observation) => {
            let responses = observation.hops.len();
            job.add(observation);
            responses
        }
        Step::Redirect(chain) => {
            let responses = chain.response_count();
            job.chain = Some(Box::new(chain));
            responses
        }
    };
    RequestResult {
        host,
        is_answered: responses > responses_before || job.was_refused(),
        job,
    }
}
