//! Incidents, as reports contain them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::Shown;

use crate::affected::AffectedUrl;
use crate::difference::{Contents, TextDifference};
use crate::event::{Ack, Because, EventKind};
use crate::explanation::Explanation;
use crate::notice::{CertificateDates, Notice, NoticeKind};
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
    /// The news of the incident.
    pub phase: Phase,
    /// The host that was asked; an alias, if the URLs of an alias fail.
    pub host: String,
    /// The address to which `map` sends the requests of this run for the host, as curl takes it behind `--connect-to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The state of the affected URLs.
    pub state: State,
    /// The text of the reason, such as `dns`, if the reason is a part of the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The target of the redirect, if all affected URLs redirect to one target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Shown>,
    /// When the first affected URL was first seen in the state.
    pub since: Timestamp,
    /// The id of the run that opened the incident. Empty for a group that is no incident.
    pub opened_by: String,
    /// When that run began; absent for a group that is no incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<Timestamp>,
    /// When all URLs had recovered, had been accepted or removed. Absent while the incident is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<Timestamp>,
    /// The id of the incident with the same key that took over its URLs, after branches were merged
    /// that had both opened one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<String>,
    /// The start of the last run that saw the URLs as promised; absent if unknown, and if it is not the same for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Timestamp>,
    /// Number of consecutive runs that have seen the cause, this one included; 0 if unknown.
    #[serde(default)]
    pub runs: u32,
    /// Number of URLs of this host in the database.
    pub host_urls: u64,
    /// The affected URLs, and those that have left since the incident opened last. Sorted by file, line and URL.
    pub urls: Vec<AffectedUrl>,
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
    /// Its events, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chapters: Vec<Chapter>,
    /// The notice that the incident is, or began as: of a notice, no URL is affected, and its state is `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Notice>,
    /// The acknowledgement that holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<Ack>,
    /// The news is held back: only what shows the present has it, such as the body of an issue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

/// An event of an incident, as far as it is about the URLs of one reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Chapter {
    /// The id of the run.
    pub run: String,
    /// When that run began.
    pub at: Timestamp,
    /// The kind of event.
    pub event: EventKind,
    /// The state that the URLs have from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The reason of that state, if it is a part of the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The target of the redirect, if the URLs redirect to one target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Shown>,
    /// Why URLs left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// The reader has not heard of the event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// The acknowledgement of `acked` and `ack-ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<Ack>,
    /// The notice, as of this event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Notice>,
    /// Number of URLs that the event is about.
    pub urls: u64,
    /// Number of URLs that are affected after the event.
    pub affected: u64,
    /// The promise and the answer of one of the URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

impl Incident {
    /// Whether the incident is open, and has news that no section holds back.
    pub const fn is_news(&self) -> bool {
        self.phase.is_news() && !self.quiet
    }

    /// An incident without URLs and evidence that no run has named yet.
    pub fn group(phase: Phase, host: String, state: State, since: Timestamp) -> Self {
        Self {
            id: String::new(),
            key: String::new(),
            phase,
            host,
            via: None,
            state,
            reason: None,
            redirect: None,
            since,
            opened_by: String::new(),
            opened: None,
            closed: None,
            merged_into: None,
            last_good: None,
            runs: 0,
            host_urls: 0,
            urls: Vec::new(),
            evidence: Evidence::default(),
            threads: BTreeMap::new(),
            chapters: Vec::new(),
            notice: None,
            ack: None,
            quiet: false,
            reminder: false,
        }
    }

    /// The URLs that are affected after the run.
    pub fn affected(&self) -> impl Iterator<Item = &AffectedUrl> {
        self.urls.iter().filter(|url| url.left.is_none())
    }

    /// The notice, if the incident is one of this kind and no URL is affected.
    pub fn notice_of(&self, kind: NoticeKind) -> Option<&Notice> {
        let notice = self.notice.as_ref().filter(|_| self.is_notice());
        notice.filter(|notice| notice.kind == kind)
    }

    /// Whether its reader has no URL in the incident, and had none.
    pub fn is_about_nothing(&self) -> bool {
        self.urls.is_empty() && self.notice.is_none()
    }

    /// Whether the incident is a notice alone: no URL is affected, and none was.
    pub fn is_notice(&self) -> bool {
        self.notice.is_some() && self.urls.is_empty()
    }

    /// Whether all affected URLs flap.
    pub fn is_flapping(&self) -> bool {
        let mut affected = self.affected().peekable();
        affected.peek().is_some() && affected.all(|url| url.flapping)
    }

    /// Adds what only the run knows: `seen` is the same incident in its report.
    pub fn take_run(&mut self, seen: &Self) {
        self.host_urls = seen.host_urls;
        self.via.clone_from(&seen.via);
        self.runs = seen.runs;
        let is_own = self.urls.iter().any(|url| seen.evidence.is_about(url));
        if is_own && self.state == seen.state {
            self.evidence = seen.evidence.clone();
        }
        self.evidence.tried = seen.evidence.tried;
        let by_url: BTreeMap<_, _> = seen
            .urls
            .iter()
            .map(|url| ((&url.url, &url.request, &url.variant), url))
            .collect();
        for url in &mut self.urls {
            if let Some(seen) = by_url.get(&(&url.url, &url.request, &url.variant)) {
                url.line = seen.line;
                url.not_tried = seen.not_tried;
                url.seen = seen.seen;
                url.breaks.clone_from(&seen.breaks);
            }
        }
    }

    /// Why the incident ended: it recovered if any of its URLs did. Absent while it is open.
    pub fn end(&self) -> Option<Because> {
        let is_closed = self.phase == Phase::Closed && self.merged_into.is_none();
        let mut ends = [Because::Recovered, Because::Removed, Because::Accepted]
            .into_iter()
            .filter(|because| self.left_because(*because) > 0);
        is_closed.then(|| ends.next())?
    }

    /// Number of URLs that have left for this reason.
    pub fn left_because(&self, because: Because) -> u64 {
        self.urls
            .iter()
            .filter(|url| url.left == Some(because))
            .count() as u64
    }

    /// The order of incidents that are equal in what a list is sorted by: host, first URL, state. The id
    /// comes last, since it differs between two runs that see the same.
    pub fn order(&self) -> (&str, Option<&str>, State, &str) {
        let first = self.urls.first().map(|url| url.url.as_str());
        (&self.host, first, self.state, &self.id)
    }

    /// The order of incidents in a report: opened, changed, closed, still open, unconfirmed, unknown; the
    /// most URLs first.
    pub fn importance(&self) -> (u8, std::cmp::Reverse<usize>) {
        (self.phase.rank(), std::cmp::Reverse(self.urls.len()))
    }

    /// Whether the URLs are affected after the run: the incident is open, or `check` has seen it.
    pub fn is_open(&self) -> bool {
        !matches!(
            self.phase,
            Phase::Closed | Phase::Unconfirmed | Phase::Unknown
        )
    }
}

/// The news of an incident: for the report of a run, since the run before; for a message, since the newest one about it
/// that was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It had no URL, and has some. `check`, which keeps no incidents, reports broken URLs in this phase, without an
    /// id.
    Opened,
    /// It has other URLs than before, or the same in another state.
    Changed,
    /// Nothing changed.
    Unchanged,
    /// It had URLs, and has none.
    Closed,
    /// No incident: URLs that failed, which no second run has confirmed yet.
    Unconfirmed,
    /// No incident: URLs that reached no conclusion, such as all URLs while the own network is down.
    Unknown,
}

impl Phase {
    /// The order of phases in a report: new, changed, closed, still open, unconfirmed, unknown.
    pub const fn rank(self) -> u8 {
        match self {
            Self::Opened => 0,
            Self::Changed => 1,
            Self::Closed => 2,
            Self::Unchanged => 3,
            Self::Unconfirmed => 4,
            Self::Unknown => 5,
        }
    }

    /// Whether the incident is open, and something about it is new.
    pub const fn is_news(self) -> bool {
        matches!(self, Self::Opened | Self::Changed)
    }
}

/// The promise of the first affected URL, and the answer that came instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The affected URL that the evidence is about; empty if there is none.
    #[serde(default)]
    pub url: String,
    /// The request headers that tell records of the URL apart, such as `accept: text/turtle`, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<u64>,
    /// Difference between the promised and the observed text; absent unless both bodies are text
    /// that the archive has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<TextDifference>,
    /// The files in the promised and in the observed archive; absent unless both bodies are archives, or compressed
    /// files, that the archive of captures has, and whose comparison is certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
    /// Why the archive does not have the whole observed body; absent if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_archived: Option<Shown>,
    /// `Last-Modified` of the observed body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<Shown>,
    /// The certificate that the server showed, if the cause is about TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateDates>,
    /// Why `urldb accept` refuses to promise what came; absent if nothing speaks against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Shown>,
    /// The fact behind the failures of this and other URLs; absent if none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Box<Explanation>>,
}

impl Evidence {
    /// Whether the evidence is about this URL.
    pub fn is_about(&self, url: &AffectedUrl) -> bool {
        self.url == url.url && self.variant == url.variant
    }
}
