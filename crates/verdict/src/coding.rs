//! Content codings: which ones urldb can undo, and which ones hide the content.

use crate::observation::Hop;

/// A content coding that urldb can undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// `gzip` (RFC 9110, 8.4.1.3).
    Gzip,
    /// `deflate` (RFC 9110, 8.4.1.2), in either of the two forms that servers send.
    Deflate,
    /// No coding at all.
    Identity,
}

/// The coding that a `Content-Encoding` names, if urldb can undo the coding: a single known one,
/// possibly among others that are none.
pub fn coding_of(content_encoding: &str) -> Option<Coding> {
    let codings = content_encoding
        .split(',')
        .map(|coding| coding.trim().to_ascii_lowercase());
    let mut codings = codings.filter(|coding| !matches!(coding.as_str(), "" | "identity"));
    let only = codings.next();
    if codings.next().is_some() {
        return None;
    }
    match only.as_deref() {
        Some("gzip" | "x-gzip") => Some(Coding::Gzip),
        Some("deflate") => Some(Coding::Deflate),
        Some(_) => None,
        None => Some(Coding::Identity),
    }
}

/// The first coding of a response that urldb cannot undo, as its headers name it.
pub(super) fn hidden_by(hop: &Hop) -> Option<String> {
    let content = hop.list("content-encoding");
    let transfer = hop.list("transfer-encoding");
    if coding_of(&content).is_none() {
        Some(content)
    } else if !is_undone_on_the_way(&transfer) {
        Some(transfer)
    } else {
        None
    }
}

/// Whether the HTTP library undoes these transfer codings: it knows `chunked` only, and only as the
/// last coding.
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
