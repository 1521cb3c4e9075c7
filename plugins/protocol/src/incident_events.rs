//! The events of incidents with evidence, as pages of the status site show them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Because;
use crate::incident::{Chapter, Evidence, Incident};

/// The events of one incident.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentEvents {
    /// The events, the first one first.
    pub chapters: Vec<ChapterDetails>,
    /// Number of URLs that have left and are not affected now, by the reason.
    pub left: Vec<(Because, u64)>,
}

/// An event of an incident, with evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChapterDetails {
    /// The event.
    pub chapter: Chapter,
    /// Promises and answers of some of its URLs, at most five.
    pub evidence: Vec<Evidence>,
    /// The run saw the cause, with one status, at each of its URLs in all requests: the fewest requests for one of them.
    pub agreeing: Option<u32>,
}

/// The latest evidence of one URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlEvidence {
    /// The id of the incident.
    pub incident: String,
    /// The event, without its evidence.
    pub chapter: Chapter,
    /// The promise and the answer of this URL.
    pub evidence: Evidence,
}

/// An incident as messages tell it: without muted URLs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DeliveredIncident {
    /// No URL was ever muted.
    #[default]
    Whole,
    /// All URLs are muted, or were until the end.
    Nothing,
    /// Some URLs were muted: the incident of the others.
    Part(Box<Incident>),
}

/// The result of a URL in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SeenResult {
    /// As promised, in each request.
    Kept,
    /// Not as promised, in at least one request.
    Broken,
    /// The run has no result.
    None,
}

/// The last results of a flapping URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Flapping {
    /// The last run with a result saw the URL as promised, in each request.
    pub is_good: bool,
    /// Number of runs in a row with this result.
    pub runs: u32,
    /// When the first of these runs began.
    pub from: Timestamp,
    /// The results of the last runs that asked the URL, since it began to flap: at most 15, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<SeenResult>,
}
