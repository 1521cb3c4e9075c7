//! Runs of the past, as overviews count them.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A run of the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// When the run began.
    pub at: Timestamp,
    /// The selected part of the database as arguments of the command line, such as `-c core`; absent
    /// if the run checked everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
    /// Number of URLs that were due.
    pub due: u64,
    /// Number of those that were seen as promised.
    pub ok: u64,
    /// Number of those without a conclusion.
    pub inconclusive: u64,
}

/// A run that had a result for fewer than half of the URLs that were due, whatever the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ImpairedRun {
    /// When the run began.
    pub at: Timestamp,
    /// Number of URLs that were due.
    pub due: u64,
    /// Number of those with a result.
    pub results: u64,
}

/// Runs of the last year that reached a conclusion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RunCounts {
    /// In the last 30 days.
    pub month: u64,
    /// In the last 365 days.
    pub year: u64,
    /// The days without a run that are the most in a row: the first and the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<(String, String)>"))]
    pub longest_gap: Option<(Date, Date)>,
}
