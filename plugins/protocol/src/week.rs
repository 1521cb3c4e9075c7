//! The facts of a weekly report.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::incident::Incident;
use crate::waiting::WaitingMessages;

/// The week before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Week {
    /// The begin of the week, which ends with the start of the run.
    pub from: Timestamp,
    /// Number of runs in the week, this one included.
    pub runs: u64,
    /// Number of those that asked all their URLs, and got an answer of at least one.
    pub complete: u64,
    /// The incidents that were closed in the week.
    pub closed: Vec<Incident>,
    /// The messages of other notifiers that wait.
    pub waiting: Vec<WaitingMessages>,
}
