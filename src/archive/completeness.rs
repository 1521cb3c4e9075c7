//! Whether a response is complete, and whether the archive has all of its body.

use std::fmt;

use urldb_verdict::{
    Body, BodyEnd, BodyUse, Failure, FailureKind, Job, Keep, Observation, is_proven,
};
use urldb_warc::draft::TruncationReason;

/// Most different error pages and incomplete bodies of a URL that are archived while its state lasts.
/// Many servers write a new number into each error page.
pub(super) const MAX_BAD_RESPONSES: u64 = 8;

/// Why the archive does not have the whole body of an observation.
#[derive(Debug)]
pub(super) enum Missing {
    /// Only the beginning of the body was read.
    Rest(String),
    /// The folder of temporary files had no room for the body.
    Room,
    /// The body was not kept: it is not small, and was not fetched again.
    NotKept,
    /// Enough other error pages and incomplete bodies of the same state are archived.
    Enough,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rest(cause) => f.write_str(cause),
            Self::Room => {
                f.write_str("there was no room for its body in the folder of temporary files")
            }
            Self::NotKept => f.write_str(
                "its body is too large to be kept at the first fetch, and there was no second one",
            ),
            Self::Enough => write!(
                f,
                "{MAX_BAD_RESPONSES} other error pages or incomplete bodies of this URL are \
                 archived since it came into this state"
            ),
        }
    }
}

/// Whether the last response has a content: it is complete and 2xx, or the digest proves its bytes, or
/// it is a 304. All other responses are error pages or incomplete.
pub fn is_good(job: &Job, seen: &Observation) -> bool {
    seen.is_whole() || seen.is_not_modified() || is_proven(&job.promise, seen)
}

/// Why the archive can have only the beginning of this body, if so.
pub(super) fn missing_rest(seen: &Observation) -> Option<Missing> {
    let body = seen.body.as_ref()?;
    let (_, cause) = truncation(body, seen.failure.as_ref())?;
    Some(Missing::Rest(cause))
}

/// The part of a body that the archive lacks after the capture; `rest` is lacking if the body was kept.
pub(super) fn missing_of(job: &Job, body: &Body, rest: Option<Missing>) -> Option<Missing> {
    match job.body {
        _ if body.bytes.is_some() => rest,
        BodyUse::Hash {
            keep: Keep::Everything,
            ..
        } => Some(Missing::Room),
        _ => Some(Missing::NotKept),
    }
}

/// Why a body is not whole: for its record, and for people.
pub(super) fn truncation(
    body: &Body,
    failure: Option<&Failure>,
) -> Option<(TruncationReason, String)> {
    let failure = match body.end {
        BodyEnd::Complete => return None,
        BodyEnd::Cut => body.cut.as_ref(),
        BodyEnd::Broken => failure,
    };
    let reason = match failure.map(|failure| failure.kind) {
        None if body.end == BodyEnd::Cut => TruncationReason::Length,
        Some(FailureKind::Timeout) => TruncationReason::Time,
        Some(FailureKind::RunEnded) => TruncationReason::Unspecified,
        _ => TruncationReason::Disconnect,
    };
    let cause = match failure {
        Some(failure) => failure.detail.as_str(),
        None if body.end == BodyEnd::Cut => "more is not read (max-capture, max-body)",
        None => "the connection was lost",
    };
    let length = body.length;
    Some((reason, format!("only its first {length} bytes: {cause}")))
}
