//! The answer of the network, as plain data.
//!
//! A failure of the network is an observation, never an `Err`. Observations do not judge answers.
//!
//! The serialized form, in the bundles of shards, has all that verdicts and reports look at: not the bytes
//! of bodies, nor what only an archive needs.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::REDACTED;

use crate::body::{Body, BodyEnd};
use crate::encoding;
use crate::failure::{Certificate, Failure};
use crate::redirect::location_text;

/// Most bytes of an HTML page that are kept for reading its head.
pub const PAGE: usize = 256 << 10;

/// One fetch of a job: every response, and the failure that ended the fetch, if one did.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Observation {
    /// When the first request was sent.
    pub started: Timestamp,
    /// Duration of the fetch, without the time that redirects waited for a connection slot.
    pub elapsed: Duration,
    /// The responses in order; all but the last are redirects that were followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<Hop>,
    /// The body of the last response, if it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// The first 4 KiB of the last response, as sent, if it is HTML, JSON or XML. Challenge rules match on
    /// it.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "encoding::bytes"
    )]
    pub start: Vec<u8>,
    /// The first [`PAGE`] bytes of the last response, as sent, if it is HTML and the job compares
    /// its canonical URL. Absent if the connection was lost before.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "encoding::optional_bytes"
    )]
    pub page: Option<Vec<u8>>,
    /// The failure that ended the fetch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// One response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hop {
    /// The requested URL.
    pub url: String,
    /// When the response began.
    pub at: Timestamp,
    /// The address that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// The server's certificate, over https.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// The certificate of an authority that ends before the server's own, which depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Certificate>,
    /// The server that answered, beyond the address and the dates of the certificate.
    #[serde(skip)]
    pub origin: Origin,
    /// The request.
    #[serde(default)]
    pub sent: Sent,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: Cow<'static, str>,
    /// The protocols of the connection by their names in WARC, HTTP first: `http/1.1`, `tls/1.3`.
    #[serde(skip)]
    pub protocols: Vec<&'static str>,
    /// The status code.
    pub status: u16,
    /// The reason phrase as the server wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason_phrase: String,
    /// The response headers; names in lower case, in order of first appearance.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "encoding::headers"
    )]
    pub headers: Vec<(String, Vec<u8>)>,
    /// The beginning of the body of a redirect that was followed.
    #[serde(skip)]
    pub beginning: Beginning,
}

/// The server that answered a request, as far as the connection shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The addresses that the resolver gave for the host, sorted. Empty if it was not asked: for an address in
    /// the URL, a mapped host, or behind a proxy.
    pub addresses: Vec<IpAddr>,
    /// The certificates that the server sent, in DER, its own first; `None` over http.
    pub certificates: Option<Arc<[Vec<u8>]>>,
}

/// One request, without its URL.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sent {
    /// The method.
    #[serde(default)]
    pub method: String,
    /// The headers, in order; secrets redacted.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "encoding::headers"
    )]
    pub headers: Vec<(String, Vec<u8>)>,
    /// Whether the request had the job's body.
    #[serde(default, skip_serializing_if = "encoding::is_false")]
    pub with_body: bool,
    /// Whether the request was conditional, so that 304 answers it.
    #[serde(default, skip_serializing_if = "encoding::is_false")]
    pub is_conditional: bool,
}

/// The beginning of a body that is not read to its end.
#[derive(Debug, Clone, Default)]
pub struct Beginning {
    /// Bytes, as sent.
    pub bytes: Vec<u8>,
    /// Whether the bytes are the whole body.
    pub is_whole: bool,
}

impl Observation {
    /// The observation of a job without any request.
    pub fn of_nothing(failure: Failure, at: Timestamp) -> Self {
        Self {
            started: at,
            elapsed: Duration::ZERO,
            hops: Vec::new(),
            body: None,
            start: Vec::new(),
            page: None,
            failure: Some(failure),
        }
    }

    /// The first response.
    pub fn first(&self) -> Option<&Hop> {
        self.hops.first()
    }

    /// The last response.
    pub fn last(&self) -> Option<&Hop> {
        self.hops.last()
    }

    /// Whether the last response is a complete 2xx response.
    pub fn is_whole(&self) -> bool {
        let is_good = self
            .last()
            .is_some_and(|last| (200..300).contains(&last.status));
        is_good && self.complete_body().is_some()
    }

    /// Whether the last response is a 304 to a conditional request.
    pub fn is_not_modified(&self) -> bool {
        self.last()
            .is_some_and(|last| last.status == 304 && last.sent.is_conditional)
    }

    /// The body, if it is complete.
    pub fn complete_body(&self) -> Option<&Body> {
        self.body
            .as_ref()
            .filter(|body| body.end == BodyEnd::Complete)
    }
}

impl Hop {
    /// The first value of a header, if it is UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// All values of a header; bytes that are not UTF-8 are replaced.
    pub fn values(&self, name: &str) -> impl Iterator<Item = Cow<'_, str>> {
        self.headers
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// All values of a header joined with commas (RFC 9110, 5.3).
    pub fn list(&self, name: &str) -> String {
        self.values(name).collect::<Vec<_>>().join(", ")
    }

    /// [`Hop::redirect_target`] for people and reports: without credentials.
    pub fn shown_redirect_target(&self) -> Option<String> {
        let target = self.redirect_target()?;
        let Ok(mut url) = url::Url::parse(&target) else {
            // The part before the last `@` may be a password.
            return Some(match target.rsplit_once('@') {
                Some((_, rest)) => format!("{REDACTED}@{rest}"),
                None => target,
            });
        };
        if url.username().is_empty() && url.password().is_none() {
            return Some(target);
        }
        // Neither can fail: a URL with credentials has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let shown = url.as_str().replacen("://", &format!("://{REDACTED}@"), 1);
        Some(shown)
    }

    /// The target of a redirect: an absolute URL, or the `Location` as sent if it makes none.
    pub fn redirect_target(&self) -> Option<String> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let (_, location) = self
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
        let location = location_text(location);
        let joined = url::Url::parse(&self.url).ok()?.join(&location);
        Some(joined.map_or(location, String::from))
    }
}
