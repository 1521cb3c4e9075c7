//! What one run has to say, as one JSON document.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Finding, FixedMistake, Mistake, Severity, State};

/// The protocol number. Read it before anything else of an envelope.
pub const PROTOCOL: u32 = 1;

/// The report of one run: what a notifier is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// [`PROTOCOL`] of the program that wrote it.
    pub protocol: u32,
    /// Which run this was.
    pub run: RunInfo,
    /// Everything wrong now, the worst first.
    pub findings: Vec<Finding>,
    /// What keeps records from being read, or from meaning what their author meant.
    #[serde(default)]
    pub mistakes: Vec<Mistake>,
    /// The mistakes of earlier runs that are there no longer.
    #[serde(default)]
    pub mended: Vec<FixedMistake>,
    /// What is news of URLs since the last run.
    pub changes: Vec<Change>,
    /// Totals.
    pub summary: Summary,
}

impl Envelope {
    /// Whether there is anything that people have not been told yet.
    pub fn has_news(&self) -> bool {
        let has_new_mistake = self.mistakes.iter().any(|mistake| mistake.new);
        has_new_mistake || !self.mended.is_empty() || !self.changes.is_empty()
    }
}

/// One execution of urldb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    /// Unique and stable: a redelivery of the same report carries the same id.
    pub id: String,
    /// When it began.
    pub started: Timestamp,
    /// When the last URL was done.
    pub finished: Timestamp,
    /// The version of urldb.
    pub version: String,
    /// The name of the repository's folder.
    pub repository: String,
}

/// A URL whose settled state is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The URL.
    pub url: String,
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// The state it had.
    pub from: State,
    /// The state it has now.
    pub to: State,
    /// Since when it had had the former state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_since: Option<Timestamp>,
    /// When the new state was first seen.
    pub since: Timestamp,
    /// One sentence for people.
    pub message: String,
}

/// The totals of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many URLs are in each state; states without URLs are left out.
    pub states: BTreeMap<State, u64>,
    /// How many findings are warnings.
    pub warnings: u64,
    /// How much was looked at.
    pub coverage: Coverage,
}

/// How much of what was due has been looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// URLs that were due.
    pub due: u64,
    /// URLs that were checked to a conclusion.
    pub checked: u64,
    /// Static URLs that were due.
    pub static_due: u64,
    /// Static URLs whose every promised byte was compared and found right.
    pub static_verified: u64,
    /// Static URLs of which the server only said that they have not changed, as it may on the days
    /// between two full reads.
    #[serde(default)]
    pub not_modified: u64,
    /// Records that were not due because they are deprecated.
    #[serde(default)]
    pub deprecated: u64,
    /// Records that were not due because they were not selected.
    #[serde(default)]
    pub not_selected: u64,
    /// Body bytes read and hashed.
    pub bytes: u64,
    /// Wall-clock time, in milliseconds.
    pub milliseconds: u64,
}

/// What one job came to; the `results` of `check --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    /// The URL that was asked for.
    pub url: String,
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// The request method.
    pub method: String,
    /// The state.
    pub state: State,
    /// Which kind of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// One sentence for people.
    pub message: String,
    /// What the record promises.
    pub promised: Promised,
    /// What the last attempt saw.
    pub observed: Observed,
    /// Codes of warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How many times it was fetched.
    pub attempts: usize,
    /// [`Severity`] of the state; absent when all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
}

/// The comparable part of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Promised {
    /// Length of the body in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// SHA-256 of the body, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Media type, or a pseudo type such as `X-301-Redirect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Where it must redirect to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects_to: Option<String>,
}

/// What the network answered, in the same terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// Status of the last response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The URL of the last response, where it is not the one asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_url: Option<String>,
    /// Bytes of the body that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// SHA-256 of a complete body, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The content type the server named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Status of the first response, where that redirects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_status: Option<u16>,
    /// Where the first response redirects to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// The address that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}
