//! One response of a job, from which records are built.

use std::net::IpAddr;

use urldb_verdict::{Hop, Job};
use urldb_warc::draft::Exchange;
use urldb_warc::http::{HttpVersion, ResponseHead, StoredRequest, render_request_head};
use urldb_warc::{Digest, WarcDate};

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

    /// The head of the request.
    pub(super) fn request_head(&self) -> anyhow::Result<Vec<u8>> {
        let url = url::Url::parse(&self.hop.url)?;
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let sent = &self.hop.sent;
        Ok(render_request_head(&sent.method, target, &sent.headers)?)
    }

    /// The request, unless it was a GET.
    pub(super) fn stored_request(&self) -> Option<StoredRequest> {
        let sent = &self.hop.sent;
        let mut headers = sent.headers.iter();
        let content_type = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let content_type = content_type.map(|(_, value)| String::from_utf8_lossy(value));
        (sent.method != "GET").then(|| StoredRequest {
            method: sent.method.clone(),
            content_type: content_type.unwrap_or_default().into_owned(),
            body: self.request_body().to_owned(),
        })
    }

    /// The body of the request; empty without one.
    pub(super) fn request_body(&self) -> &[u8] {
        let body = self.job.request.body.as_deref();
        let sent = body.filter(|_| self.hop.sent.with_body);
        sent.unwrap_or_default().as_bytes()
    }
}
