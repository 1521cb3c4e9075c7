//! The request headers that tell records of one URL apart: `vary` of the metadata.

use std::collections::BTreeSet;

use urldb_text::{Code, Finding};

use crate::layout::Layout;
use crate::metadata::Metadata;
use crate::record::Record;
use crate::record_checks::bad_value;
use crate::value::Value;

/// The value of `vary`, for people.
pub(crate) const VARY: &str = "a list of names of request headers in lower case";

/// The finding for the first name in `vary` that no record can be told apart by.
pub(crate) fn bad_vary(metadata: &Metadata, head: &Layout) -> Option<Finding> {
    let mut names = metadata.vary.iter();
    let name = names.find(|name| !is_lower_case_token(name) || is_set_by_urldb(name))?;
    let value = Value::from(name.as_str());
    let line = head.line_of("vary");
    if !is_lower_case_token(name) {
        let finding = bad_value("vary", &value, VARY, line);
        let lower = name.to_ascii_lowercase();
        return Some(if is_lower_case_token(&lower) {
            finding.with_help(format!("write `{lower}`"))
        } else {
            finding
        });
    }
    let message = format!("`vary` cannot name `{name}`, which urldb sets itself");
    let finding = Finding::new(Code::BadValue, line, message);
    Some(finding.with_help("name a header that only records set, such as `accept`"))
}

/// Whether the text is a token (RFC 9110, 5.6.2) without upper-case letters.
fn is_lower_case_token(name: &str) -> bool {
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
fn is_set_by_urldb(name: &str) -> bool {
    SET_BY_URLDB.contains(&name)
}

/// The names of the request headers that differ, sorted, if `vary` can tell the records apart by them.
pub(crate) fn differing_headers(first: &Record, again: &Record) -> Option<String> {
    let headers = first
        .request_headers
        .iter()
        .chain(again.request_headers.iter());
    let names: BTreeSet<String> = headers.map(|(name, _)| name.to_ascii_lowercase()).collect();
    let differs = |name: &&String| {
        let name = std::slice::from_ref(*name);
        first.variant(name) != again.variant(name)
    };
    let names: Vec<&str> = names.iter().filter(differs).map(String::as_str).collect();
    let is_usable = |name: &&str| is_lower_case_token(name) && !is_set_by_urldb(name);
    (!names.is_empty() && names.iter().all(is_usable)).then(|| names.join(", "))
}
