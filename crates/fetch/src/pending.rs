//! A job that is not finished, and the rule that decides about it.

use std::sync::Arc;

use jiff::Timestamp;
use urldb_canon::RequestUrl;
use urldb_verdict::{
    BodyUse, Decision, Failure, FailureKind, Job, JobKey, JudgedJob, Observation, Promise, Refusal,
    Request, Verdict, VerdictOptions, judge, refusal, undecided,
};

use crate::aside::Place;
use crate::chain::Chain;
use crate::queue::HostId;

/// Longest URL of a control, in bytes: memory holds one of each host.
const LONGEST_CONTROL: usize = 2 << 10;

/// A job that is not finished, and its observations so far.
#[derive(Debug)]
pub(crate) struct PendingJob {
    pub(crate) job: Job,
    pub(crate) observations: Vec<Observation>,
    /// Whether the next fetch uses new connections and no caches.
    pub(crate) fresh: bool,
    /// A fetch that waits for its next request, after a redirect.
    pub(crate) chain: Option<Box<Chain>>,
    /// The host in whose second pass the next answer counts.
    pub(crate) turn: Option<HostTurn>,
}

/// A request of the second pass of a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostTurn {
    pub(crate) host: HostId,
    /// The place of the job that was set aside; none for a control, which has no result.
    pub(crate) place: Option<Place>,
}

/// The job of a control: a plain GET whose body is not read.
pub(crate) fn control_job(url: &str) -> Option<Job> {
    let url = RequestUrl::from_text(url)?;
    Some(Job {
        key: JobKey {
            domain: url.host().to_owned(),
            path: String::new(),
            request: None,
            variant: None,
            alias: None,
            scheme: urldb_canon::Scheme::Http,
        },
        url,
        file: "".into(),
        line: 0,
        uses: None,
        categories: [].into(),
        promise: Promise::default(),
        request: Arc::new(Request {
            method: "GET".to_owned(),
            headers: vec![],
            body: None,
            within: None,
        }),
        body: BodyUse::Skip,
        muted: false,
        validators: None,
    })
}

impl PendingJob {
    /// A job without observations. The box keeps moves and long queues cheap.
    pub(crate) fn new(job: Job) -> Box<Self> {
        Box::new(Self {
            job,
            observations: Vec::new(),
            fresh: false,
            chain: None,
            turn: None,
        })
    }

    /// A request of a second pass, past caches, for a job that was set aside after these refusals, or for a
    /// control.
    pub(crate) fn of_turn(job: Job, turn: HostTurn, refusals: Vec<Observation>) -> Box<Self> {
        Box::new(Self {
            fresh: true,
            turn: Some(turn),
            observations: refusals,
            ..*Self::new(job)
        })
    }

    /// Drops the refusals before an answer: they are no attempts.
    pub(crate) fn forget_refusals(&mut self) {
        let answers = usize::from(self.chain.is_none());
        let refusals = self.observations.len().saturating_sub(answers);
        self.observations.drain(..refusals);
    }

    /// The refusal that the last fetch ended with.
    pub(crate) fn refusal(&self, options: &VerdictOptions) -> Option<Refusal> {
        let last = self.observations.last().filter(|_| self.chain.is_none())?;
        refusal(&self.job, last, options)
    }

    /// The URL of the last response, if it can be the control of its host.
    pub(crate) fn control(&self) -> Option<Box<str>> {
        let url = match &self.chain {
            Some(chain) => chain.last_url()?,
            None => &self.observations.last()?.last()?.url,
        };
        let is_usable = self.job.request.is_safe()
            && url.len() <= LONGEST_CONTROL
            && RequestUrl::from_text(url).is_some();
        is_usable.then(|| url.into())
    }

    /// Adds an observation, and drops the bytes of the bodies before: a verdict rests on the last
    /// observation, and compares bodies by their digests.
    pub(crate) fn add(&mut self, observation: Observation) {
        self.drop_bodies();
        // Almost every job has one.
        self.observations.reserve_exact(1);
        self.observations.push(observation);
    }

    /// Drops the bytes of all bodies so far. They may fill the folder of temporary files.
    pub(crate) fn drop_bodies(&mut self) {
        for observation in &mut self.observations {
            if let Some(body) = &mut observation.body {
                body.bytes = None;
            }
        }
    }

    fn last_failure(&self) -> Option<FailureKind> {
        Some(self.observations.last()?.failure.as_ref()?.kind)
    }

    /// The decision about the job, which is final once the run has ended; `None` while a fetch waits for its
    /// next request.
    pub(crate) fn decision<N: DecideFn>(&self, rule: &Rule<'_, N>) -> Option<Decision> {
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
    pub(crate) fn was_forbidden(&self) -> bool {
        matches!(
            self.last_failure(),
            Some(FailureKind::Refused | FailureKind::UnsafeMethod)
        )
    }

    /// Whether the server said that it does not speak HTTP/1.1, or TLS as urldb does.
    pub(crate) fn was_declined(&self) -> bool {
        self.last_failure().is_some_and(FailureKind::is_unsupported)
    }

    pub(crate) fn give_up<N: DecideFn>(
        mut self,
        failure: Failure,
        rule: &Rule<'_, N>,
    ) -> JudgedJob {
        let observation = match self.chain.take() {
            Some(chain) => chain.abandon(failure),
            None => Observation::of_nothing(failure, Timestamp::now()),
        };
        self.add(observation);
        judge(self.job, self.observations, &rule.decide, rule.options)
    }

    /// Gives up a job that was set aside after the observation `refused`.
    pub(crate) fn give_up_refused<N: DecideFn>(
        mut self,
        refused: Observation,
        failure: Failure,
        rule: &Rule<'_, N>,
    ) -> JudgedJob {
        if failure.kind != FailureKind::RateLimited {
            self.observations.push(refused);
            return self.give_up(failure, rule);
        }
        self.observations.push(Observation {
            failure: Some(failure),
            ..refused
        });
        self.end(rule)
    }

    /// Ends a job whose last refusal is its own.
    pub(crate) fn end<N: DecideFn>(self, rule: &Rule<'_, N>) -> JudgedJob {
        judge(self.job, self.observations, &rule.decide, rule.options)
    }

    pub(crate) fn finish(self, verdict: Verdict) -> JudgedJob {
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
