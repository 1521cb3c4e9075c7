//! The status as data for programs: `urldb status --format json`, and status.json of the site.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::{
    Counts, FileCounts, Finding, HostOverview, ImpairedRun, IncidentOverview, Mistake, Overview,
    PROTOCOL, ProjectInfo, RunSummary, State, UrlOverview, WaitingMessages,
};

use super::titles::Titles;

/// The status of the promises as one JSON document, of `urldb status --format json` and of the site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct StatusDocument {
    /// The protocol number, as in an envelope. Within one number the document only gains fields.
    pub protocol: u32,
    /// The project.
    pub project: ProjectInfo,
    /// The start of the last run; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// Hours after the last run from which on the document is out of date.
    pub stale_after_hours: u64,
    /// The latest time of a run that lies in the future: its clock was wrong, and it is no last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub future_run: Option<Timestamp>,
    /// The notifiers with messages that could not be delivered yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<WaitingMessages>,
    /// The faults of the archive as a whole, a sentence for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archive_faults: Vec<String>,
    /// The last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<RunSummary>,
    /// The last run over the whole database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_complete_run: Option<RunSummary>,
    /// The latest run over at least half of the database, if it had a result for fewer than half of its URLs: the
    /// document has the results of the runs before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impaired_run: Option<ImpairedRun>,
    /// Counts of URLs over the whole database.
    pub counts: Counts,
    /// Counts of static URLs.
    pub files: FileCounts,
    /// The open incidents, the latest first.
    pub incidents: Vec<StatusIncident>,
    /// The notices that hold, the latest first: dangers to promises that are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<StatusIncident>,
    /// Mistakes in domain files.
    pub mistakes: Vec<Mistake>,
    /// Kept promises with a remark.
    pub warnings: Vec<Finding>,
    /// The hosts, sorted by name.
    pub hosts: Vec<HostOverview>,
    /// The URLs that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<UrlOverview>,
}

/// An open incident or notice in a [`StatusDocument`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct StatusIncident {
    /// The id.
    pub id: String,
    /// One sentence for people.
    pub title: String,
    /// The host that was asked.
    pub host: String,
    /// The state of the affected URLs.
    pub state: State,
    /// The text of the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the first affected URL was first seen in the state.
    pub since: Timestamp,
    /// When the run that opened the incident began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Timestamp>,
    /// Number of affected URLs.
    pub urls: u64,
}

/// The status as data.
pub fn status_document(overview: &Overview, urls: Vec<UrlOverview>) -> StatusDocument {
    let titles = Titles::new(overview);
    let delivered = |it: &IncidentOverview| {
        let incident = &it.incident;
        StatusIncident {
            id: incident.id.clone(),
            title: titles.of(it).plain(),
            host: incident.host.clone(),
            state: incident.state,
            reason: it.reason.clone(),
            since: incident.since,
            opened: incident.opened,
            urls: incident.affected().count() as u64,
        }
    };
    StatusDocument {
        protocol: PROTOCOL,
        project: overview.project.clone(),
        as_of: overview.last_run.as_ref().map(|run| run.at),
        stale_after_hours: overview.stale_after,
        future_run: overview.future_run,
        undelivered: overview.waiting.clone(),
        archive_faults: overview.archive_faults.clone(),
        last_run: overview.last_run.clone(),
        last_complete_run: overview.last_complete.clone(),
        impaired_run: overview.impaired,
        counts: overview.counts,
        files: overview.files,
        incidents: overview.open.iter().map(delivered).collect(),
        notices: overview.notices.iter().map(delivered).collect(),
        mistakes: overview.mistakes.clone(),
        warnings: overview.warnings.clone(),
        hosts: overview.hosts.clone(),
        urls,
    }
}
