//! One request to make, and its key between runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use urldb_canon::{RequestUrl, Scheme};

use crate::encoding;
use crate::promise::Promise;
use crate::request::Request;

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
    /// The cname that is asked in place of the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The scheme of the URL.
    #[serde(with = "encoding::scheme")]
    pub scheme: Scheme,
}

impl JobKey {
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
        spread(salt, parts)
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
    let start = digest.iter().take(8);
    start.fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// One request to make.
#[derive(Debug, Clone)]
pub struct Job {
    /// Identifies the job between runs.
    pub key: JobKey,
    /// The URL to request.
    pub url: RequestUrl,
    /// The domain file, relative to the root, with `/`.
    pub file: Arc<str>,
    /// The first line of the record in it, counted from 1.
    pub line: usize,
    /// The categories of the record.
    pub categories: Arc<[String]>,
    /// The promise about the answer.
    pub promise: Promise,
    /// Method, headers and body of the request.
    pub request: Arc<Request>,
    /// Use of the response's body.
    pub body: BodyUse,
    /// Nobody is notified about the URL, and its state has no effect on the exit code.
    pub muted: bool,
    /// Validators for a conditional request, where an answer of 304 is enough.
    pub validators: Option<Box<Validators>>,
}

impl Job {
    /// The host that is asked: the domain, or one of its cnames.
    pub fn host(&self) -> &str {
        self.key.alias.as_deref().unwrap_or(&self.key.domain)
    }
}

/// Validators of known content, for a conditional request (RFC 9110, 8.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validators {
    /// The URL that served the content.
    pub url: String,
    /// `ETag` of the content.
    pub etag: Option<String>,
    /// `Last-Modified` of the content.
    pub last_modified: Option<String>,
}

/// Use of the body of the last response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// None.
    Nothing,
    /// Bodies that may be other content than promised, which the archive holds already: those of
    /// repeated fetches, of other statuses than 2xx, and small ones.
    Changes,
    /// All.
    Everything,
}
