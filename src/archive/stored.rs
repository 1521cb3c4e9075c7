//! The result of archiving one observation, for the ledger.

use urldb_verdict::Observation;

use super::completeness::{MAX_BAD_RESPONSES, Missing, missing_rest};
use crate::ledger::{BadResponse, Content, KnownOrigins};

/// The result of archiving one observation.
#[derive(Debug, Default)]
pub struct Stored {
    /// The content for the ledger; `None` if the ledger's entry stays.
    pub content: Option<Content>,
    /// The error page or incomplete body for the ledger; `None` if a good response came after it.
    pub bad_response: Option<BadResponse>,
    /// Why the archive does not have the whole body; `None` if it has, or if there was no body.
    pub missing: Option<Missing>,
    /// The new records about the hosts of the captures, for the ledger.
    pub origins: KnownOrigins,
}

/// The result for a response like the error page or incomplete body that was archived last, or after too
/// many different ones. `None` if the response is to be archived.
pub(super) fn known_bad_response(
    digest: Option<&str>,
    known: Option<&BadResponse>,
    seen: &Observation,
) -> Option<Stored> {
    let (digest, known) = (digest?, known?);
    let is_archived = known.digest == digest;
    if !is_archived && known.count < MAX_BAD_RESPONSES {
        return None;
    }
    Some(Stored {
        content: None,
        bad_response: Some(known.clone()),
        missing: if is_archived {
            missing_rest(seen)
        } else {
            Some(Missing::Enough)
        },
        ..Stored::default()
    })
}
