//! The events of incidents, with URLs and evidence, as pages of the status site show them.

use crate::event::{Ack, Because};
use crate::incident::{Chapter, Evidence};

/// The events of one incident.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentEvents {
    /// The events, the first one first.
    pub chapters: Vec<ChapterDetails>,
    /// Number of URLs that have left and are not affected now, by the reason.
    pub left: Vec<(Because, u64)>,
}

/// An event of an incident, with a URL and evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChapterDetails {
    /// The event.
    pub chapter: Chapter,
    /// The first URL that the event is about; absent if the event names none.
    pub url: Option<String>,
    /// Promises and answers of some of its URLs, at most five.
    pub evidence: Vec<Evidence>,
    /// The acknowledgement.
    pub ack: Option<Ack>,
    /// The incident that took over.
    pub into: Option<String>,
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
