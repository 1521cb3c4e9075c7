//! One fetch: a request, the redirects after it, and the body at the end.

use std::future::Future;
use std::time::{Duration, Instant};

use hyper::ext::ReasonPhrase;
use jiff::Timestamp;
use reqwest::header::{self, HeaderValue};
use reqwest::tls::TlsInfo;
use reqwest::{Method, Response, Version};
use tokio::time::{timeout, timeout_at};

use super::body::{Intake, Start};
use super::client::{Clients, Outgoing};
use super::decode::Decoder;
use super::failure::classify;
use super::headers::Headers;
use super::pace::Pace;
use super::redirect::{Ask, Visited};
use super::{BodyEnd, Certificate, Failure, FailureKind, Hop, Observation, after};
use crate::config::Check;
use crate::plan::{BodyUse, Job};

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
    pub(super) check: Check,
    pub(super) clients: Clients,
    pub(super) headers: Headers,
    pub(super) pace: Pace,
}

/// Fetches a job once. `ended` resolves, with the reason, when the run is over.
pub(super) async fn observe(
    shared: &Shared,
    job: &Job,
    fresh: bool,
    ended: impl Future<Output = Failure>,
) -> Observation {
    let clock = Instant::now();
    let mut chain = Chain {
        shared,
        job,
        fresh,
        deadline: after(shared.check.timeout),
        hops: Vec::new(),
        intake: None,
        start: Start::default(),
    };
    let started = Timestamp::now();
    let result = tokio::select! {
        biased;
        result = chain.follow() => result,
        failure = ended => Err(failure),
    };
    let (end, failure) = match result {
        Ok(end) => (end, None),
        Err(failure) => (BodyEnd::Broken, Some(failure)),
    };
    Observation {
        started,
        elapsed: clock.elapsed(),
        body: chain.intake.map(|intake| intake.finish(end)),
        hops: chain.hops,
        start: chain.start.into_bytes(),
        failure,
    }
}

struct Chain<'a> {
    shared: &'a Shared,
    job: &'a Job,
    fresh: bool,
    deadline: Instant,
    hops: Vec<Hop>,
    intake: Option<Intake>,
    start: Start,
}

impl Chain<'_> {
    async fn follow(&mut self) -> Result<BodyEnd, Failure> {
        let mut ask = Ask::first(&self.job.request.method, &self.job.url)?;
        let mut visited = Visited::default();
        loop {
            visited.enter(&ask, self.shared.check.max_redirects)?;
            if !self.hops.is_empty() {
                self.take_turn(&ask).await;
            }
            let response = self.send(&ask).await?;
            let mut locations: Vec<&[u8]> = response
                .headers()
                .get_all(header::LOCATION)
                .iter()
                .map(HeaderValue::as_bytes)
                .collect();
            locations.dedup();
            match ask.next(response.status(), &locations)? {
                Some(next) => {
                    drain(response, &mut Start::default()).await;
                    ask = next;
                }
                None => return self.read(response).await,
            }
        }
    }

    /// Waits until the host may be asked again; that time is not the server's fault.
    async fn take_turn(&mut self, ask: &Ask) {
        let now = Instant::now();
        let turn = self
            .shared
            .pace
            .reserve(ask.url.host_str().unwrap_or_default(), now);
        self.deadline += turn - now;
        tokio::time::sleep_until(turn.into()).await;
    }

    async fn send(&mut self, ask: &Ask) -> Result<Response, Failure> {
        let headers = self.shared.headers.of(ask, &self.job.request, self.fresh)?;
        let request_headers = self.shared.headers.shown(&headers);
        let outgoing = Outgoing {
            method: ask.method.clone(),
            url: ask.url.clone(),
            headers,
            body: self.job.request.body.clone().filter(|_| ask.with_body),
        };
        let at = Timestamp::now();
        let mut result = self.exchange(&outgoing, self.fresh).await;
        if !self.fresh && is_safe(&ask.method) && is_lost(&result) {
            // Most likely the server closed a kept connection just as we used it.
            result = self.exchange(&outgoing, true).await;
        }
        let response = result?;
        self.hops.push(Hop {
            url: ask.url.to_string(),
            at,
            address: response.remote_addr(),
            certificate: certificate(&response),
            request_headers,
            version: version(&response),
            status: response.status().as_u16(),
            reason_phrase: reason_phrase(&response),
            headers: response
                .headers()
                .iter()
                .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_owned()))
                .collect(),
        });
        Ok(response)
    }

    async fn exchange(&self, outgoing: &Outgoing, fresh: bool) -> Result<Response, Failure> {
        let sending = self.shared.clients.send(outgoing, fresh);
        match timeout_at(self.deadline.into(), sending).await {
            Ok(Ok(result)) => result.map_err(classify),
            Ok(Err(refused)) => Err(Failure {
                kind: FailureKind::Refused,
                detail: refused.to_string(),
            }),
            Err(_) => Err(self.timed_out("no response")),
        }
    }

    async fn read(&mut self, mut response: Response) -> Result<BodyEnd, Failure> {
        let content_type = response.headers().get(header::CONTENT_TYPE);
        self.start = Start::of(content_type.map(HeaderValue::as_bytes));
        let BodyUse::Hash { at_most, keep } = self.job.body else {
            drain(response, &mut self.start).await;
            return Ok(BodyEnd::Complete);
        };
        let decoder = self.decoder(&response);
        let at_most = match decoder {
            // What hardly can be compressed is longer in a coding than without.
            Some(_) => at_most.saturating_add(at_most / 8 + CODING_OVERHEAD),
            None => at_most,
        };
        let at_most = at_most.min(self.shared.check.max_body);
        // What a second look finds may be news, and news is archived.
        let mut intake = Intake::new(at_most, keep || self.fresh, decoder);
        let result = self.take_in(&mut response, &mut intake).await;
        self.intake = Some(intake);
        result
    }

    async fn take_in(
        &mut self,
        response: &mut Response,
        intake: &mut Intake,
    ) -> Result<BodyEnd, Failure> {
        while !intake.is_full() {
            let Ok(chunk) = timeout_at(self.deadline.into(), response.chunk()).await else {
                return Err(
                    self.timed_out(&format!("the body stopped after {} bytes", intake.length()))
                );
            };
            let Some(chunk) = chunk.map_err(classify)? else {
                return Ok(BodyEnd::Complete);
            };
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
        let encoding = response
            .headers()
            .get(header::CONTENT_ENCODING)?
            .to_str()
            .ok()?;
        Decoder::new(encoding, self.job.promise.length)
    }

    fn timed_out(&self, how: &str) -> Failure {
        Failure {
            kind: FailureKind::Timeout,
            detail: format!("{how}: not done within {:?}", self.shared.check.timeout),
        }
    }
}

/// Reads what nobody wants but for its `start`, if it is little and comes at once.
async fn drain(mut response: Response, start: &mut Start) {
    let is_large = response
        .content_length()
        .is_some_and(|length| length > DRAIN);
    let mut left = DRAIN;
    let reading = async {
        while start.wants_more() || !is_large {
            let Ok(Some(chunk)) = response.chunk().await else {
                return;
            };
            start.push(&chunk);
            let Some(rest) = left.checked_sub(chunk.len() as u64) else {
                return;
            };
            left = rest;
        }
    };
    // What is lost by giving up is the connection, nothing else.
    let _ = timeout(DRAIN_TIME, reading).await;
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn is_lost(result: &Result<Response, Failure>) -> bool {
    matches!(result, Err(failure) if failure.kind == FailureKind::Disconnected)
}

fn certificate(response: &Response) -> Option<Certificate> {
    let info = response.extensions().get::<TlsInfo>()?;
    Certificate::read(info.peer_certificate()?)
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
