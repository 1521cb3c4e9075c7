//! One answer of the network, on its way into records.

use std::net::IpAddr;

use urldb_warc::{
    Digest, Exchange, HttpVersion, ResponseHead, StoredRequest, WarcDate, render_request_head,
};

use urldb_verdict::Hop;
use urldb_verdict::Job;

/// An answer, and the job that it is to.
pub(super) struct Answer<'a> {
    pub(super) job: &'a Job,
    pub(super) hop: &'a Hop,
    /// The SHA-256 of its body.
    pub(super) digest: Digest,
}

impl Answer<'_> {
    /// What all records about it share.
    pub(super) fn exchange<'b>(&'b self, date: &'b WarcDate) -> Exchange<'b> {
        let ip_address: Option<IpAddr> = self.hop.address.map(|address| address.ip());
        Exchange {
            target_uri: &self.hop.url,
            date,
            ip_address,
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

    /// What was asked, before its body.
    pub(super) fn request_head(&self) -> anyhow::Result<Vec<u8>> {
        let url = url::Url::parse(&self.hop.url)?;
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let sent = &self.hop.sent;
        Ok(render_request_head(&sent.method, target, &sent.headers)?)
    }

    /// What was asked, if it was no GET.
    pub(super) fn asked(&self) -> Option<StoredRequest> {
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

    /// The body that was asked with.
    pub(super) fn request_body(&self) -> &[u8] {
        let body = self.job.request.body.as_deref();
        let sent = body.filter(|_| self.hop.sent.with_body);
        sent.unwrap_or_default().as_bytes()
    }
}
