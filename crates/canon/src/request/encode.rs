//! The encodings of bodies and of names and values.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, percent_encode};

use crate::escape;

/// Characters that `quote_plus` of Python escapes. A space becomes `+` after the escaping.
const QUOTE_PLUS: &AsciiSet = &escape::RESERVED.remove(b' ');

/// The parameter of a body that has no fields.
pub(super) fn binary(body: &[u8]) -> String {
    format!("__wb_post_data={}", BASE64_STANDARD.encode(body))
}

/// The "percent plus encoding" of the specification, which is `quote_plus` of Python.
pub(super) fn percent_plus(bytes: &[u8]) -> String {
    percent_encode(bytes, QUOTE_PLUS)
        .to_string()
        .replace(' ', "+")
}

/// Decodes every escape; a `%` that begins no escape stays.
pub(super) fn percent_decode(text: &[u8]) -> Vec<u8> {
    percent_encoding::percent_decode(text).collect()
}

/// Decodes as `unquote_plus` of Python does: escapes that are not UTF-8 become U+FFFD.
///
/// A character outside of ASCII ends a sequence of escapes in Python, so that its bytes never
/// complete an escaped one. The `percent-encoding` crate decodes the text as a whole, so each run of
/// ASCII characters is decoded by itself.
pub(super) fn unquote_plus(text: &str) -> String {
    let text = text.replace('+', " ");
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii()).unwrap_or(rest.len());
        let (ascii, other) = rest.split_at(end);
        decoded.push_str(&percent_encoding::percent_decode_str(ascii).decode_utf8_lossy());
        let end = other.find(|c: char| c.is_ascii()).unwrap_or(other.len());
        decoded.push_str(&other[..end]);
        rest = &other[end..];
    }
    decoded
}
