//! One response of a job, from which records are built.

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};
use urldb_fetch::REDACTED;
use urldb_verdict::{Hop, Job, Observation};
use urldb_warc::cdxj::VARY_FIELD;
use urldb_warc::draft::{Exchange, RecordDraft};
use urldb_warc::http::{HttpVersion, ResponseHead, StoredRequest, render_request_head};
use urldb_warc::{Digest, WarcDate};

use super::completeness::truncation;

/// A response, and the job that it answers.
pub(super) struct JobResponse<'a> {
    pub(super) job: &'a Job,
    pub(super) hop: &'a Hop,
    /// The SHA-256 of its body.
    pub(super) digest: Digest,
}

impl JobResponse<'_> {
    /// The part that all records about the response share.
    pub(super) fn exchange<'b>(&'b self, date: &'b WarcDate) -> Exchange<'b> {
        let ip_address: Option<IpAddr> = self.hop.address.map(|address| address.ip());
        Exchange {
            target_uri: &self.hop.url,
            date,
            ip_address,
            protocols: &self.hop.protocols,
        }
    }

    /// The head, for a body that is stored with this length.
    pub(super) fn response_head(&self, body_length: u64) -> anyhow::Result<Vec<u8>> {
        let head = ResponseHead {
            version: if self.hop.version == "HTTP/1.0" {
                HttpVersion::Http10
            } else {
                HttpVersion::Http11
            },
            status: self.hop.status,
            reason: &self.hop.reason_phrase,
            fields: &self.hop.headers,
            body_length,
        };
        Ok(head.render()?)
    }

    pub(super) fn request_head(&self) -> anyhow::Result<Vec<u8>> {
        let url = url::Url::parse(&self.hop.url)?;
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let sent = &self.hop.sent;
        Ok(render_request_head(&sent.method, target, &sent.headers)?)
    }

    /// Adds the request headers that tell the record of the URL apart from others, as far as they were sent: a
    /// redirect to another origin is followed without them.
    pub(super) fn add_vary(&self, draft: &mut RecordDraft) -> anyhow::Result<()> {
        for line in self.job.key.variant.iter().flat_map(|it| it.lines()) {
            let (name, value) = line.split_once(": ").unwrap_or((line, ""));
            let is_sent = |(sent, bytes): &(String, Vec<u8>)| {
                sent.eq_ignore_ascii_case(name) && (bytes == value.as_bytes() || bytes == REDACTED)
            };
            if self.hop.sent.headers.iter().any(is_sent) {
                draft.header.push(VARY_FIELD, line)?;
            }
        }
        Ok(())
    }

    /// The request, unless it was a GET.
    pub(super) fn stored_request(&self) -> Option<StoredRequest> {
        let sent = &self.hop.sent;
        let content_type = sent
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
            .map(|(_, value)| String::from_utf8_lossy(value));
        (sent.method != "GET").then(|| StoredRequest {
            method: sent.method.clone(),
            content_type: content_type.unwrap_or_default().into_owned(),
            body: self.request_body().to_owned(),
        })
    }

    /// The body of the request; empty without one.
    pub(super) fn request_body(&self) -> &[u8] {
        self.job
            .request
            .body
            .as_deref()
            .filter(|_| self.hop.sent.with_body)
            .unwrap_or_default()
            .as_bytes()
    }
}

/// The responses before the final one: all of them, without a final one.
pub(super) fn redirects(seen: &Observation) -> &[Hop] {
    match (&seen.body, seen.hops.split_last()) {
        (Some(_), Some((_, redirects))) => redirects,
        _ => &seen.hops,
    }
}

/// A digest of a chain of redirects: URLs, statuses and targets. Bodies and other fields may differ
/// each time.
pub(super) fn fingerprint(redirects: &[Hop]) -> Option<String> {
    let parts = redirects.iter().flat_map(|hop| {
        let location = hop.header("location").unwrap_or_default().to_owned();
        [hop.url.clone(), hop.status.to_string(), location]
    });
    (!redirects.is_empty()).then(|| digest_of(parts))
}

/// A digest of an error page or an incomplete body: its redirects, URL, status and bytes, and the
/// reason why the body is not whole. `None` without a body.
pub(super) fn bad_response_digest(seen: &Observation) -> Option<String> {
    let (hop, body) = (seen.last()?, seen.body.as_ref()?);
    let truncated =
        truncation(body, seen.failure.as_ref()).map(|(reason, _)| reason.name().to_owned());
    Some(digest_of([
        fingerprint(redirects(seen)).unwrap_or_default(),
        hop.url.clone(),
        hop.status.to_string(),
        Digest::sha256(body.sha256).to_string(),
        truncated.unwrap_or_default(),
    ]))
}

/// The SHA-256 of texts, each with its length in front.
fn digest_of(parts: impl IntoIterator<Item = String>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Digest::sha256(hasher.finalize().into()).to_string()
}
