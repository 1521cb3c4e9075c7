//! The content of the ledger: made of a response, and taken for the original of a revisit.

use anyhow::Context;
use urldb_verdict::Hop;
use urldb_warc::Digest;
use urldb_warc::draft::OriginalCapture;

use crate::ledger::{Capture, Content};

/// The content for the ledger, of the last response.
pub(super) fn content_of(hop: &Hop, digest: String, capture: Option<Capture>) -> Content {
    Content {
        digest,
        etag: hop.header("etag").map(str::to_owned),
        last_modified: hop.header("last-modified").map(str::to_owned),
        fits: None,
        redirects: None,
        capture,
        lost: None,
    }
}

/// The message about a capture of the ledger that cannot be used.
pub(super) const BAD_LEDGER: &str = "the ledger names a capture in a way that is not valid";

/// The capture of the ledger, for a revisit of it.
pub(super) fn original(capture: &Capture, digest: &Digest) -> anyhow::Result<OriginalCapture> {
    let payload_digest = match &capture.digest {
        Some(digest) => digest.parse().context(BAD_LEDGER)?,
        None => digest.clone(),
    };
    Ok(OriginalCapture {
        record_id: capture.record.parse().context(BAD_LEDGER)?,
        target_uri: capture.uri.clone(),
        date: capture.date.parse().context(BAD_LEDGER)?,
        payload_digest,
    })
}
