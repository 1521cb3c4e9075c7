//! The record of one finished job of a run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_verdict::JudgedJob;

use super::entry::{BadResponse, Content, Entry};
use super::origins::KnownOrigins;

/// A finished job: its observations, its verdict, and its captures. A run is a stream of these records, and
/// a bundle is such a stream on disk.
#[derive(Debug, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job, its observations, and the verdict.
    pub judged: JudgedJob,
    /// When the job was archived, in whole seconds.
    pub at: Timestamp,
    /// The result of archiving.
    pub archived: Archived,
}

/// The result of archiving one job. By default, nothing is archived.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Archived {
    /// The captures for the ledger.
    pub captures: KnownCaptures,
    /// The error of the archive, if there was one.
    pub error: Option<String>,
    /// The reason why the archive does not have the observed body.
    pub not_archived: Option<String>,
    /// New records about the hosts of the captures.
    #[serde(default, skip_serializing_if = "KnownOrigins::is_empty")]
    pub origins: KnownOrigins,
}

/// The captures of a job, as the ledger knows them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KnownCaptures {
    /// The content that was last archived.
    pub content: Option<Content>,
    /// The error page or incomplete body that was last archived, if the state of the URL is still the
    /// same.
    pub bad_response: Option<BadResponse>,
}

impl KnownCaptures {
    /// The names of the WARC files with these captures.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let capture = self
            .content
            .as_ref()
            .and_then(|content| content.capture.as_ref());
        let bad = self.bad_response.as_ref();
        capture
            .map(|capture| &capture.file)
            .into_iter()
            .chain(bad.map(|bad| &bad.file))
            .map(String::as_str)
    }

    /// The captures of an entry; none without an entry.
    pub fn of(entry: Option<&Entry>) -> Self {
        Self {
            content: entry.and_then(|entry| entry.content.clone()),
            bad_response: entry.and_then(|entry| entry.bad_response.clone()),
        }
    }
}
