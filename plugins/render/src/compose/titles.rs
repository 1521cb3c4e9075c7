//! Titles of open incidents and of warnings, without their evidence: for a list.

use jiff::Timestamp;
use urldb_protocol::{Finding, Incident};

use super::causes::{Group, is_muted};
use super::lookup::Lookup;
use super::{blocks, warnings};
use crate::text::Text;

/// The title of incidents with one cause.
pub(crate) struct IncidentTitle {
    /// `docs.example.org answers 404 Not Found (3 of 120 URLs)`.
    pub(crate) title: Text,
    /// When the cause was first seen.
    pub(crate) since: Timestamp,
    /// Nobody is notified about any URL.
    pub(crate) is_muted: bool,
}

/// The titles of open incidents, those with the most URLs first. Several hosts with one cause share one.
pub(crate) fn open_groups(incidents: &[&Incident], lookup: &Lookup<'_>) -> Vec<IncidentTitle> {
    let groups = Group::all(incidents, lookup).into_iter();
    groups
        .map(|group| IncidentTitle {
            title: blocks::title(&group),
            since: group.since(),
            is_muted: group.incidents.iter().all(|incident| is_muted(incident)),
        })
        .collect()
}

/// The titles of warnings, one for each code and host.
pub(crate) fn warning_titles(findings: &[&Finding], lookup: &Lookup<'_>) -> Vec<Text> {
    let blocks = warnings::of_findings(findings, lookup);
    blocks.iter().map(crate::message::Block::title).collect()
}
