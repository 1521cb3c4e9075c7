//! One fetch: a request, the redirects after it, and the body at the end.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::ext::ReasonPhrase;
use jiff::Timestamp;
use reqwest::header::{self, HeaderValue};
use reqwest::tls::TlsInfo;
use reqwest::{Response, StatusCode, Version};
use tokio::time::{timeout, timeout_at};

use super::after;
use super::body::{BodyReader, Start};
use super::certificate::read_certificate;
use super::client::Outgoing;
use super::decode::Decoder;
use super::failure::classify;
use super::headers::add_validators;
use super::hosts::{HostSettings, Hosts};
use super::limits::Limits;
use super::redirect::{NextRequest, Visited};
use super::slots::Slots;
use super::unresponsive::Heard;
use crate::{FetchOptions, HostOptions};
use urldb_verdict::PAGE;
use urldb_verdict::{
    Beginning, BodyEnd, Certificate, Failure, FailureKind, Hop, Observation, Sent,
};
use urldb_verdict::{BodyUse, Job, is_safe_method};

/// A body that nobody wants is read up to here, so that its connection can be used again.
const DRAIN: u64 = 16 << 10;

/// How long reading it may take.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// What a content coding adds to a body at most, besides an eighth of its length.
const CODING_OVERHEAD: u64 = 4 << 10;

/// A decoder is fed no more than this between two chances for others to proceed.
const SLICE: usize = 16 << 10;

/// What every fetch of a run shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) check: FetchOptions,
    pub(super) hosts: Hosts,
    pub(super) slots: Slots,
}

/// A fetch, as far as it has come.
#[derive(Debug)]
pub(super) struct Chain {
    started: Timestamp,
    /// The total time that is allowed, and what it has taken so far.
    timeout: Duration,
    elapsed: Duration,
    fresh: bool,
    ask: NextRequest,
    visited: Visited,
    hops: Vec<Hop>,
}

/// The terms of one request.
#[derive(Debug)]
pub(super) struct Permit {
    /// How long it has a place among those under way at most before the answer comes.
    pub(super) soon: Duration,
    /// Set once the head of the answer has come.
    pub(super) heard: Heard,
}

/// What came of a request.
#[derive(Debug)]
pub(super) enum Step {
    /// The fetch is over.
    Done(Observation),
    /// A redirect leads on; its host must be free to be asked.
    Further(Chain),
}

impl Chain {
    /// A fetch of a job that starts now; `fresh` over new connections and past caches.
    pub(super) fn begin(shared: &Shared, job: &Job, fresh: bool) -> Result<Self, Failure> {
        let ask = NextRequest::first(&job.request.method, &job.url)?;
        let host = ask.url.host_str().unwrap_or_default();
        Ok(Self {
            started: Timestamp::now(),
            timeout: shared.hosts.of(host).options.timeout,
            elapsed: Duration::ZERO,
            fresh,
            ask,
            visited: Visited::default(),
            hops: Vec::new(),
        })
    }

    /// How many answers have come so far.
    pub(super) fn answers(&self) -> usize {
        self.hops.len()
    }

    /// The host that is asked next.
    pub(super) fn host(&self) -> &str {
        self.ask.url.host_str().unwrap_or_default()
    }

    /// Sends one request, and takes in what comes.
    ///
    /// `turn` says on what terms.
    pub(super) async fn step(
        mut self,
        shared: &Shared,
        job: &Job,
        limits: &Limits,
        turn: Permit,
    ) -> Step {
        let clock = Instant::now();
        let mut leg = Exchange {
            job,
            limits,
            slots: &shared.slots,
            turn,
            settings: shared.hosts.of(self.host()),
            timeout: self.timeout,
            deadline: after(self.timeout.saturating_sub(self.elapsed)),
            intake: None,
            start: Start::default(),
        };
        let max_redirects = shared.check.max_redirects;
        let result = tokio::select! {
            biased;
            result = self.ask(&mut leg, max_redirects) => result,
            failure = limits.reached() => Err(failure),
        };
        self.elapsed += clock.elapsed();
        let (end, failure) = match result {
            Ok(Answer::Redirect(next)) => {
                self.ask = next;
                return Step::Further(self);
            }
            Ok(Answer::Last(end)) => (end, None),
            Err(failure) => (BodyEnd::Broken, Some(failure)),
        };
        let (start, page) = leg.start.finish(end);
        Step::Done(Observation {
            body: leg.intake.map(|intake| intake.finish(end)),
            start,
            page,
            failure,
            ..self.into_observation()
        })
    }

    /// What is observed when the fetch goes no further.
    pub(super) fn given_up(self, failure: Failure) -> Observation {
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

    async fn ask(
        &mut self,
        leg: &mut Exchange<'_>,
        max_redirects: usize,
    ) -> Result<Answer, Failure> {
        self.visited.enter(&self.ask, max_redirects)?;
        let (response, hop) = leg.send(&self.ask, self.fresh).await?;
        leg.turn.heard.store(true, Ordering::Relaxed);
        self.hops.push(hop);
        let mut locations: Vec<&[u8]> = response
            .headers()
            .get_all(header::LOCATION)
            .iter()
            .map(HeaderValue::as_bytes)
            .collect();
        locations.dedup();
        if let Some(next) = self.ask.next(response.status(), &locations)? {
            let beginning = drain(response, &mut Start::default()).await;
            if let Some(hop) = self.hops.last_mut() {
                hop.beginning = beginning;
            }
            return Ok(Answer::Redirect(next));
        }
        leg.read(response, self.fresh).await.map(Answer::Last)
    }
}

enum Answer {
    Redirect(NextRequest),
    Last(BodyEnd),
}

/// One request of a fetch and its response.
struct Exchange<'a> {
    job: &'a Job,
    limits: &'a Limits,
    slots: &'a Slots,
    turn: Permit,
    settings: &'a HostSettings,
    /// The total time of the whole fetch, and when it is over.
    timeout: Duration,
    deadline: Instant,
    intake: Option<BodyReader>,
    start: Start,
}

impl Exchange<'_> {
    /// Whether this may be asked at all. What may change something is asked only where that is
    /// permitted; and neither that nor a request body ever leaves the origin of the record's URL.
    fn permit(&self, ask: &NextRequest) -> Result<(), Failure> {
        let NextRequest { method, url, .. } = ask;
        let is_safe = is_safe_method(method.as_str());
        let has_body = ask.with_body && self.job.request.body.is_some();
        let refuse = |kind, detail| Err(Failure { kind, detail });
        if !ask.at_home && (has_body || !is_safe) {
            let what = if has_body { "and its body " } else { "" };
            return refuse(
                FailureKind::Refused,
                format!("the redirect would take the {method} {what}to another origin, {url}"),
            );
        }
        if !is_safe && !self.settings.options.unsafe_methods {
            return refuse(
                FailureKind::UnsafeMethod,
                format!(
                    "{method} may change something on the server: set `unsafe-methods = true` \
                     under [check] or [check.host.\"{}\"] to send it",
                    url.host_str().unwrap_or_default()
                ),
            );
        }
        Ok(())
    }

    async fn send(&self, ask: &NextRequest, fresh: bool) -> Result<(Response, Hop), Failure> {
        self.permit(ask)?;
        let HostSettings { headers, .. } = self.settings;
        let mut all = headers.of(ask, &self.job.request, fresh)?;
        let known = self.job.known.as_ref().filter(|known| {
            !fresh && ask.method == reqwest::Method::GET && known.url == ask.url.as_str()
        });
        let is_conditional = known.is_some_and(|known| add_validators(&mut all, known));
        let sent = Sent {
            method: ask.method.to_string(),
            headers: headers.shown(&all),
            with_body: ask.with_body,
            is_conditional,
        };
        let outgoing = Outgoing {
            method: ask.method.clone(),
            url: ask.url.clone(),
            headers: all,
            body: self.job.request.body.clone().filter(|_| ask.with_body),
        };
        let at = Timestamp::now();
        let patience = self.patience(self.settings.options.head_timeout);
        // What may change something is sent once, so no kept connection may fail under it.
        let alone = fresh || !is_safe_method(ask.method.as_str());
        let again = (!alone).then(|| outgoing.clone());
        let mut result = self.exchange(outgoing, alone, patience).await;
        if let (true, Some(again)) = (is_lost(&result), again) {
            // Most likely the server closed a kept connection just as we used it.
            result = self.exchange(again, true, patience).await;
        }
        let response = result?;
        let is_proxied = self.settings.clients.is_proxied(&ask.url);
        if is_proxied && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            // As it is where a tunnel is asked for.
            return Err(Failure {
                kind: FailureKind::Connect,
                detail: "the proxy wants another user and password (407)".to_owned(),
            });
        }
        let hop = Hop {
            url: ask.url.to_string(),
            at,
            // Who answers a proxy, it does not tell.
            address: response.remote_addr().filter(|_| !is_proxied),
            certificate: certificate(&response),
            sent,
            version: version(&response),
            status: response.status().as_u16(),
            reason_phrase: reason_phrase(&response),
            headers: response
                .headers()
                .iter()
                .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_owned()))
                .collect(),
            beginning: Beginning::default(),
        };
        Ok((response, hop))
    }

    async fn exchange(
        &self,
        outgoing: Outgoing,
        fresh: bool,
        patience: Instant,
    ) -> Result<Response, Failure> {
        let HostSettings {
            options, clients, ..
        } = self.settings;
        let sent = self
            .slots
            .wait(self.turn.soon, clients.send(outgoing, fresh));
        match timeout_at(patience.into(), sent).await {
            Ok(Ok(result)) => result.map_err(|error| classify(error, options)),
            Ok(Err(refused)) => Err(Failure {
                kind: FailureKind::Refused,
                detail: refused.to_string(),
            }),
            Err(_) if self.is_over() => {
                Err(self.timed_out("before the head of the response was complete"))
            }
            Err(_) => Err(timed_out(format!(
                "the head of the response was not complete within {:?} (head-timeout)",
                options.head_timeout
            ))),
        }
    }

    async fn read(&mut self, mut response: Response, fresh: bool) -> Result<BodyEnd, Failure> {
        let content_type = response.headers().get(header::CONTENT_TYPE);
        let is_page_wanted = self.job.promise.canonical.is_some();
        self.start = Start::of(content_type.map(HeaderValue::as_bytes), is_page_wanted);
        let BodyUse::Hash { at_most, keep } = self.job.body else {
            return Ok(self.skim(response).await);
        };
        let decoder = self.decoder(&response);
        let at_most = match decoder {
            // What hardly can be compressed is longer in a coding than without.
            Some(_) => at_most.saturating_add(at_most / 8 + CODING_OVERHEAD),
            None => at_most,
        };
        let at_most = at_most.min(self.settings.options.max_body);
        // What a second look finds may be news, and news is archived.
        let mut intake = BodyReader::new(at_most, keep || fresh, decoder);
        let result = self.take_in(&mut response, &mut intake).await;
        self.intake = Some(intake);
        result
    }

    /// Reads no more of a body than its `start` wants. That this fails is no news.
    async fn skim(&mut self, mut response: Response) -> BodyEnd {
        if self.start.is_page() {
            let at_most = self.settings.options.max_body.min(PAGE as u64);
            let mut page = BodyReader::new(at_most, false, None);
            let end = self.take_in(&mut response, &mut page).await;
            return end.unwrap_or(BodyEnd::Broken);
        }
        drain(response, &mut self.start).await;
        BodyEnd::Complete
    }

    async fn take_in(
        &mut self,
        response: &mut Response,
        intake: &mut BodyReader,
    ) -> Result<BodyEnd, Failure> {
        let HostOptions { idle_timeout, .. } = self.settings.options;
        while !intake.is_full() {
            let patience = self.patience(idle_timeout);
            let chunk = timeout_at(patience.into(), response.chunk()).await;
            let so_far = || format!("after {} bytes of the body", intake.length());
            if self.is_over() {
                // Even where there always is another chunk.
                return Err(self.timed_out(&so_far()));
            }
            let Ok(chunk) = chunk else {
                return Err(timed_out(format!(
                    "nothing more came within {idle_timeout:?} (idle-timeout) {}",
                    so_far()
                )));
            };
            let chunk = chunk.map_err(|error| classify(error, &self.settings.options))?;
            let Some(chunk) = chunk else {
                return Ok(BodyEnd::Complete);
            };
            self.limits.count(chunk.len());
            self.start.push(&chunk);
            if intake.decodes() {
                for slice in chunk.chunks(SLICE) {
                    intake.push(slice);
                    tokio::task::yield_now().await;
                }
            } else {
                intake.push(&chunk);
            }
        }
        Ok(BodyEnd::Cut)
    }

    fn decoder(&self, response: &Response) -> Option<Decoder> {
        let encodings = response.headers().get_all(header::CONTENT_ENCODING).iter();
        let encodings: Result<Vec<_>, _> = encodings.map(HeaderValue::to_str).collect();
        let max_body = self.settings.options.max_body;
        Decoder::new(
            &encodings.ok()?.join(","),
            self.job.promise.length,
            max_body,
        )
    }

    /// When to wait no longer for something that may take so long.
    fn patience(&self, at_most: Duration) -> Instant {
        self.deadline.min(after(at_most))
    }

    /// Whether the total time is over.
    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn timed_out(&self, how_far: &str) -> Failure {
        timed_out(format!("{:?} were over (timeout) {how_far}", self.timeout))
    }
}

fn timed_out(detail: String) -> Failure {
    Failure {
        kind: FailureKind::Timeout,
        detail,
    }
}

/// Reads what nobody wants but for its beginning, if it is little and comes at once.
async fn drain(mut response: Response, start: &mut Start) -> Beginning {
    let mut beginning = Beginning::default();
    let is_large = response
        .content_length()
        .is_some_and(|length| length > DRAIN);
    let mut left = DRAIN;
    let reading = async {
        while start.wants_more() || !is_large {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                end => {
                    beginning.is_whole = end.is_ok();
                    return;
                }
            };
            start.push(&chunk);
            beginning.bytes.extend_from_slice(&chunk);
            let Some(rest) = left.checked_sub(chunk.len() as u64) else {
                return;
            };
            left = rest;
        }
    };
    // What is lost by giving up is the connection, and the rest of what nobody wants.
    let _ = timeout(DRAIN_TIME, reading).await;
    beginning
}

fn is_lost(result: &Result<Response, Failure>) -> bool {
    matches!(result, Err(failure) if failure.kind == FailureKind::Disconnected)
}

fn certificate(response: &Response) -> Option<Certificate> {
    let info = response.extensions().get::<TlsInfo>()?;
    read_certificate(info.peer_certificate()?)
}

fn version(response: &Response) -> &'static str {
    match response.version() {
        Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    }
}

/// What the server wrote; the library keeps it only where it is not the usual one.
fn reason_phrase(response: &Response) -> String {
    let written = response.extensions().get::<ReasonPhrase>();
    let usual = || {
        response
            .status()
            .canonical_reason()
            .unwrap_or_default()
            .to_owned()
    };
    written.map_or_else(usual, |phrase| {
        String::from_utf8_lossy(phrase.as_bytes()).into_owned()
    })
}
