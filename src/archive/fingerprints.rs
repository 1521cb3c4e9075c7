//! Digests that tell whether a response is another one than before.

use sha2::{Digest as _, Sha256};
use urldb_verdict::{Hop, Observation};
use urldb_warc::Digest;

use super::completeness::truncation;

/// The responses before the final one: all of them, without a final one.
pub(super) fn redirects(seen: &Observation) -> &[Hop] {
    match (&seen.body, seen.hops.split_last()) {
        (Some(_), Some((_, redirects))) => redirects,
        _ => &seen.hops,
    }
}

/// A digest of a chain of redirects: URLs, statuses and targets. Bodies and other fields may differ
/// each time.
pub(super) fn fingerprint(redirects: &[Hop]) -> Option<String> {
    let parts = redirects.iter().flat_map(|hop| {
        let location = hop.header("location").unwrap_or_default().to_owned();
        [hop.url.clone(), hop.status.to_string(), location]
    });
    (!redirects.is_empty()).then(|| digest_of(parts))
}

/// A digest of an error page or an incomplete body: its redirects, URL, status and bytes, and the
/// reason why the body is not whole. `None` without a body.
pub(super) fn bad_response_digest(seen: &Observation) -> Option<String> {
    let (hop, body) = (seen.last()?, seen.body.as_ref()?);
    let truncated = truncation(body, seen.failure.as_ref());
    let truncated = truncated.map(|(reason, _)| reason.name().to_owned());
    Some(digest_of([
        fingerprint(redirects(seen)).unwrap_or_default(),
        hop.url.clone(),
        hop.status.to_string(),
        Digest::sha256(body.sha256).to_string(),
        truncated.unwrap_or_default(),
    ]))
}

/// The SHA-256 of texts, each with its length in front.
fn digest_of(parts: impl IntoIterator<Item = String>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Digest::sha256(hasher.finalize().into()).to_string()
}
