//! One request to make.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use urldb_canon::Scheme;

use crate::{Promise, Request, Validators};

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

impl JobKey {
    /// A number that is always the same for this job and this `salt`, and spread evenly over
    /// jobs: chance without chance.
    pub fn spread(&self, salt: u64) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(salt.to_le_bytes());
        let request = self.request.as_deref().unwrap_or_default();
        let alias = self.alias.as_deref().unwrap_or_default();
        for part in [
            &self.domain,
            &self.path,
            request,
            alias,
            self.scheme.as_str(),
        ] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        let start = digest.iter().take(8);
        start.fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
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
    /// What is known of the content, where it will do that it has not changed.
    pub known: Option<Box<Validators>>,
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
