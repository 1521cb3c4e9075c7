//! The request of a job, its promise, and its identity.

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{Algorithm, Digest, Record, RecordIdentity};
use urldb_protocol::UrlUses;

use crate::encoding;
use crate::observation::{Hop, Observation};

/// Identifies one job between runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey {
    /// The host that the domain file is named after.
    pub domain: String,
    /// The record's `_path`.
    pub path: String,
    /// The canonical request, when it is not a plain GET.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The request headers that `vary` of the metadata names, such as `accept: text/turtle`, one a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The cname that is asked in place of the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The scheme of the URL.
    #[serde(with = "encoding::scheme")]
    pub scheme: Scheme,
}

impl JobKey {
    /// The identity of the record in its domain file.
    pub fn record(&self) -> RecordIdentity {
        RecordIdentity {
            path: self.path.clone(),
            request: self.request.clone(),
            variant: self.variant.clone(),
        }
    }

    /// Deterministic pseudo-randomness: a number that depends on this key and `salt` alone, and is
    /// spread evenly over keys.
    pub fn spread(&self, salt: u64) -> u64 {
        let parts = [
            &self.domain,
            &self.path,
            self.request.as_deref().unwrap_or_default(),
            self.alias.as_deref().unwrap_or_default(),
            self.scheme.as_str(),
        ];
        let number = spread(salt, parts);
        match &self.variant {
            Some(variant) => spread(number, [variant]),
            None => number,
        }
    }
}

/// A number that depends on these texts and `salt` alone, and is spread evenly.
pub(crate) fn spread<const N: usize>(salt: u64, parts: [&str; N]) -> u64 {
    let mut hasher = Sha256::new();
    hasher.update(salt.to_le_bytes());
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// One request to make.
///
/// The serialized form has all of it: the fetcher keeps jobs in a temporary file that it asks again later.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Identifies the job between runs.
    pub key: JobKey,
    /// The URL to request.
    #[serde(with = "encoding::request_url")]
    pub url: RequestUrl,
    /// The domain file, relative to the root, with `/`.
    #[serde(with = "encoding::shared")]
    pub file: Arc<str>,
    /// The first line of the record in it, counted from 1.
    pub line: usize,
    /// The places in lists that use the URL; `None` if no list has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<Box<UrlUses>>,
    /// The categories of the record.
    #[serde(with = "encoding::shared")]
    pub categories: Arc<[String]>,
    /// The promise about the answer.
    pub promise: Promise,
    /// Method, headers and body of the request.
    #[serde(with = "encoding::shared")]
    pub request: Arc<Request>,
    /// Use of the response's body.
    pub body: BodyUse,
    /// Nobody is notified about the URL, and its state has no effect on the exit code.
    pub muted: bool,
    /// Validators for a conditional request, where an answer of 304 is enough.
    pub validators: Option<Box<Validators>>,
}

impl Job {
    /// The file and the line for people: of the first list that uses the URL, or else of the record.
    pub fn place(&self) -> (&str, usize) {
        let uses = self.uses.as_ref();
        let first = uses.and_then(|uses| uses.locations.first());
        first.map_or((&self.file, self.line), |first| (&first.file, first.line))
    }

    /// The host that is asked: the domain, or one of its cnames.
    pub fn host(&self) -> &str {
        self.key.alias.as_deref().unwrap_or(&self.key.domain)
    }
}

/// Validators of known content, for a conditional request (RFC 9110, 8.8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// The URL that served the content.
    pub url: String,
    /// `ETag` of the content.
    pub etag: Option<String>,
    /// `Last-Modified` of the content.
    pub last_modified: Option<String>,
}

/// Use of the body of the last response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BodyUse {
    /// None: the fetcher closes the connection after the head, or drains a small body for reuse.
    Skip,
    /// The body is hashed. The verdict needs no byte after the first one beyond `at_most`.
    Hash {
        /// The promised length, or the cap, in bytes.
        at_most: u64,
        /// The bodies that are kept for the archive.
        keep: Keep,
        /// Bytes beyond `at_most` that are read of a kept body, so that the archive gets all of it.
        beyond: u64,
    },
}

/// The bodies of a job that are kept for the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// None.
    Nothing,
    /// Bodies that may be other content than promised, which the archive holds already: those of
    /// repeated fetches, of other statuses than 2xx, and small ones.
    Changes,
    /// All.
    Everything,
}

/// The promise of a record about the response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// Length of the body in bytes.
    pub length: Option<u64>,
    /// SHA-256 of the body.
    pub sha256: Option<[u8; 32]>,
    /// Further digests of the body, the weakest first.
    #[serde(
        default,
        skip_serializing_if = "<[Digest]>::is_empty",
        with = "encoding::digests"
    )]
    pub digests: Box<[Digest]>,
    /// Media type of the last response.
    pub content_type: Option<String>,
    /// Status that the pseudo type `X-NNN-Redirect` names.
    pub redirect_status: Option<u16>,
    /// Status of the last response.
    pub status: Option<u16>,
    /// The target of the redirect that the first response must be, as an absolute URL.
    pub redirects_to: Option<String>,
    /// The official URL that an HTML page must name as canonical, where that is checked.
    pub canonical: Option<Box<str>>,
    /// Category `redirect-ok`.
    pub redirect_ok: bool,
    /// Category `content-type-change-ok`.
    pub content_type_change_ok: bool,
    /// Whether the promised bytes, when they were last seen, had a text by which a challenge is recognized.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_text_of_challenge: bool,
}

impl Promise {
    /// Whether the record promises bytes.
    pub fn is_static(&self) -> bool {
        self.length.is_some() || self.has_digest()
    }

    /// Whether the record promises a digest of the body.
    pub fn has_digest(&self) -> bool {
        self.sha256.is_some() || !self.digests.is_empty()
    }

    /// Each promised digest.
    pub fn all_digests(&self) -> impl Iterator<Item = Digest> {
        self.sha256
            .and_then(|bytes| Digest::new(Algorithm::Sha256, &bytes))
            .into_iter()
            .chain(self.digests.iter().cloned())
    }

    /// The promised digest of the strongest algorithm.
    pub fn strongest_digest(&self) -> Option<Digest> {
        self.all_digests().max()
    }

    /// Whether the first response alone keeps the promise: it is the promised redirect, and nothing is promised
    /// about its target.
    pub fn is_kept_by_redirect(&self, first: &Hop) -> bool {
        let is_promised =
            self.redirects_to.is_some() && self.redirects_to == first.redirect_target();
        let is_status =
            |promised: Option<u16>| promised.is_none_or(|status| status == first.status);
        is_promised
            && is_status(self.status)
            && is_status(self.redirect_status)
            && !self.is_static()
            && self.content_type.is_none()
    }

    /// The response whose status counts: the first, if a redirect status is promised, else the last.
    pub(crate) fn judged_hop<'a>(&self, seen: &'a Observation) -> Option<&'a Hop> {
        match self.status {
            Some(300..400) => seen.first(),
            _ => seen.last(),
        }
    }
}

/// The request of most records.
static PLAIN_GET: LazyLock<Arc<Request>> = LazyLock::new(|| {
    Arc::new(Request {
        method: "GET".to_owned(),
        headers: vec![],
        body: None,
        within: None,
    })
});

/// Method, headers and body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The method, upper case.
    pub method: String,
    /// The record's own headers.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<String>,
    /// The start of the URLs that alone get the headers. Without one, these are all URLs of the origin, which get the
    /// configured headers of their host too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

impl Request {
    /// The request that a record describes. Records that ask for nothing but a plain GET share theirs.
    pub fn of(record: &Record) -> Arc<Self> {
        let is_plain = record.method.is_none()
            && record.request_headers.is_empty()
            && record.request_content_type.is_none()
            && record.request_body.is_none();
        if is_plain {
            return Arc::clone(&PLAIN_GET);
        }
        let mut headers: Vec<(String, String)> = record
            .request_headers
            .iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value.as_text()?.to_owned())))
            .collect();
        if let Some(content_type) = &record.request_content_type {
            headers.push(("content-type".to_owned(), content_type.clone()));
        }
        Arc::new(Self {
            method: record.method.clone().unwrap_or_else(|| "GET".to_owned()),
            headers,
            body: record.request_body.clone(),
            within: None,
        })
    }

    /// Whether the request may be sent without `unsafe-methods`, and repeated.
    pub fn is_safe(&self) -> bool {
        is_safe_method(&self.method)
    }
}

/// Whether a request with this method changes nothing on the server (RFC 9110, 9.2.1). TRACE does
/// not count as safe: its response repeats the request, secrets included.
pub fn is_safe_method(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}
