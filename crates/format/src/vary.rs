//! The request headers that tell records of one URL apart: `vary` of the metadata.

use std::collections::BTreeSet;

use crate::record::Record;

/// Whether the text is a token (RFC 9110, 5.6.2) without upper-case letters.
pub(crate) fn is_lower_case_token(name: &str) -> bool {
    let is_allowed = |byte: u8| match byte {
        b'a'..=b'z' | b'0'..=b'9' => true,
        other => b"!#$%&'*+-.^_`|~".contains(&other),
    };
    !name.is_empty() && name.bytes().all(is_allowed)
}

/// The headers that urldb sets itself, that change the connection, or that belong to the request body, sorted.
const SET_BY_URLDB: &[&str] = &[
    "accept-encoding",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "pragma",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether records cannot be told apart by this header.
pub(crate) fn is_set_by_urldb(name: &str) -> bool {
    SET_BY_URLDB.contains(&name)
}

/// The names of the request headers that differ, in lower case and sorted, if `vary` can tell the records apart by
/// them.
pub fn differing_headers(first: &Record, again: &Record) -> Option<Vec<String>> {
    let names: BTreeSet<String> = first
        .request_headers
        .iter()
        .chain(again.request_headers.iter())
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect();
    let differs = |name: &&String| {
        let name = std::slice::from_ref(*name);
        first.variant(name) != again.variant(name)
    };
    let names: Vec<String> = names.iter().filter(differs).cloned().collect();
    let is_usable = |name: &String| is_lower_case_token(name) && !is_set_by_urldb(name);
    (!names.is_empty() && names.iter().all(is_usable)).then_some(names)
}
