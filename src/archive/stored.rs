//! The result of archiving one observation, for the ledger.

use urldb_verdict::Observation;

use super::completeness::{MAX_BAD_RESPONSES, Missing, missing_rest};
use crate::ledger::{Archived, BadResponse, Content, KnownCaptures};

/// The result for this content; without one, the ledger's content stays. `missing` says why the archive does not have
/// the whole body.
pub(super) fn archived(content: Option<Content>, missing: Option<&Missing>) -> Archived {
    let failure = missing.filter(|missing| matches!(missing, Missing::Room));
    Archived {
        captures: KnownCaptures {
            content,
            bad_response: None,
        },
        error: failure.map(ToString::to_string),
        not_archived: missing.map(ToString::to_string),
        ..Archived::default()
    }
}

/// The result for a response like the error page or incomplete body that was archived last, or after too
/// many different ones. `None` if the response is to be archived.
pub(super) fn known_bad_response(
    digest: Option<&str>,
    known: Option<&BadResponse>,
    seen: &Observation,
) -> Option<Archived> {
    let (digest, known) = (digest?, known?);
    let is_archived = known.digest == digest;
    if !is_archived && known.count < MAX_BAD_RESPONSES {
        return None;
    }
    let missing = if is_archived {
        missing_rest(seen)
    } else {
        Some(Missing::Enough)
    };
    let mut result = archived(None, missing.as_ref());
    result.captures.bad_response = Some(known.clone());
    Some(result)
}
