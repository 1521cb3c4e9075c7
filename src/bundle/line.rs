//! A line of a bundle: the observations of one job, and its captures.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::redact;
use urldb_verdict::{Failure, JobKey, Observation};

use crate::ledger::{Archived, BadResponse, Content, JobRecord, KnownCaptures, KnownOrigins};

/// The observations of one job in a shard, and its captures.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleLine {
    /// Identifies the job.
    pub key: JobKey,
    /// When the job was archived, in whole seconds.
    pub at: Timestamp,
    /// All observations of the job, oldest first.
    pub observations: Vec<Observation>,
    /// The content for the ledger.
    #[serde(default, skip_serializing_if = "Captured::is_unchanged")]
    pub content: Captured<Content>,
    /// The error page or incomplete body for the ledger.
    #[serde(default, skip_serializing_if = "Captured::is_unchanged")]
    pub bad_response: Captured<BadResponse>,
    /// The error of the archive, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Why the archive does not have the observed body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_archived: Option<String>,
    /// New records about the hosts of the captures.
    #[serde(default, skip_serializing_if = "KnownOrigins::is_empty")]
    pub origins: KnownOrigins,
}

/// A fact of the ledger after a shard, compared with the ledger before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Captured<T> {
    /// As in the ledger.
    #[default]
    Unchanged,
    /// None any more.
    Nothing,
    /// Another one.
    New(T),
}

impl<T: PartialEq> Captured<T> {
    /// Compares a fact with that of the ledger.
    pub fn of(before: Option<&T>, after: Option<T>) -> Self {
        match after {
            after if after.as_ref() == before => Self::Unchanged,
            None => Self::Nothing,
            Some(after) => Self::New(after),
        }
    }
}

impl<T> Captured<T> {
    /// The fact, where the ledger has `before`.
    pub fn after(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Unchanged => before,
            Self::Nothing => None,
            Self::New(after) => Some(after),
        }
    }

    fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }
}

impl BundleLine {
    /// The line of a record, where the ledger has `known`. The collecting run makes the verdict again.
    pub fn new(record: JobRecord, known: &KnownCaptures) -> Self {
        let JobRecord {
            judged,
            at,
            archived,
        } = record;
        let KnownCaptures {
            content,
            bad_response,
        } = archived.captures;
        Self {
            key: judged.job.key,
            at,
            observations: judged.observations,
            content: Captured::of(known.content.as_ref(), content),
            bad_response: Captured::of(known.bad_response.as_ref(), bad_response),
            trouble: archived.error,
            not_archived: archived.not_archived,
            origins: archived.origins,
        }
    }

    /// When the job was archived, its observations, and the result of archiving, where the ledger has
    /// `known`.
    pub fn into_archived(self, known: KnownCaptures) -> (Timestamp, Vec<Observation>, Archived) {
        let archived = Archived {
            captures: KnownCaptures {
                content: self.content.after(known.content),
                bad_response: self.bad_response.after(known.bad_response),
            },
            error: self.trouble,
            not_archived: self.not_archived,
            origins: self.origins,
        };
        (self.at, self.observations, archived)
    }

    /// Redacts secrets wherever a server may have written them: the collecting run may not know them.
    pub(super) fn redact(&mut self) {
        for seen in &mut self.observations {
            let Observation {
                hops,
                body,
                start,
                page,
                failure,
                ..
            } = seen;
            for hop in hops {
                redact_text(&mut hop.url);
                redact_text(&mut hop.reason_phrase);
                for (_, value) in &mut hop.headers {
                    redact_bytes(value);
                }
            }
            redact_bytes(start);
            if let Some(page) = page {
                redact_bytes(page);
            }
            let cut = body.as_mut().and_then(|body| body.cut.as_mut());
            for Failure { detail, .. } in failure.iter_mut().chain(cut) {
                redact_text(detail);
            }
        }
        for text in [&mut self.trouble, &mut self.not_archived]
            .into_iter()
            .flatten()
        {
            redact_text(text);
        }
    }

    /// The names of the WARC files that the line refers to, besides those of the ledger.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        let content = match &self.content {
            Captured::New(content) => content.capture.as_ref().map(|it| it.file.as_str()),
            _ => None,
        };
        let bad = match &self.bad_response {
            Captured::New(bad) => Some(bad.file.as_str()),
            _ => None,
        };
        content.into_iter().chain(bad)
    }
}

fn redact_text(text: &mut String) {
    if let Cow::Owned(redacted) = redact(text) {
        *text = redacted;
    }
}

fn redact_bytes(bytes: &mut Vec<u8>) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Cow::Owned(redacted) = redact(text)
    {
        *bytes = redacted.into_bytes();
    }
}
