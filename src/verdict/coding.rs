//! Codings that nobody asked for and that are not undone: they hide what the content is.

use crate::fetch::{Hop, is_undone};

/// The first such coding of a response, in the words of its headers.
pub(super) fn hidden_by(hop: &Hop) -> Option<&str> {
    let content = hop
        .header("content-encoding")
        .filter(|coding| !is_undone(coding));
    // Chunks are undone by the HTTP library, which knows no other transfer coding.
    let transfer = hop.header("transfer-encoding").filter(|codings| {
        let mut codings = codings.split(',').map(str::trim);
        !codings.all(|coding| ["chunked", "identity", ""].contains(&&*coding.to_ascii_lowercase()))
    });
    content.or(transfer)
}
