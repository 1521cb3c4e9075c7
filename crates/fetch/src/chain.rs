//! One fetch: a request, its redirects, and the body of the last response.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use urldb_verdict::{Body, BodyEnd, Failure, Hop, Job, Observation};

use crate::body::{BodyReader, PagePrefix};
use crate::exchange::{Exchange, Permit};
use crate::hosts::Hosts;
use crate::limits::Limits;
use crate::options::{FetchOptions, PromisedTargets};
use crate::redirect::{NextRequest, Visited, locations};
use crate::slots::Slots;
use crate::stop::deadline_in;

/// State that all fetches of a run share.
#[derive(Debug)]
pub(crate) struct FetchContext {
    pub(crate) options: FetchOptions,
    pub(crate) hosts: Hosts,
    pub(crate) slots: Slots,
}

/// A fetch under way: its responses so far, and its next request.
#[derive(Debug)]
pub(crate) struct Chain {
    started: Timestamp,
    /// The time limit of the whole fetch.
    timeout: Duration,
    /// The time that requests have taken; waiting for a slot does not count.
    elapsed: Duration,
    fresh: bool,
    next: NextRequest,
    visited: Visited,
    hops: Vec<Hop>,
}

/// The result of one request of a fetch.
#[derive(Debug)]
pub(crate) enum Step {
    /// The fetch is finished.
    Done(Box<Observation>),
    /// The response is a redirect; the next request waits for a slot at its host.
    Redirect(Box<Chain>),
}

enum Response {
    Redirect(NextRequest),
    /// A redirect whose target is not asked.
    Promised,
    Last(BodyEnd),
}

impl Chain {
    /// A fetch that starts now; `fresh` means new connections and no caches.
    pub(crate) fn new(context: &FetchContext, job: &Job, fresh: bool) -> Result<Self, Failure> {
        let next = NextRequest::first(&job.request, job.url.as_str())?;
        let host = next.url.host_str().unwrap_or_default();
        Ok(Self {
            started: Timestamp::now(),
            timeout: context.hosts.of(host).options.timeout,
            elapsed: Duration::ZERO,
            fresh,
            next,
            visited: Visited::default(),
            hops: Vec::new(),
        })
    }

    /// The number of responses so far.
    pub(crate) fn response_count(&self) -> usize {
        self.hops.len()
    }

    /// The URL of the last response.
    pub(crate) fn last_url(&self) -> Option<&str> {
        self.hops.last().map(|hop| hop.url.as_str())
    }

    pub(crate) fn next_host(&self) -> &str {
        self.next.url.host_str().unwrap_or_default()
    }

    /// Sends the next request and reads its response.
    pub(crate) async fn step(
        mut self,
        context: &FetchContext,
        job: &Job,
        limits: &Limits,
        permit: Permit,
    ) -> Step {
        let clock = Instant::now();
        let settings = context.hosts.of(self.next_host());
        let remaining = self.timeout.saturating_sub(self.elapsed);
        let mut exchange = Exchange {
            job,
            limits,
            slots: &context.slots,
            permit,
            settings,
            timeout: self.timeout,
            deadline: deadline_in(remaining),
            body: None,
            prefix: PagePrefix::default(),
        };
        let result = tokio::select! {
            biased;
            result = self.run(&mut exchange, &context.options) => result,
            failure = limits.run_end() => Err(failure),
        };
        self.elapsed += clock.elapsed();
        let is_too_long = exchange.body.as_ref().is_some_and(BodyReader::is_too_long);
        let mut cut = None;
        let (end, failure) = match result {
            Ok(Response::Redirect(next)) => {
                self.next = next;
                return Step::Redirect(Box::new(self));
            }
            Ok(Response::Promised) => (BodyEnd::Complete, None),
            Ok(Response::Last(end)) => (end, None),
            // Only the archive wanted more of this body.
            Err(failure) if is_too_long => {
                cut = Some(failure);
                (BodyEnd::Cut, None)
            }
            Err(failure) => (BodyEnd::Broken, Some(failure)),
        };
        let (start, page) = exchange.prefix.finish(end);
        Step::Done(Box::new(Observation {
            body: exchange.body.map(|body| Body {
                cut,
                ..body.finish(end)
            }),
            start,
            page,
            failure,
            ..self.into_observation()
        }))
    }

    /// The failure of a chain of redirects, which names the likely cause if a response sets a cookie.
    fn name_cookies(&self, failure: Failure) -> Failure {
        let setter = self
            .hops
            .iter()
            .find(|hop| hop.header("set-cookie").is_some());
        let Some(hop) = setter else {
            return failure;
        };
        let (detail, url) = (&failure.detail, &hop.url);
        Failure {
            detail: format!(
                "{detail}; {url} sets a cookie, which urldb does not send back: the redirect may need it"
            ),
            ..failure
        }
    }

    /// Ends the fetch with this failure; the observation keeps the responses so far.
    pub(crate) fn abandon(self, failure: Failure) -> Observation {
        Observation {
            failure: Some(failure),
            ..self.into_observation()
        }
    }

    fn into_observation(self) -> Observation {
        Observation {
            started: self.started,
            elapsed: self.elapsed,
            hops: self.hops,
            body: None,
            start: Vec::new(),
            page: None,
            failure: None,
        }
    }

    async fn run(
        &mut self,
        exchange: &mut Exchange<'_>,
        options: &FetchOptions,
    ) -> Result<Response, Failure> {
        self.visited
            .visit(&self.next, options.max_redirects)
            .map_err(|failure| self.name_cookies(failure))?;
        let (response, hop) = exchange.send(&self.next, self.fresh).await?;
        exchange.permit.has_response.store(true, Ordering::Relaxed);
        let next = self
            .next
            .after(response.status(), &locations(response.headers()));
        self.hops.reserve_exact(1);
        self.hops.push(hop);
        if let Some(next) = next? {
            let beginning = exchange.read_redirect_body(response).await;
            if let Some(hop) = self.hops.last_mut() {
                hop.beginning = beginning;
            }
            let is_enough = |first| exchange.job.promise.is_kept_by_redirect(first);
            if options.promised_targets == PromisedTargets::Skip
                && let [first] = &*self.hops
                && is_enough(first)
            {
                return Ok(Response::Promised);
            }
            return Ok(Response::Redirect(next));
        }
        exchange
            .read(response, self.fresh)
            .await
            .map(Response::Last)
    }
}
