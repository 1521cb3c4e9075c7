//! The events of an incident: what happened to its URLs, run by run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::{Ack, Because, EventKind, Evidence, Notice};

use super::cause::Cause;

/// One incident: its events, and the names by which files and services find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentLog {
    /// Identifies the incident: 8 hexadecimal digits.
    pub id: String,
    /// Identifies its first cause at this host: 16 hexadecimal digits.
    pub key: String,
    /// The host that was asked.
    pub host: String,
    /// The events in the order of the file. Each is later than the ones before, whatever clocks said.
    pub events: Vec<Event>,
}

/// An event of an incident. A run appends at most one of each kind, cause and reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The id of the run, or one of the same form.
    pub id: String,
    /// The kind of event.
    pub event: EventKind,
    /// The cause that the URLs have from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Why URLs left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// No second run has confirmed the cause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// Number of URLs of the host in the database, at an event at which URLs join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_urls: Option<u64>,
    /// The URLs that the event is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<EventUrl>,
    /// Promises and answers of some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The incident whose URLs came with [`EventKind::Grown`] after branches were merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The incident that took over with [`EventKind::Merged`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// The notice, at an event that is about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<Notice>,
    /// The acknowledgement of [`EventKind::Acked`] and [`EventKind::AckEnded`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack: Option<Ack>,
}

/// A URL of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventUrl {
    /// The key of the member.
    #[serde(flatten)]
    pub key: MemberKey,
    /// The facts about a URL that joins.
    #[serde(flatten)]
    pub joining: Option<Joining>,
}

/// The facts about a URL when it joined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joining {
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// The categories of its record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The owner of the record, by `[owners]` of urldb.toml.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The promise that was broken, as one text; empty without a promise beyond an answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub promise: String,
    /// The first run that saw it broken.
    pub since: Timestamp,
    /// The last run before it that saw the URL as promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Timestamp>,
}

/// The URL and the request of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemberKey {
    /// The URL.
    pub url: String,
    /// The canonical request, if it is not a plain GET.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The request headers that tell records of the URL apart, such as `accept: text/turtle`, one a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl Event {
    /// When the run of the event began, by its clock.
    pub fn at(&self) -> Option<Timestamp> {
        time_of(&self.id)
    }
}

impl EventUrl {
    /// A URL of an event at which it does not join.
    pub fn of(key: &MemberKey) -> Self {
        Self {
            key: key.clone(),
            joining: None,
        }
    }
}

/// The time in the id of a run, such as `20261102T041703Z-5de248cc`.
pub fn time_of(run: &str) -> Option<Timestamp> {
    let (time, _) = run.split_once('-')?;
    let is_time = time.len() == 16 && time.is_ascii();
    is_time.then(|| time.parse().ok()).flatten()
}
