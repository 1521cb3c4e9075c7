//! Runs all jobs of one run: starts requests, follows redirects, retries, and hands out finished jobs.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::OptionFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::Sender;
use urldb_verdict::{Decision, Failure, Job, JudgedJob};

use crate::chain::FetchContext;
use crate::client::ConnectionPool;
use crate::exchange::Permit;
use crate::limited::limited;
use crate::limits::Limits;
use crate::pending::{DecideFn, HostTurn, PendingJob, Rule};
use crate::queue::{HostId, Queue};
use crate::request::{RequestResult, send_request};
use crate::second_pass::{PassEnd, PassResult};
use crate::slots::SLOT_WAIT;
use crate::sources::Sources;
use crate::stop::deadline_in;
use crate::turns::{TurnedJob, Turns};
use crate::unresponsive::{UnresponsiveHosts, silent};

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
        let timer: OptionFuture<_> = driver
            .next_start()
            .filter(|_| running.len() < slots)
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
    /// Jobs that their hosts refused, and that are asked again.
    turns: Turns,
    /// Hosts whose second pass may go on.
    due: VecDeque<HostId>,
    /// The failure of the jobs of hosts whose `limit-patience` is over.
    limited: HashMap<HostId, Failure>,
    /// Hosts whose jobs that were set aside are given up, with the failure of these jobs.
    given_up: VecDeque<(HostId, Failure)>,
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
            turns: Turns::default(),
            due: VecDeque::new(),
            limited: HashMap::new(),
            given_up: VecDeque::new(),
            finished: VecDeque::new(),
            ended: None,
        }
    }

    /// Starts the next job that may start now; queues further jobs in search of one.
    fn start(&mut self) -> Option<(HostId, Box<PendingJob>)> {
        loop {
            while let Some(host) = self.due.pop_front() {
                self.go_on(host);
            }
            self.give_up_set_aside();
            if self.finished.len() >= MAX_FINISHED {
                return None;
            }
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
            let window = context
                .hosts
                .of(queue.name_of(id))
                .rate_limit()
                .concurrency
                .max(HOST_WINDOW);
            queue.waiting_of(id) < window && queue.delayed_of(id) < HOST_RETRIES
        };
        let Some((job, source, last_host)) = self.sources.next(is_short, may_begin) else {
            return false;
        };
        self.batch_left -= 1;
        let host = job.url.host();
        let rate_limit = self.context.hosts.of(host).rate_limit();
        let id = self.queue.host_id(host, rate_limit);
        let job = PendingJob::new(job);
        let failure = self.ended.clone();
        match failure.or_else(|| self.host_failure(id)) {
            Some(failure) => self.finished.push_back(job.give_up(failure, &self.rule)),
            None => self.queue.push(id, job),
        }
        self.sources.put_back(source, id);
        self.due.extend(last_host);
        true
    }

    /// Handles the result of a request: the job is finished, redirected, set aside or fetched again.
    fn handle(&mut self, result: RequestResult) {
        let host = result.host;
        let is_answered = result.is_answered;
        if is_answered {
            self.unresponsive.response_finished(host);
        }
        let job = self.note_answer(result);
        self.queue.release(host, Instant::now());
        if let Some(job) = job {
            self.decide(host, job);
        }
        self.due.push_back(host);
        if !is_answered && let Some(failure) = self.unresponsive_failure(host) {
            self.give_up_host(host, &failure);
        }
    }

    /// Notes the answer for the pace of the host. Returns the job, unless it is set aside or finished.
    fn note_answer(&mut self, result: RequestResult) -> Option<Box<PendingJob>> {
        let RequestResult {
            host,
            mut job,
            has_response,
            ..
        } = result;
        let now = Instant::now();
        let end = match job.refusal(self.rule.options) {
            Some(refusal) if has_response => PassEnd::Refused(refusal),
            None if has_response => PassEnd::Answered,
            _ => PassEnd::Neither,
        };
        if let Some(turn) = job.turn.take_if(|turn| turn.host == host) {
            let result = self.queue.pace(host).turn_ended(end, now, || job.control());
            return self.end_turn(turn, job, result);
        }
        if job.chain.is_none() {
            job = self.return_from_turn(job)?;
        }
        match end {
            PassEnd::Answered => self.queue.pace(host).answered(|| job.control()),
            PassEnd::Refused(refusal) => {
                let is_slower = self
                    .queue
                    .pace(host)
                    .refused(refusal, now, || job.control());
                if is_slower && job.job.request.is_safe() && self.ended.is_none() {
                    return self.set_aside(host, job);
                }
            }
            PassEnd::Neither => {}
        }
        Some(job)
    }

    /// Ends a request of a second pass. Returns the job, if it goes on like others.
    fn end_turn(
        &mut self,
        turn: HostTurn,
        job: Box<PendingJob>,
        result: PassResult,
    ) -> Option<Box<PendingJob>> {
        self.due.push_back(turn.host);
        match self.turns.end(turn, job, result)? {
            TurnedJob::Returned(job) => Some(job),
            TurnedJob::Refused(job) => {
                let job = job.end(&self.rule);
                self.finished.push_back(job);
                None
            }
        }
    }

    /// Ends the turn of a job without an answer of the host of the second pass. Returns the job, unless it is
    /// a control.
    fn return_from_turn(&mut self, mut job: Box<PendingJob>) -> Option<Box<PendingJob>> {
        let Some(turn) = job.turn.take() else {
            return Some(job);
        };
        let result =
            self.queue
                .pace(turn.host)
                .turn_ended(PassEnd::Neither, Instant::now(), || None);
        self.end_turn(turn, job, result)
    }

    /// Sets a job aside that the host has refused. Returns the job if the temporary file has no room: the
    /// refusal is then an attempt.
    fn set_aside(&mut self, host: HostId, mut job: Box<PendingJob>) -> Option<Box<PendingJob>> {
        let Some(url) = self.turns.set_aside(&mut job) else {
            return Some(job);
        };
        self.queue.pace(host).set_aside(url);
        None
    }

    /// Decides about a job after a request to `host`.
    fn decide(&mut self, host: HostId, mut job: Box<PendingJob>) {
        let finished = match (job.decision(&self.rule), &self.ended) {
            (None, None) => return self.queue_redirect(job),
            (None | Some(Decision::Retry { .. }), Some(failure)) => {
                let failure = failure.clone();
                return self.give_up(job, &failure);
            }
            (Some(Decision::Final(verdict)), _) => {
                self.unresponsive.job_finished(host);
                job.finish(verdict)
            }
            (Some(Decision::Retry { wait, fresh }), None) => {
                let Some(failure) = self.host_failure(host) else {
                    job.fresh = fresh;
                    job.drop_bodies();
                    return self.queue.push_delayed(host, deadline_in(wait), job);
                };
                job.give_up(failure, &self.rule)
            }
        };
        self.finished.push_back(finished);
    }

    /// Goes on with the second pass of a host, or gives the host up once its patience is over.
    fn go_on(&mut self, host: HostId) {
        let now = Instant::now();
        if self.ended.is_some() {
            return;
        }
        if self.queue.pace(host).is_over(now) {
            let is_new = !self.limited.contains_key(&host);
            let failure = self.limited_failure(host, now);
            if is_new {
                self.give_up_waiting(host, &failure);
            }
            if !self.queue.pace(host).is_down() {
                self.given_up.push_back((host, failure));
                return;
            }
        }
        let pace = self.queue.pace(host);
        if !pace.has_aside() {
            return;
        }
        let is_idle = self.queue.is_idle(host) && !self.sources.is_open_at(host);
        let Some(turn) = self.queue.pace(host).next_turn(now, is_idle) else {
            return;
        };
        let Some(job) = self.turns.begin(host, turn) else {
            self.queue
                .pace(host)
                .turn_ended(PassEnd::Neither, now, || None);
            return self.due.push_back(host);
        };
        let asked = job.job.url.host();
        let rate_limit = self.context.hosts.of(asked).rate_limit();
        let asked = self.queue.host_id(asked, rate_limit);
        self.queue.push_front(asked, job);
    }

    /// Hands out jobs that were set aside at hosts that are given up, as far as the caller takes them.
    fn give_up_set_aside(&mut self) {
        while self.finished.len() < MAX_FINISHED
            && let Some((host, failure)) = self.given_up.front().cloned()
        {
            let Some(place) = self.queue.pace(host).take_aside() else {
                self.given_up.pop_front();
                continue;
            };
            if let Some((job, refused)) = self.turns.take(place) {
                let job = job.give_up_refused(refused, failure, &self.rule);
                self.finished.push_back(job);
            }
        }
    }

    /// Gives up a job that has not started, or waits for a redirect or a retry.
    fn give_up(&mut self, job: Box<PendingJob>, failure: &Failure) {
        if let Some(job) = self.return_from_turn(job) {
            let job = job.give_up(failure.clone(), &self.rule);
            self.finished.push_back(job);
        }
    }

    /// Gives up all jobs of a host that have not started.
    fn give_up_waiting(&mut self, host: HostId, failure: &Failure) {
        for job in self.queue.drain_host(host) {
            self.give_up(job, failure);
        }
    }

    /// Gives up all jobs of a host.
    fn give_up_host(&mut self, host: HostId, failure: &Failure) {
        self.give_up_waiting(host, failure);
        if self.queue.pace(host).has_aside() {
            self.given_up.push_back((host, failure.clone()));
        }
    }

    /// The failure of all remaining jobs of a host that is asked no more.
    fn host_failure(&self, id: HostId) -> Option<Failure> {
        self.limited
            .get(&id)
            .cloned()
            .or_else(|| self.unresponsive_failure(id))
    }

    /// The failure of all jobs of a host whose `limit-patience` is over.
    fn limited_failure(&mut self, id: HostId, now: Instant) -> Failure {
        let Self {
            queue,
            limited: known,
            context,
            ..
        } = self;
        known
            .entry(id)
            .or_insert_with(|| {
                let interval = queue.pace(id).average_interval(now).unwrap_or_default();
                let host = queue.name_of(id);
                let patience = context.hosts.of(host).options.limit_patience;
                limited(host, interval, patience)
            })
            .clone()
    }

    /// The failure of all remaining jobs of a host that has been silent for its `host-patience`.
    fn unresponsive_failure(&self, id: HostId) -> Option<Failure> {
        let host = self.queue.name_of(id);
        let patience = self.context.hosts.of(host).options.host_patience;
        self.unresponsive
            .is_given_up(id, Instant::now(), patience)
            .then(|| silent(host, patience))
    }

    /// Queues a job at the host that a redirect leads to.
    fn queue_redirect(&mut self, job: Box<PendingJob>) {
        let Some(chain) = &job.chain else { return };
        let host = chain.next_host().to_owned();
        let rate_limit = self.context.hosts.of(&host).rate_limit();
        let id = self.queue.host_id(&host, rate_limit);
        let is_turn = job.turn.is_some_and(|turn| turn.host == id);
        match self.limited.get(&id).filter(|_| !is_turn).cloned() {
            Some(failure) => self.give_up(job, &failure),
            None => self.queue.push_front(id, job),
        }
    }

    /// Ends the run: no request starts any more.
    fn end(&mut self, failure: Failure) {
        for job in self.queue.drain() {
            self.give_up(job, &failure);
        }
        self.given_up.clear();
        for host in self.queue.hosts() {
            if self.queue.pace(host).has_aside() {
                self.given_up.push_back((host, failure.clone()));
            }
        }
        self.ended = Some(failure);
    }

    /// When a delayed request may start; `None` while too many finished jobs wait for the caller.
    fn next_start(&self) -> Option<Instant> {
        self.queue
            .next_start()
            .filter(|_| self.finished.len() < MAX_FINISHED)
    }

    fn is_finished(&self) -> bool {
        self.sources.is_exhausted()
            && self.queue.len() == 0
            && self.finished.is_empty()
            && self.turns.len() == 0
    }
}
