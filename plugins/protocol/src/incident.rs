//! Incidents, as reports contain them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::Shown;

use crate::promise::{Observed, Promised};
use crate::state::State;

/// One root cause at one host, and the URLs that it affects, as of the end of the run.
///
/// A report also has the groups of URLs that failed without being confirmed, or that reached no
/// conclusion ([`Phase::Unconfirmed`], [`Phase::Unknown`]). These groups have the shape of an
/// incident, but no id: no later run knows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Incident {
    /// Identifies the incident: 8 hexadecimal digits. Empty for a group that is no incident.
    pub id: String,
    /// Identifies the cause at this host, so that a notifier finds its issue again when the ledger
    /// was lost: 16 hexadecimal digits. Empty for a group that is no incident.
    pub key: String,
    /// The change of the incident in this run.
    pub phase: Phase,
    /// The host that was asked; an alias, if the URLs of an alias fail.
    pub host: String,
    /// The state of the affected URLs.
    pub state: State,
    /// The text of the reason, such as `dns`, if the reason is a part of the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The target of the redirect, if all affected URLs redirect to one target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Shown>,
    /// When the first affected URL was first seen in the state.
    pub since: Timestamp,
    /// The id of the run that opened the incident. Empty for a group that is no incident.
    pub opened_by: String,
    /// When that run began; absent for a group that is no incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Timestamp>,
    /// When all URLs had recovered, had been accepted or removed. Absent while the incident is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Timestamp>,
    /// Why the incident closed. Absent while the incident is open, and if it was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_because: Option<ClosedBecause>,
    /// The id of the incident with the same key that took over its URLs, after branches were merged
    /// that had both opened one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<String>,
    /// The start of the latest run that saw an affected URL as promised; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Timestamp>,
    /// Number of consecutive runs that have seen the cause, this one included; 0 if unknown.
    #[serde(default)]
    pub runs: u32,
    /// Number of URLs of this host in the database.
    pub host_urls: u64,
    /// The affected URLs; those that were affected last if the incident is closed. Sorted by file,
    /// line and URL.
    pub urls: Vec<AffectedUrl>,
    /// Number of URLs that this run added to an incident of an earlier run.
    #[serde(default)]
    pub added: u64,
    /// Number of URLs that have left the incident since it opened.
    #[serde(default)]
    pub left: u64,
    /// The promise and the answer.
    #[serde(default)]
    pub evidence: Evidence,
    /// Facts that each notifier remembers about the incident, such as `message-id` or `issue`, by the
    /// notifier's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub threads: BTreeMap<String, BTreeMap<String, Shown>>,
    /// The notifier repeats what is still open: `remind` of its section has passed since the notifier
    /// last told of the incident.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reminder: bool,
    /// The incident was opened silently: a notifier that has no thread for the incident does not
    /// mention it as news when it closes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
}

impl Incident {
    /// An incident without URLs and evidence that no run has named yet.
    pub fn group(phase: Phase, host: String, state: State, since: Timestamp) -> Self {
        Self {
            id: String::new(),
            key: String::new(),
            phase,
            host,
            state,
            reason: None,
            redirect: None,
            since,
            opened_by: String::new(),
            opened: None,
            closed: None,
            closed_because: None,
            merged_into: None,
            last_good: None,
            runs: 0,
            host_urls: 0,
            urls: Vec::new(),
            added: 0,
            left: 0,
            evidence: Evidence::default(),
            threads: BTreeMap::new(),
            silent: false,
            reminder: false,
        }
    }

    /// The URLs that are affected after the run.
    pub fn affected(&self) -> impl Iterator<Item = &AffectedUrl> {
        self.urls.iter().filter(|url| !url.left)
    }

    /// The order of incidents that are equal in what a list is sorted by: host, first URL, state. The id
    /// comes last, since it differs between two runs that see the same.
    pub fn order(&self) -> (&str, Option<&str>, State, &str) {
        let first = self.urls.first().map(|url| url.url.as_str());
        (&self.host, first, self.state, &self.id)
    }

    /// Whether the URLs are affected after the run: the incident is open, or `check` has seen it.
    pub fn is_open(&self) -> bool {
        matches!(
            self.phase,
            Phase::Opened | Phase::Grown | Phase::Shrunk | Phase::Unchanged
        )
    }
}

/// The change of an incident in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The run opened the incident. `check`, which keeps no incidents, reports broken URLs in this
    /// phase, without an id.
    Opened,
    /// The run added URLs to an open incident.
    Grown,
    /// Some URLs left an open incident, and none were added.
    Shrunk,
    /// The run changed nothing.
    Unchanged,
    /// The run closed the incident.
    Closed,
    /// No incident: URLs that failed, which no second run has confirmed yet.
    Unconfirmed,
    /// No incident: URLs that reached no conclusion, such as all URLs while the own network is down.
    Unknown,
}

/// Why an incident closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClosedBecause {
    /// The URLs are as promised again.
    Recovered,
    /// People changed the promises, or removed the records.
    PromisesChanged,
}

/// A URL of an incident.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a URL, each a field of the report"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AffectedUrl {
    /// The URL.
    pub url: String,
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// The canonical request, if it is not a plain GET.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The categories of its record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// This run added the URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// This run did not ask the URL, because its host was silent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_tried: bool,
    /// The record's `mute-until` is in the future: nobody is notified about the URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub muted: bool,
    /// This run saw the URL as promised again, or its record is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
}

/// The promise of the first affected URL, and the answer that came instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The affected URL that the evidence is about; empty if there is none.
    #[serde(default)]
    pub url: String,
    /// The promise of the record.
    #[serde(default)]
    pub promised: Promised,
    /// The answer to the last attempt.
    #[serde(default)]
    pub observed: Observed,
    /// One sentence about the failure, such as the error of the connection.
    #[serde(default)]
    pub detail: Shown,
    /// Number of requests to the URL in the run.
    #[serde(default)]
    pub requests: u32,
    /// Number of those requests with the same result as the last one.
    #[serde(default)]
    pub agreeing: u32,
    /// Number of affected URLs that the run asked.
    #[serde(default)]
    pub tried: u64,
    /// The first byte in which the bodies differ, counted from 0; absent if the archive does not have
    /// both bodies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<u64>,
    /// Difference between the promised and the observed text; absent unless both bodies are text
    /// that the archive has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextDifference>,
    /// Why the archive does not have the whole observed body; absent if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_archived: Option<Shown>,
    /// `Last-Modified` of the observed body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<Shown>,
    /// The certificate that the server showed, if the cause is about TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateDates>,
    /// Why `urldb accept` refuses to promise what came; absent if nothing speaks against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Shown>,
}

/// The part of a certificate that people look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CertificateDates {
    /// Begin of the validity.
    pub not_before: Timestamp,
    /// End of the validity.
    pub not_after: Timestamp,
    /// The common name of the issuer; empty if it has none.
    #[serde(default)]
    pub issuer: Shown,
}

/// A difference between two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TextDifference {
    /// Number of lines that are only in the observed text.
    pub added: u64,
    /// Number of lines that are only in the promised text.
    pub removed: u64,
    /// The number of lines that both texts begin with, if nothing was removed and all new lines are
    /// at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appended_after: Option<u64>,
    /// At most twenty lines, each beginning with `+`, `-` or a space.
    pub lines: Vec<Shown>,
}
