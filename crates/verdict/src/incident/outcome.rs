//! The outcome of a run for one URL.

use std::sync::Arc;

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Evidence, Reason, Shown, State};

use super::cause::{Cause, telling_redirect};
use super::event::{Joining, MemberKey};
use super::flapping::{RunResult, is_flapping};
use crate::status::UrlStatus;

/// The outcome of a run for one URL.
#[derive(Debug, Clone)]
pub struct UrlOutcome {
    /// The key of the URL as a member.
    pub key: MemberKey,
    /// The domain and the path of its record.
    pub record: (Arc<str>, String),
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: Arc<str>,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// The categories of its record.
    pub categories: Arc<[String]>,
    /// The owner of the record, by `[owners]` of urldb.toml.
    pub owner: Option<String>,
    /// The host that was asked.
    pub host: String,
    /// The record's `mute-until` is in the future.
    pub muted: bool,
    /// The promise of the record as one text, by which a later run sees that people changed it.
    pub promise: String,
    /// When a run first saw the URL, before this one.
    pub known_since: Option<Timestamp>,
    /// The URL was as promised before the run.
    pub was_good: bool,
    /// The status after the run.
    pub status: UrlStatus,
    /// The result; absent if the run learned nothing about the URL.
    pub result: Option<RunResult>,
    /// The ids of the runs of the last breaks, at most ten, oldest first; this run included.
    pub breaks: Vec<String>,
    /// The state in this run.
    pub seen: State,
    /// The reason in this run.
    pub seen_reason: Option<String>,
    /// The target of the redirect that brought about the state in this run.
    pub redirect: Option<Shown>,
    /// The promise and the answer. Not every URL has them.
    pub evidence: Option<Box<Evidence>>,
}

impl UrlOutcome {
    /// Whether the URL is confirmed to be not as promised.
    pub(super) fn is_believed(&self) -> bool {
        self.status.state != State::Ok
    }

    /// Whether the URL flaps after the run that began at this time.
    pub(super) fn flaps(&self, started: Timestamp) -> bool {
        is_flapping(&self.breaks, started)
    }

    /// Whether the URL was not tried, because its host did not answer.
    pub(super) fn is_not_tried(&self) -> bool {
        self.seen == State::Inconclusive
            && self.seen_reason.as_deref() == Some(Reason::HostSilent.as_str())
    }

    /// Whether the host did not answer, as far as this URL shows.
    pub(super) fn is_silent(&self) -> bool {
        self.is_not_tried() || self.seen_cause().is_silence()
    }

    /// Whether the run saw a state that no second run has confirmed.
    pub(super) fn is_doubted(&self) -> bool {
        let pending = self.status.pending.as_ref();
        pending.is_some_and(|pending| pending.state == self.seen)
    }

    /// The confirmed cause. The redirect belongs to it only if this run saw the confirmed state.
    pub fn cause(&self) -> Cause {
        let status = &self.status;
        let is_current = self.seen == status.state;
        Cause::new(status.state, status.reason.as_deref())
            .with_redirect(self.telling_redirect().filter(|_| is_current))
    }

    /// The cause that this run saw.
    pub fn seen_cause(&self) -> Cause {
        Cause::new(self.seen, self.seen_reason.as_deref()).with_redirect(self.telling_redirect())
    }

    fn telling_redirect(&self) -> Option<Shown> {
        telling_redirect(&self.key.url, self.redirect.as_ref()?)
    }

    /// When the present trouble was first seen.
    pub fn since(&self) -> Timestamp {
        let pending = self.status.pending.as_ref();
        match self.status.state {
            State::Ok => pending.map_or(self.status.since, |pending| pending.first),
            _ => self.status.since,
        }
    }

    /// The facts of a URL that joins an incident.
    pub(super) fn joining(&self, since: Timestamp, last_good: Option<Timestamp>) -> Joining {
        Joining {
            file: self.file.to_string(),
            line: self.line,
            categories: self.categories.to_vec(),
            owner: self.owner.clone(),
            promise: self.promise.clone(),
            since,
            // Runs may be within one second.
            last_good: last_good.filter(|last_good| *last_good <= since),
        }
    }

    /// The URL as a report has it.
    pub fn affected(&self) -> AffectedUrl {
        AffectedUrl {
            file: self.file.to_string(),
            line: self.line,
            request: self.key.request.clone(),
            variant: self.key.variant.clone(),
            categories: self.categories.to_vec(),
            not_tried: self.is_not_tried(),
            muted: self.muted,
            ..AffectedUrl::of(&self.key.url)
        }
    }
}
