//! The envelope: the JSON document that describes one run to notifiers.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::{Severity, Shown, variant_suffix};

use crate::counts::Counts;
use crate::explanation::Explanation;
use crate::finding::{Finding, FixedMistake, Mistake};
use crate::incident::{Incident, Phase};
use crate::notice::{Notice, NoticeKind};
use crate::promise::{Observed, Promised};
use crate::reason::Reason;
use crate::state::State;
use crate::week::Week;
use crate::words::MessageWords;

/// The protocol number. A reader checks this number before any other field of an envelope.
pub const PROTOCOL: u32 = 2;

/// The report of one run, as notifiers get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// [`PROTOCOL`] of the program that wrote the envelope.
    pub protocol: u32,
    /// The message in words. A webhook and a plugin get it; absent in the output of commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<MessageWords>>,
    /// The run that this envelope describes.
    pub run: RunInfo,
    /// The incidents, and the groups that are none: new incidents first, then those that have grown,
    /// have closed and are open, then what is unconfirmed or unknown; within each, those with the most
    /// URLs first, then by host and first URL.
    pub incidents: Vec<Incident>,
    /// Everything that is wrong now, the worst first.
    pub findings: Vec<Finding>,
    /// Facts behind many of the failures that this run saw, by host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<Explanation>,
    /// Mistakes in domain files, because of which records cannot be read or are misunderstood.
    pub mistakes: Vec<Mistake>,
    /// Mistakes that earlier runs found and that are corrected now.
    pub fixed: Vec<FixedMistake>,
    /// Identifies what the report tells: the time of the last event, and a digest. A later run that tells the
    /// same events has the same. Absent for what belongs to this run, such as a reminder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tells: Option<String>,
    /// Why the report arrives late; absent at the first try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// The time from which on the next reminder comes, if this report repeats what is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_reminder: Option<Timestamp>,
    /// The week before the run, if this is a weekly report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub week: Option<Box<Week>>,
    /// The archive files that the run wrote, relative to the root of the repository, with `/`.
    pub archived: Vec<String>,
    /// Totals.
    pub summary: Summary,
}

impl Envelope {
    /// Identifies what the report tells, so that nobody gets it twice.
    pub fn tells(&self) -> &str {
        self.tells.as_deref().unwrap_or(&self.run.id)
    }

    /// Counts what no incident has: URLs that are unconfirmed or without result, warnings about URLs that are as promised,
    /// notices that hold, and mistakes.
    pub fn own_counts(&self) -> Counts {
        let of = |phase| {
            self.incidents
                .iter()
                .filter(|it| it.phase == phase)
                .map(|group| group.urls.len() as u64)
                .sum()
        };
        // Flapping URLs are counted, and a certificate that ends has a notice.
        let counted = ["flapping", "certificate-ends"];
        let warnings = self.findings.iter().filter(|it| {
            let is_good = it.severity == Severity::Warning && it.state == State::Ok;
            is_good && !counted.contains(&&*it.code)
        });
        let notices = self.incidents.iter().filter(|it| {
            it.is_notice() && it.is_open() && it.notice_of(NoticeKind::Mistake).is_none()
        });
        Counts {
            unconfirmed: of(Phase::Unconfirmed),
            unknown: of(Phase::Unknown),
            warnings: (warnings.count() + notices.count()) as u64,
            mistakes: self.mistakes.len() as u64,
            ..Counts::default()
        }
    }

    /// The domain files with a notice about their mistakes, corrected ones included.
    pub fn files_with_notice(&self) -> BTreeSet<&str> {
        self.incidents
            .iter()
            .filter(|it| !it.id.is_empty())
            .filter_map(|it| it.notice_of(NoticeKind::Mistake))
            .map(|notice| notice.file.as_str())
            .collect()
    }

    /// Adds the mistakes of notices about files that the run has not read.
    pub fn add_unread_mistakes(&mut self) {
        for incident in self.incidents.iter().filter(|it| it.is_open()) {
            let notice = incident.notice_of(NoticeKind::Mistake);
            let is_unread = |notice: &&Notice| {
                let mut mistakes = self.mistakes.iter();
                !mistakes.any(|mistake| mistake.file == notice.file)
            };
            if let Some(notice) = notice.filter(is_unread) {
                self.mistakes.extend(notice.mistakes.iter().cloned());
            }
        }
    }

    /// Takes from the notices which mistakes in domain files are news, and which are corrected.
    pub fn take_mistakes_of_notices(&mut self) {
        self.fixed.clear();
        for mistake in &mut self.mistakes {
            mistake.new = false;
        }
        let incidents = self.incidents.iter().filter(|it| !it.id.is_empty());
        for incident in incidents {
            let Some(notice) = incident.notice_of(NoticeKind::Mistake) else {
                continue;
            };
            let is_delivered = incident.phase != Phase::Unchanged && !incident.quiet;
            if is_delivered {
                self.fixed.extend(notice.fixed.iter().cloned());
            }
            let mut news: Vec<&Mistake> = notice
                .mistakes
                .iter()
                .filter(|mistake| mistake.new && is_delivered)
                .collect();
            // The notice lists the first ones only.
            let is_all = incident.phase == Phase::Opened && is_delivered;
            let of_file = self.mistakes.iter_mut().filter(|it| it.file == notice.file);
            for mistake in of_file {
                let is_same =
                    |it: &&Mistake| (&it.code, &it.text) == (&mistake.code, &mistake.text);
                let listed = news.iter().position(is_same);
                mistake.new = is_all || listed.is_some();
                if let Some(index) = listed {
                    news.swap_remove(index);
                }
            }
        }
    }

    /// Number of URLs without a conclusion for one of these reasons.
    pub fn unsure_because(&self, reasons: &[Reason]) -> u64 {
        self.findings
            .iter()
            .filter(|finding| {
                let reason = finding.reason.as_deref();
                let is_one = reasons.iter().any(|it| reason == Some(it.as_str()));
                finding.state.is_unsure() && is_one
            })
            .count() as u64
    }
}

/// One execution of urldb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RunInfo {
    /// Unique and stable: the same report has the same id when it is delivered again.
    pub id: String,
    /// When the run began.
    pub started: Timestamp,
    /// When the last URL was finished.
    pub finished: Timestamp,
    /// The version of urldb.
    pub version: String,
    /// The name of the repository's folder.
    pub repository: String,
    /// The name of the project: `name` of `[project]`, or the name of the repository.
    pub project: String,
    /// The address of the repository for people, without credentials and without a final `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_url: Option<String>,
    /// The address of the status site, without a final `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site_url: Option<String>,
    /// The commit that was checked out when the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The selected part of the database as arguments of the command line, such as `-c core`; absent
    /// if everything was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<String>,
    /// Somebody ended the run early: URLs without a result were not checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// A person asked for this message to test the notifier: the report has no news, and the message
    /// says that it is a test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
}

/// Why a report arrives late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Delay {
    /// The time of the first try.
    pub first_tried: Timestamp,
    /// The time of the last try that failed.
    #[serde(default)]
    pub last_tried: Timestamp,
    /// The time of this try.
    pub now: Timestamp,
    /// The fault of the last try, one sentence without a full stop.
    pub reason: Shown,
}

/// The totals of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Number of URLs in each state; states without URLs are left out.
    pub states: BTreeMap<State, u64>,
    /// Counts of checked URLs and bytes.
    pub coverage: Coverage,
    /// Counts over the whole database, what was not selected included.
    pub counts: Counts,
    /// The same counts of the URLs that the reader of the report is told of; absent if these are all URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Box<Audience>>,
}

/// The URLs that the reader of a report is told of, if these are some of all URLs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Audience {
    /// The common fact about the URLs, as it follows `40 URLs of`: `gaia` (the owner), `data.example.org`,
    /// `category release` or, if there are several facts, `this section`.
    pub name: String,
    /// Counts of the URLs that the filters of the section take, as of the end of the run.
    pub counts: Counts,
    /// Counts of those of them that were due, and of those that were checked.
    pub coverage: Coverage,
}

/// Counts of the URLs that were due, and of those that were checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// URLs that were due.
    pub due: u64,
    /// URLs for which the check reached a conclusion.
    pub checked: u64,
    /// URLs without a conclusion because our own network failed.
    #[serde(default)]
    pub own_network: u64,
    /// Static URLs that were due.
    pub static_due: u64,
    /// Static URLs whose bytes were all compared and are as promised.
    pub static_verified: u64,
    /// Static URLs for which the server answered 304 Not Modified, which `rehash-every` allows on
    /// the days between two full reads.
    pub not_modified: u64,
    /// Records that were not due because they are deprecated.
    pub deprecated: u64,
    /// Records that were not due because they were not selected.
    pub not_selected: u64,
    /// URIs that the database holds and no run checks, by their kind: a scheme, `port`, `ipv6` or `other`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<String, u64>,
    /// Body bytes read and hashed.
    pub bytes: u64,
    /// Wall-clock time, in milliseconds.
    pub milliseconds: u64,
}

/// The result of one job: an element of `results` in `check --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct JobResult {
    /// The URL that was requested.
    pub url: String,
    /// The request headers that tell records of the URL apart, such as `accept: text/turtle`, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The list that uses the URL, or the domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The line in it, counted from 1: the first one of the record.
    pub line: usize,
    /// The request method.
    pub method: String,
    /// The state.
    pub state: State,
    /// The text of the reason, such as `dns` or `digest`; a newer program may have further ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// One sentence for people.
    pub message: Shown,
    /// The promise of the record.
    pub promised: Promised,
    /// The answer to the last attempt.
    pub observed: Observed,
    /// Why a run did not archive the body with the observed length and digest; absent if the archive
    /// has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_archived: Option<Shown>,
    /// Codes of warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Number of requests to the URL.
    pub attempts: usize,
    /// [`Severity`] of the state; absent for `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
}

impl JobResult {
    /// The URL with its variant.
    pub fn name(&self) -> String {
        format!("{}{}", self.url, variant_suffix(self.variant.as_deref()))
    }
}
