//! Codings that nobody asked for and that are not undone: they hide what the content is.

use crate::fetch::{Hop, is_undone};

/// The first such coding of a response, in the words of its headers.
pub(super) fn hidden_by(hop: &Hop) -> Option<String> {
    let content = hop.list("content-encoding");
    let transfer = hop.list("transfer-encoding");
    if !is_undone(&content) {
        Some(content)
    } else if !is_undone_on_the_way(&transfer) {
        Some(transfer)
    } else {
        None
    }
}

/// Chunks are undone by the HTTP library if they are what is named last, even before a comma. It
/// knows no other transfer coding.
fn is_undone_on_the_way(codings: &str) -> bool {
    let codings = codings.split(',');
    let codings: Vec<String> = codings
        .map(|coding| coding.trim().to_ascii_lowercase())
        .collect();
    let are_all = |known: &[&str]| {
        codings
            .iter()
            .all(|coding| known.contains(&coding.as_str()))
    };
    let ends_in_chunks = codings.last().is_some_and(|coding| coding == "chunked");
    are_all(&["identity", ""]) || ends_in_chunks && are_all(&["chunked", "identity", ""])
}
