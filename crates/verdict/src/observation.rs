//! What the network answered, as plain data.
//!
//! A failure of the network is an observation, never an `Err`; nothing here
//! says whether what was seen is good or bad.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use urldb_files::Spool;
use urldb_protocol::Reason;

/// How much of an HTML page is kept where its head is to be read, in bytes.
pub const PAGE: usize = 256 << 10;

/// One fetch of a job: every response on the way, and how it ended.
#[derive(Debug)]
pub struct Observation {
    /// When the first request was sent.
    pub started: Timestamp,
    /// How long it all took, not counting the turns at hosts that redirects waited for.
    pub elapsed: Duration,
    /// The responses in order; all but the last are redirects that were followed.
    pub hops: Vec<Hop>,
    /// The body of the last response, when its head arrived and it was read.
    pub body: Option<Body>,
    /// The first 4 KiB of the last response, as sent, where it is HTML: challenges are known by it.
    pub start: Vec<u8>,
    /// The first [`PAGE`] bytes of the last response, as sent, where it is HTML and
    /// its head is to be read. Absent when it broke off before that.
    pub page: Option<Vec<u8>>,
    /// What ended the fetch before its time.
    pub failure: Option<Failure>,
}

/// One response.
#[derive(Debug, Clone)]
pub struct Hop {
    /// The URL that was asked.
    pub url: String,
    /// When.
    pub at: Timestamp,
    /// The address that answered.
    pub address: Option<SocketAddr>,
    /// The certificate that it showed, over https.
    pub certificate: Option<Certificate>,
    /// What was sent.
    pub sent: Sent,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: &'static str,
    /// The status code.
    pub status: u16,
    /// The reason phrase as the server wrote it.
    pub reason_phrase: String,
    /// The response headers; names in lower case, in order of first appearance.
    pub headers: Vec<(String, Vec<u8>)>,
    /// What was read of the body, of a redirect that was followed.
    pub beginning: Beginning,
}

/// A server's certificate: its names and its period of validity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The distinguished name of its holder, as `CN=example.org, O=…`; often empty.
    pub subject: String,
    /// The distinguished name of its issuer.
    pub issuer: String,
    /// The first second of its validity.
    pub not_before: Timestamp,
    /// The last second of its validity.
    pub not_after: Timestamp,
}

/// What was sent with one request, besides the URL.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// The method.
    pub method: String,
    /// The headers, in order; secrets redacted.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Whether the job's request body went along.
    pub with_body: bool,
    /// Whether 304 is an answer to it: a content was named that is known already.
    pub is_conditional: bool,
}

/// The beginning of a body that nobody wants.
#[derive(Debug, Clone, Default)]
pub struct Beginning {
    /// Bytes, as sent.
    pub bytes: Vec<u8>,
    /// Whether these are all of it.
    pub is_whole: bool,
}

/// The body of the last response.
#[derive(Debug)]
pub struct Body {
    /// Bytes that were read, as sent.
    pub length: u64,
    /// SHA-256 of those bytes.
    pub sha256: [u8; 32],
    /// How it ended.
    pub end: BodyEnd,
    /// What it is after undoing a content coding that nobody asked for; absent when the coded
    /// stream is not whole, however the body ended.
    pub decoded: Option<Decoded>,
    /// The bytes, where they were to be kept and the disk had room.
    pub bytes: Option<Spool>,
}

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyEnd {
    /// Where its framing said.
    Complete,
    /// We stopped reading: it is longer than the job had any use for.
    Cut,
    /// Before its framing said.
    Broken,
}

/// A body with its content coding undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// To its end.
    Whole {
        /// Bytes.
        length: u64,
        /// Their SHA-256.
        sha256: [u8; 32],
    },
    /// Given up: it is longer than this many bytes.
    LongerThan(u64),
}

/// What ended a fetch before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which kind.
    pub kind: FailureKind,
    /// For people: the cause in the words of the network.
    pub detail: String,
}

/// The kinds of failure that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The name did not resolve.
    Dns,
    /// No connection.
    Connect,
    /// The certificate is past its end.
    TlsExpired,
    /// The certificate's time has not come.
    TlsNotYetValid,
    /// The certificate's issuer is not trusted.
    TlsUntrusted,
    /// The certificate is for another name.
    TlsWrongHost,
    /// TLS failed otherwise.
    Tls,
    /// Time ran out.
    Timeout,
    /// What came was not HTTP, or not an answer to what was asked.
    Protocol,
    /// The connection was lost before or within the response.
    Disconnected,
    /// A redirect leads back to where it came from.
    RedirectLoop,
    /// Too many redirects.
    RedirectLimit,
    /// A redirect to something that cannot be followed.
    RedirectInvalid,
    /// Our own policy forbids to connect there.
    Refused,
    /// The request may change something, and nobody has said that it may.
    UnsafeMethod,
    /// The run's own time was over, or it was interrupted.
    RunEnded,
    /// The host has answered nothing for so long that it is not asked any more.
    HostSilent,
    /// This program has as many files open as it may, and a connection is one.
    OwnLimit,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 18] = [
        Self::Dns,
        Self::Connect,
        Self::TlsExpired,
        Self::TlsNotYetValid,
        Self::TlsUntrusted,
        Self::TlsWrongHost,
        Self::Tls,
        Self::Timeout,
        Self::Protocol,
        Self::Disconnected,
        Self::RedirectLoop,
        Self::RedirectLimit,
        Self::RedirectInvalid,
        Self::Refused,
        Self::UnsafeMethod,
        Self::RunEnded,
        Self::HostSilent,
        Self::OwnLimit,
    ];

    /// The reason that this kind of failure is for a fetch without a body.
    pub const fn reason(self) -> Reason {
        match self {
            Self::Dns => Reason::Dns,
            Self::Connect | Self::Disconnected => Reason::Connect,
            Self::TlsExpired => Reason::TlsExpired,
            Self::TlsNotYetValid => Reason::TlsNotYetValid,
            Self::TlsUntrusted => Reason::TlsUntrusted,
            Self::TlsWrongHost => Reason::TlsWrongHost,
            Self::Tls => Reason::Tls,
            Self::Timeout => Reason::Timeout,
            Self::Protocol => Reason::Protocol,
            Self::RedirectLoop => Reason::RedirectLoop,
            Self::RedirectLimit => Reason::RedirectLimit,
            Self::RedirectInvalid => Reason::RedirectInvalid,
            Self::Refused => Reason::Refused,
            Self::UnsafeMethod => Reason::UnsafeMethod,
            Self::RunEnded => Reason::RunEnded,
            Self::HostSilent => Reason::HostSilent,
            Self::OwnLimit => Reason::OwnLimit,
        }
    }

    /// The kebab-case name: that of the reason, except for `disconnected`, which depends on how
    /// much had arrived.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            other => other.reason().as_str(),
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            issuer,
            not_before,
            not_after,
            ..
        } = self;
        // The server chooses the issuer's name: the name must not control a terminal.
        let issuer = issuer.escape_debug();
        write!(
            f,
            "issued by {issuer}, valid from {not_before} to {not_after}"
        )
    }
}

impl Observation {
    /// What is observed when nothing is asked.
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

    /// Whether it ends in a good answer that arrived whole.
    pub fn is_whole(&self) -> bool {
        let is_good = self
            .last()
            .is_some_and(|last| (200..300).contains(&last.status));
        is_good && self.complete_body().is_some()
    }

    /// Whether it ends in a good answer with the bytes that this digest proves to be whole, however
    /// the connection ended.
    pub fn is_proven(&self, sha256: Option<&[u8; 32]>) -> bool {
        let is_good = self
            .last()
            .is_some_and(|last| (200..300).contains(&last.status));
        let body = self.body.as_ref().filter(|body| body.length > 0);
        is_good && body.is_some_and(|body| sha256 == Some(&body.sha256))
    }

    /// Whether it ends in the answer that a content known already has not changed.
    pub fn is_not_modified(&self) -> bool {
        self.last()
            .is_some_and(|last| last.status == 304 && last.sent.is_conditional)
    }

    /// The whole body, when it arrived whole.
    pub fn complete_body(&self) -> Option<&Body> {
        self.body
            .as_ref()
            .filter(|body| body.end == BodyEnd::Complete)
    }
}

impl Hop {
    /// The first value of a header, as text where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// All values of a header; what is not UTF-8 in them is replaced.
    pub fn values(&self, name: &str) -> impl Iterator<Item = Cow<'_, str>> {
        let lines = self.headers.iter();
        let lines = lines.filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        lines.map(|(_, value)| String::from_utf8_lossy(value))
    }

    /// The same as one list: it means the same whether a list stands in one line or in several.
    pub fn list(&self, name: &str) -> String {
        self.values(name).collect::<Vec<_>>().join(", ")
    }

    /// Where the response redirects to, as an absolute URL; as it stands where it makes none.
    pub fn redirect_target(&self) -> Option<String> {
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let (_, location) = self
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
        let location = crate::location_text(location);
        let joined = url::Url::parse(&self.url).ok()?.join(&location);
        Some(joined.map_or(location, String::from))
    }
}
