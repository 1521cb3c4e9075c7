//! One request of a fetch and its response.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::{self, HeaderValue};
use hyper::{Method, StatusCode, Version};
use jiff::Timestamp;
use rustls::ProtocolVersion;
use tokio::time::{timeout, timeout_at};
use urldb_verdict::{
    Beginning, BodyEnd, BodyUse, Failure, FailureKind, Hop, Job, Keep, PAGE, Sent, is_safe_method,
};

use crate::body::{BodyLimits, BodyReader, PagePrefix};
use crate::client::{ConnectionPool, OutgoingRequest};
use crate::conversion::Conversions;
use crate::decode::Decoder;
use crate::failure::failure_of;
use crate::hasher::BodyHasher;
use crate::headers::add_validators;
use crate::hosts::HostSettings;
use crate::limits::Limits;
use crate::proxy_error;
use crate::redirect::NextRequest;
use crate::response::Response;
use crate::slots::Slots;
use crate::stop::deadline_in;
use crate::unresponsive::ResponseFlag;

/// Bytes of an unwanted body that are read, so that its connection can be reused.
const DRAIN_LIMIT: u64 = 16 << 10;

/// Longest time for reading an unwanted body.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Bytes given to a decoder before other tasks may run.
const DECODE_SLICE: usize = 16 << 10;

/// The permission to send one request.
#[derive(Debug)]
pub(crate) struct Permit {
    /// The time that the request keeps its slot while no response comes.
    pub(crate) slot_wait: Duration,
    /// Set once the head of the response has come.
    pub(crate) has_response: ResponseFlag,
    pub(crate) pool: Arc<ConnectionPool>,
}

/// One request of a fetch and its response.
pub(crate) struct Exchange<'a> {
    pub(crate) job: &'a Job,
    pub(crate) limits: &'a Limits,
    pub(crate) slots: &'a Slots,
    pub(crate) permit: Permit,
    pub(crate) settings: &'a HostSettings,
    /// The time limit of the whole fetch.
    pub(crate) timeout: Duration,
    /// When that time limit ends.
    pub(crate) deadline: Instant,
    /// The body of the last response, if the job wants a body.
    pub(crate) body: Option<BodyReader>,
    /// The first bytes of the last response, if the response is HTML.
    pub(crate) prefix: PagePrefix,
}

impl Exchange<'_> {
    /// Sends a request; returns the response once its head has come.
    pub(crate) async fn send(
        &self,
        next: &NextRequest,
        fresh: bool,
    ) -> Result<(Response, Hop), Failure> {
        self.check_method(next)?;
        let (request, sent) = self.request(next, fresh)?;
        let sent_at = Timestamp::now();
        let response = self.send_with_retry(request, next, fresh).await?;
        let is_proxied = self.settings.clients.is_proxied(&next.url);
        if is_proxied && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            // A tunnel reports a 407 as a failed connection too.
            return Err(Failure {
                kind: FailureKind::Connect,
                detail: "the proxy rejected the user name or the password (407)".to_owned(),
                certificate: None,
            });
        }
        // Through a tunnel, the answers are those of the server.
        if is_proxied
            && next.url.scheme() == "http"
            && let Some(failure) = proxy_error::reported(response.status(), response.headers())
        {
            return Err(failure);
        }
        let connection = response.connection();
        let hop = Hop {
            url: next.url.to_string(),
            at: sent_at,
            address: connection.address,
            certificate: connection.certificate.clone(),
            authority: connection.authority.clone(),
            origin: connection.origin.clone(),
            sent,
            version: version(&response).into(),
            protocols: protocols(&response),
            status: response.status().as_u16(),
            reason_phrase: response.reason_phrase(),
            headers: response
                .headers()
                .iter()
                .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_owned()))
                .collect(),
            beginning: Beginning::default(),
        };
        Ok((response, hop))
    }

    /// Reads the body of the last response, as far as the job wants the body.
    pub(crate) async fn read(
        &mut self,
        mut response: Response,
        fresh: bool,
    ) -> Result<BodyEnd, Failure> {
        let content_type = response
            .headers()
            .get(header::CONTENT_TYPE)
            .map(HeaderValue::as_bytes);
        let is_page_wanted = self.job.promise.canonical.is_some();
        self.prefix = PagePrefix::new(content_type, is_page_wanted);
        let BodyUse::Hash {
            at_most,
            keep,
            beyond,
        } = self.job.body
        else {
            return Ok(self.read_prefix(response).await);
        };
        let max_body = self.settings.options.max_body;
        // A fresh fetch may confirm a change, and a changed body is archived.
        let is_changed = fresh || !response.status().is_success();
        let limits = BodyLimits::new(at_most, max_body, beyond, keep, is_changed);
        let hasher = BodyHasher::of(&self.job.promise);
        let conversions = (fresh && response.status().is_success())
            .then(|| Conversions::of(&self.job.promise))
            .flatten();
        let mut body =
            BodyReader::new(limits, hasher, self.decoder(&response)).with_conversions(conversions);
        let result = self.read_into(&mut response, &mut body).await;
        self.body = Some(body);
        result
    }

    /// Reads a short body of a redirect, so that its connection can be reused.
    pub(crate) async fn read_redirect_body(&self, response: Response) -> Beginning {
        drain(response, &mut PagePrefix::default()).await
    }

    /// Checks that the request may be sent: an unsafe method needs permission, and neither an unsafe
    /// method nor a request body ever leaves the origin of the record's URL.
    fn check_method(&self, next: &NextRequest) -> Result<(), Failure> {
        let NextRequest { method, url, .. } = next;
        let is_safe = is_safe_method(method.as_str());
        let has_body = next.with_body && self.job.request.body.is_some();
        let refuse = |kind, detail| {
            Err(Failure {
                kind,
                detail,
                certificate: None,
            })
        };
        if !next.is_same_origin && (has_body || !is_safe) {
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

    /// The request as the client sends it, and as the observation reports it.
    fn request(&self, next: &NextRequest, fresh: bool) -> Result<(OutgoingRequest, Sent), Failure> {
        let request_headers = &self.settings.headers;
        let mut headers = request_headers.of(next, &self.job.request, fresh)?;
        let known =
            self.job.validators.as_ref().filter(|known| {
                !fresh && next.method == Method::GET && known.url == next.url.as_str()
            });
        let is_conditional = known.is_some_and(|known| add_validators(&mut headers, known));
        let sent = Sent {
            method: next.method.to_string(),
            headers: request_headers.redacted(&headers),
            with_body: next.with_body,
            is_conditional,
        };
        let request = OutgoingRequest {
            method: next.method.clone(),
            url: next.url.clone(),
            headers,
            body: self.job.request.body.clone().filter(|_| next.with_body),
        };
        Ok((request, sent))
    }

    /// Sends a request; repeats a safe request once if a reused connection is lost.
    async fn send_with_retry(
        &self,
        request: OutgoingRequest,
        next: &NextRequest,
        fresh: bool,
    ) -> Result<Response, Failure> {
        let deadline = self.deadline_within(self.settings.options.head_timeout);
        // An unsafe request is sent only once, so never over a reused connection that may be lost.
        let is_new = fresh || !is_safe_method(request.method.as_str());
        match self.send_once(request, is_new, deadline).await {
            // Most likely the server closed the idle connection when the request was sent.
            Err(failure) if failure.kind == FailureKind::Disconnected && !is_new => {
                let (repeated, _) = self.request(next, fresh)?;
                self.send_once(repeated, true, deadline).await
            }
            result => result,
        }
    }

    async fn send_once(
        &self,
        request: OutgoingRequest,
        is_new: bool,
        deadline: Instant,
    ) -> Result<Response, Failure> {
        let HostSettings {
            options, clients, ..
        } = self.settings;
        let new_pool = self.permit.pool.fresh();
        let pool = if is_new {
            &new_pool
        } else {
            &*self.permit.pool
        };
        let response = clients.send(request, pool, options);
        let response = self.slots.wait_for(response, self.permit.slot_wait);
        match timeout_at(deadline.into(), response).await {
            Ok(result) => result,
            Err(_) if self.is_timed_out() => {
                Err(self.total_timeout("before the head of the response was complete"))
            }
            Err(_) => Err(timeout_failure(format!(
                "the head of the response was not complete within {:?} (head-timeout)",
                options.head_timeout
            ))),
        }
    }

    /// Reads no more of a body than its prefix needs. A body that breaks off here is no failure.
    async fn read_prefix(&mut self, mut response: Response) -> BodyEnd {
        if self.prefix.is_page() {
            let limit = self.settings.options.max_body.min(PAGE as u64);
            let limits = BodyLimits::new(limit, limit, 0, Keep::Nothing, false);
            let mut page = BodyReader::new(limits, BodyHasher::new(None), None);
            let end = self.read_into(&mut response, &mut page).await;
            return end.unwrap_or(BodyEnd::Broken);
        }
        drain(response, &mut self.prefix).await;
        BodyEnd::Complete
    }

    async fn read_into(
        &mut self,
        response: &mut Response,
        body: &mut BodyReader,
    ) -> Result<BodyEnd, Failure> {
        let idle_timeout = self.settings.options.idle_timeout;
        while !body.is_full() {
            if let Some(failure) = self.limits.budget_failure().filter(|_| body.is_too_long()) {
                return Err(failure);
            }
            let deadline = self.deadline_within(idle_timeout);
            let chunk = timeout_at(deadline.into(), response.chunk());
            let chunk = if body.is_too_long() {
                // The end of the run must not take the body with it: the body shows a change.
                tokio::select! {
                    biased;
                    failure = self.limits.run_end() => return Err(failure),
                    chunk = chunk => chunk,
                }
            } else {
                chunk.await
            };
            let position = || format!("after {} bytes of the body", body.length());
            if self.is_timed_out() {
                // Checked here too: a server may send small chunks for ever.
                return Err(self.total_timeout(&position()));
            }
            let Ok(chunk) = chunk else {
                return Err(timeout_failure(format!(
                    "no data came within {idle_timeout:?} (idle-timeout) {}",
                    position()
                )));
            };
            let chunk = chunk.map_err(|error| failure_of(&error, &self.settings.options))?;
            let Some(chunk) = chunk else {
                return Ok(BodyEnd::Complete);
            };
            self.limits.count_bytes(chunk.len());
            self.prefix.push(&chunk);
            if body.is_slow() {
                for slice in chunk.chunks(DECODE_SLICE) {
                    body.push(slice);
                    tokio::task::yield_now().await;
                }
            } else {
                body.push(&chunk);
            }
        }
        Ok(BodyEnd::Cut)
    }

    fn decoder(&self, response: &Response) -> Option<Decoder> {
        let encodings: Result<Vec<_>, _> = response
            .headers()
            .get_all(header::CONTENT_ENCODING)
            .iter()
            .map(HeaderValue::to_str)
            .collect();
        Decoder::new(
            &encodings.ok()?.join(","),
            self.job.promise.length,
            self.settings.options.max_body,
            BodyHasher::of(&self.job.promise),
        )
    }

    /// The end of a step that may take this long, within the time limit of the fetch.
    fn deadline_within(&self, limit: Duration) -> Instant {
        self.deadline.min(deadline_in(limit))
    }

    /// Whether the time limit of the fetch has passed.
    fn is_timed_out(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn total_timeout(&self, position: &str) -> Failure {
        timeout_failure(format!(
            "the fetch exceeded {:?} (timeout) {position}",
            self.timeout
        ))
    }
}

fn timeout_failure(detail: String) -> Failure {
    Failure {
        kind: FailureKind::Timeout,
        detail,
        certificate: None,
    }
}

/// Reads an unwanted body, except for its prefix, if the body is short and comes at once.
async fn drain(mut response: Response, prefix: &mut PagePrefix) -> Beginning {
    let mut beginning = Beginning::default();
    let is_large = response
        .content_length()
        .is_some_and(|length| length > DRAIN_LIMIT);
    let mut remaining = DRAIN_LIMIT;
    let reading = async {
        while prefix.wants_more() || !is_large {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                end => {
                    beginning.is_whole = end.is_ok();
                    return;
                }
            };
            prefix.push(&chunk);
            beginning.bytes.extend_from_slice(&chunk);
            let Some(rest) = remaining.checked_sub(chunk.len() as u64) else {
                return;
            };
            remaining = rest;
        }
    };
    // A timeout costs only the connection and the rest of an unwanted body.
    let _ = timeout(DRAIN_TIMEOUT, reading).await;
    beginning
}

fn version(response: &Response) -> &'static str {
    match response.version() {
        Version::HTTP_10 => "HTTP/1.0",
        _ => "HTTP/1.1",
    }
}

/// The protocols of the connection by the names that iipc/warc-specifications #42 proposes.
fn protocols(response: &Response) -> Vec<&'static str> {
    let http = match response.version() {
        Version::HTTP_10 => "http/1.0",
        _ => "http/1.1",
    };
    let tls = match response.connection().tls {
        Some(ProtocolVersion::TLSv1_3) => Some("tls/1.3"),
        Some(ProtocolVersion::TLSv1_2) => Some("tls/1.2"),
        _ => None,
    };
    std::iter::once(http).chain(tls).collect()
}
