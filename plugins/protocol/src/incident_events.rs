//! The events of incidents with evidence, as pages of the status site show them.

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
