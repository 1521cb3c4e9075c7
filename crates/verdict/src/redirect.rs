//! Rules for redirects (RFC 9110, 15.4) that fetching, judging and archiving share.

use percent_encoding::{AsciiSet, percent_encode};

/// Whether a redirect of this status is followed with GET, whatever the method was.
pub fn becomes_get(method: &str, status: u16) -> bool {
    method != "HEAD" && (status == 303 || method == "POST" && matches!(status, 301 | 302))
}

/// A `Location` as text. Bytes that are not UTF-8 are percent-encoded.
pub fn location_text(location: &[u8]) -> String {
    match std::str::from_utf8(location) {
        Ok(text) => text.to_owned(),
        Err(_) => percent_encode(location, &AsciiSet::EMPTY).to_string(),
    }
}
