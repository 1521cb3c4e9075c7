//! Which requests there are to make: records in, [`Job`]s out. Pure.

use std::sync::Arc;

use urldb_canon::Scheme;

/// What names one job between runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey {
    /// The host that the domain file is named after.
    pub domain: String,
    /// The record's `_path`.
    pub path: String,
    /// The canonical request, when it is not a plain GET.
    pub request: Option<String>,
    /// A cname of the domain that is asked instead of it.
    pub alias: Option<String>,
    /// The scheme that is asked for.
    pub scheme: Scheme,
}

/// One request to make.
#[derive(Debug, Clone)]
pub struct Job {
    /// What names it between runs.
    pub key: JobKey,
    /// The URL to ask for.
    pub url: String,
    /// The domain file, relative to the root, with `/`.
    pub file: Arc<str>,
    /// The first line of the record in it, counted from 1.
    pub line: usize,
    /// What must come back.
    pub promise: Promise,
    /// What is sent.
    pub request: Request,
    /// What is done with the body that comes back.
    pub body: BodyUse,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, upper case.
    pub method: String,
    /// The record's own headers.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<String>,
}

/// What is done with the body of the last response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyUse {
    /// Nothing: the connection is let go after the head (or a small body is drained for reuse).
    Skip,
    /// Hashed, and given up once it is longer than this many bytes.
    Hash {
        /// The promised length, or the cap.
        at_most: u64,
        /// Whether its bytes are kept for the archive.
        keep: bool,
    },
}

/// What a record promises of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promise {
    /// Length of the body in bytes.
    pub length: Option<u64>,
    /// SHA-256 of the body.
    pub sha256: Option<[u8; 32]>,
    /// Media type at the end of the chain.
    pub content_type: Option<String>,
    /// Status that the pseudo type `X-NNN-Redirect` names.
    pub redirect_status: Option<u16>,
    /// Status at the end of the chain.
    pub status: Option<u16>,
    /// Where the first response must redirect to, as an absolute URL.
    pub redirects_to: Option<String>,
    /// Category `redirect-ok`.
    pub redirect_ok: bool,
    /// Category `content-type-change-ok`.
    pub content_type_change_ok: bool,
}

impl Promise {
    /// Whether bytes are promised, not just an answer.
    pub fn is_static(&self) -> bool {
        self.length.is_some() || self.sha256.is_some()
    }
}
