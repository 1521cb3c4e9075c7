//! The outcome of one URL in a run.

use std::sync::Arc;

use urldb_protocol::{AffectedUrl, Evidence, Reason, Shown, State};

use super::cause::{Cause, telling_redirect};
use crate::status::UrlStatus;

/// The outcome of one URL in a run, and the believed state after the run.
#[derive(Debug, Clone)]
pub struct UrlOutcome {
    /// The URL.
    pub url: String,
    /// The canonical request, if it is not a plain GET.
    pub request: Option<String>,
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: Arc<str>,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// The categories of its record.
    pub categories: Arc<[String]>,
    /// The host that was asked; an alias, if the request went there.
    pub host: String,
    /// The URL is muted: no notifier names it.
    pub muted: bool,
    /// The URL status after the run.
    pub status: UrlStatus,
    /// Whether this run changed the believed state.
    pub is_news: bool,
    /// The state that this run saw.
    pub seen: State,
    /// The text of its reason.
    pub seen_reason: Option<String>,
    /// The target of the last redirect, if there was one.
    pub redirect: Option<Shown>,
    /// Whether the URL is as promised because people changed the promise.
    pub is_accepted: bool,
    /// The evidence of this run, for the incident whose first URL this is.
    pub evidence: Option<Box<Evidence>>,
}

/// Why a URL is no longer affected by an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftBecause {
    /// The URL is as promised again.
    Recovered,
    /// People changed the promise, or removed the record.
    PromiseChanged,
    /// Another state is believed now, so that another incident has the URL.
    OtherState,
}

impl UrlOutcome {
    /// Whether a state other than `ok` is believed.
    pub(super) fn is_believed(&self) -> bool {
        self.status.state != State::Ok
    }

    /// Whether the run did not try the URL, because its host was silent.
    pub(super) fn is_not_tried(&self) -> bool {
        self.seen == State::Inconclusive
            && self.seen_reason.as_deref() == Some(Reason::HostSilent.as_str())
    }

    /// Whether the run saw the doubt that is pending: the URL failed, and the failure is not believed
    /// yet.
    pub(super) fn is_doubted(&self) -> bool {
        let pending = self.status.pending.as_ref();
        pending.is_some_and(|pending| pending.state == self.seen)
    }

    /// The cause of the believed state, with the redirect of this URL alone.
    pub(super) fn cause(&self) -> Cause {
        let status = &self.status;
        let is_current = self.seen == status.state;
        let cause = Cause::new(status.state, status.reason.as_deref());
        cause.with_redirect(self.telling_redirect().filter(|_| is_current))
    }

    /// The cause of the state that the run saw, with the redirect of this URL alone.
    pub(super) fn seen_cause(&self) -> Cause {
        let cause = Cause::new(self.seen, self.seen_reason.as_deref());
        cause.with_redirect(self.telling_redirect())
    }

    fn telling_redirect(&self) -> Option<Shown> {
        telling_redirect(&self.url, self.redirect.as_ref()?)
    }

    pub(super) fn affected(&self) -> AffectedUrl {
        AffectedUrl {
            url: self.url.clone(),
            file: self.file.to_string(),
            line: self.line,
            request: self.request.clone(),
            categories: self.categories.to_vec(),
            new: false,
            not_tried: self.is_not_tried(),
            muted: self.muted,
            left: false,
        }
    }
}
