//! The overview: the state of all promises between runs, as `status` and the site show it.
//!
//! The overview is data only. It comes from the domain files, the ledger, the history, the archive's
//! index and git, never from one run alone.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use urldb_text::Shown;

use crate::archived::{CaptureInfo, StoredCopies};
use crate::counts::Counts;
use crate::finding::{Finding, Mistake, UrlCopies};
use crate::incident::{Chapter, Incident};
use crate::incident_events::{DeliveredIncident, UrlEvidence};
use crate::notice::CertificateDates;
use crate::promise::Promised;
use crate::runs::{ImpairedRun, RunCounts, RunSummary};
use crate::state::State;
use crate::uses::UrlUses;
use crate::waiting::WaitingMessages;

/// The state of all promises.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// The project, as reports name it.
    pub project: ProjectInfo,
    /// The version of urldb that built the overview.
    pub version: String,
    /// When the overview was built.
    pub now: Timestamp,
    /// The latest run that reached a conclusion, at a time that is known; absent before the first one.
    pub last_run: Option<RunSummary>,
    /// The latest such run over the whole database.
    pub last_complete: Option<RunSummary>,
    /// The latest run over at least half of the database, if it had a result for fewer than half of its URLs. It counts
    /// neither as the last run nor as a check of a URL.
    pub impaired: Option<ImpairedRun>,
    /// Later runs over a part of the database, oldest first.
    pub since_complete: Vec<RunSummary>,
    /// Counts of URLs over the whole database. A URL that was never checked is unknown.
    pub counts: Counts,
    /// Counts of static URLs.
    pub files: FileCounts,
    /// Number of records that runs do not ask for, because they are deprecated.
    pub deprecated: u64,
    /// URIs that the database holds and no run checks, by their kind: a scheme, `port`, `ipv6` or `other`.
    pub held: BTreeMap<String, u64>,
    /// The open incidents: the latest first, then those with the most URLs.
    pub open: Vec<IncidentOverview>,
    /// The notices that hold, the latest first: dangers to promises that are kept.
    pub notices: Vec<IncidentOverview>,
    /// The closed incidents and notices, the latest end first. Merged ones are left out.
    pub closed: Vec<IncidentOverview>,
    /// Mistakes in domain files.
    pub mistakes: Vec<Mistake>,
    /// Kept promises with a remark: URLs that fail often, certificates that expire soon.
    pub warnings: Vec<Finding>,
    /// The hosts that have domain files, sorted by name.
    pub hosts: Vec<HostOverview>,
    /// The last 365 days of the whole database, oldest first.
    pub days: Vec<DayCount>,
    /// The runs of the last year.
    pub runs: RunCounts,
    /// Hours after the last run from which on the overview is out of date.
    pub stale_after: u64,
    /// The latest time of a run that lies in the future: its clock was wrong, and no other time comes from
    /// it.
    pub future_run: Option<Timestamp>,
    /// The places in lists that use affected URLs, by the URL.
    pub used: BTreeMap<String, UrlUses>,
    /// The notifiers with messages that are not delivered. They are in the outbox, of which the caller
    /// knows.
    pub waiting: Vec<WaitingMessages>,
    /// The faults of the archive as a whole, a sentence for each: those that the last checks of its places found, or
    /// without places, those that this machine knows.
    pub archive_faults: Vec<String>,
}

impl Overview {
    /// The incidents and notices, open ones first.
    pub fn all_incidents(&self) -> impl Iterator<Item = &IncidentOverview> + Clone {
        self.open.iter().chain(&self.notices).chain(&self.closed)
    }
}

/// The project that an overview is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ProjectInfo {
    /// `name` of `[project]`, or the name of the repository.
    pub name: String,
    /// The address of the repository for people, without credentials and without a final `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The address of the status site, without a final `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site_url: Option<String>,
    /// The commit that is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Counts of static URLs: those whose bytes are promised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileCounts {
    /// All of them.
    pub all: u64,
    /// Those whose bytes were read in full and found as promised within seven days before the last run.
    pub verified: u64,
    /// Those whose promised bytes the archive has, as far as the ledger knows.
    pub archived: u64,
    /// By the age of the last verification: up to 1 day, 7 days, 30 days, older, never verified.
    pub ages: [u64; 5],
}

/// An incident, and what the ledger knows beside its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentOverview {
    /// The incident. Its phase is `Unchanged`, or `Closed`.
    pub incident: Incident,
    /// The host whose domain file has the first affected URL: another than that of the incident, if
    /// URLs of an alias fail.
    pub domain: String,
    /// The reason of the URL that the evidence is about.
    pub reason: Option<String>,
    /// The incident as messages tell it.
    pub delivered: DeliveredIncident,
    /// The other URLs that serve the bytes of the only affected URL, if the incident is open and a digest is promised.
    pub copies: Option<UrlCopies>,
}

/// The promises of one domain file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct HostOverview {
    /// The host that the file is named after.
    pub host: String,
    /// The domain file, relative to the root of the repository, with `/`.
    pub file: String,
    /// Counts of its URLs, warnings and mistakes.
    pub counts: Counts,
    /// URLs of open incidents.
    pub in_incidents: u64,
    /// Counts of static URLs.
    pub files: FileCounts,
    /// When the URL that was checked last was checked; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Timestamp>,
    /// When the URL whose last check is the oldest was checked; absent if one was never checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_checked: Option<Timestamp>,
    /// When a static URL was verified last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Timestamp>,
    /// Number of static URLs that were not verified then.
    pub verified_without: u64,
    /// The oldest of the last verifications of its static URLs; absent if one was never verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_verified: Option<Timestamp>,
    /// When urldb first saw a URL of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_since: Option<Timestamp>,
    /// The dates of the certificate that the host showed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateDates>,
    /// The ids of the open incidents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<String>,
    /// The last 365 days, oldest first.
    #[serde(skip)]
    pub days: Vec<Day>,
}

/// A day of one host, in UTC: as bad as its worst run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// The date.
    pub date: Date,
    /// The state of the host on that day.
    pub level: DayLevel,
    /// The largest number of affected URLs, as far as incidents are known.
    pub affected: u64,
}

/// The state of a host on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DayLevel {
    /// No URL of the host was promised yet, or nothing is known of the day.
    Blank,
    /// No run checked the host.
    NoRun,
    /// All promises were kept.
    Kept,
    /// No incident was open, but a URL failed without being confirmed.
    Doubt,
    /// Some URLs were affected.
    Part,
    /// All URLs were affected.
    All,
}

/// A day of the whole database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayCount {
    /// The date.
    pub date: Date,
    /// Number of URLs that were promised; 0 if nothing is known of the day.
    pub promised: u64,
    /// The largest number of affected URLs.
    pub affected: u64,
    /// Whether a run reached a conclusion.
    pub has_run: bool,
}

/// The condition of one URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UrlCondition {
    /// An open incident affects the URL, or its promise is confirmed to be broken.
    Affected,
    /// The URL failed, and no second run has confirmed the failure yet.
    Unconfirmed,
    /// The URL was never checked, or nothing is known about it.
    Unknown,
    /// The URL is ok.
    Kept,
}

/// One URL and its promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UrlOverview {
    /// The URL.
    pub url: String,
    /// The host that its domain file is named after.
    pub host: String,
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// The `_path` of the record.
    pub path: String,
    /// The canonical request, if it is not a plain GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The places in lists that use the URL.
    #[serde(flatten)]
    pub uses: UrlUses,
    /// The request headers that tell records of the URL apart, such as `accept: text/turtle`, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The categories of the record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The promise of the record.
    pub promised: Promised,
    /// The condition of the URL.
    pub condition: UrlCondition,
    /// The confirmed state; absent if the URL was never checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The text of the reason of that state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When that state was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Another state that the last run saw, and that is not confirmed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<State>,
    /// When the doubt began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_since: Option<Timestamp>,
    /// When urldb first saw the URL, or the earliest time from which on its state is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_since: Option<Timestamp>,
    /// The start of the last run that checked the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Timestamp>,
    /// The start of the last run that read all bytes and found them as promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Timestamp>,
    /// The start of the first of these runs after which each run that read all bytes found them as promised;
    /// absent if the last one did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_since: Option<Timestamp>,
    /// The full capture of the content that was seen last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureInfo>,
    /// Whether the archive has the promised content: that one, or an earlier one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_archived: bool,
    /// Since when the archive has lost the content that was seen last, and has not captured it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Timestamp>,
    /// The copies of the file with that capture; absent before the first check of the archive's places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredCopies>,
    /// The id of the open incident that affects the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// In how many of how many last runs the URL failed without being confirmed; absent if in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<(u64, u64)>,
    /// The URL flaps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flapping: bool,
    /// The record's `mute-until` is in the future: nobody is notified about the URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub muted: bool,
}

impl UrlOverview {
    /// Whether the record promises bytes.
    pub fn is_static(&self) -> bool {
        self.promised.is_static()
    }
}

/// Facts on the page of one URL beside its [`UrlOverview`]. None of them depends on a run that finds
/// everything as before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UrlDetails {
    /// The events of its incidents that are about the URL, oldest first.
    pub chapters: Vec<Chapter>,
    /// The ids of the incidents that have affected the URL.
    pub incidents: Vec<String>,
    /// The full captures of the URL, the latest first.
    pub captures: Vec<CaptureInfo>,
    /// Number of earlier full captures that are not among them.
    pub more_captures: u64,
    /// The server that answered the last captures of the URL's host.
    pub origins: Vec<OriginInfo>,
    /// The latest event of an incident that has evidence of the URL.
    pub evidence: Option<Box<UrlEvidence>>,
}

/// The server that answered the last captures of a host: the addresses that the resolver gave, or the server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginInfo {
    /// The URI of the record in the archive: `dns:HOST` or `tls:HOST:PORT`.
    pub uri: Shown,
    /// Its statement, for people.
    pub text: Shown,
    /// Since when captures show it.
    pub since: Timestamp,
}
