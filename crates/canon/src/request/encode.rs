//! The encodings of bodies and of names and values.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use crate::escape::{self, decode_escape};

/// Characters that `quote_plus` of Python escapes. A space becomes `+` after the escaping.
const QUOTE_PLUS: &AsciiSet = &escape::RESERVED.remove(b' ');

/// Characters that `URLSearchParams` escapes. A space becomes `+` after the escaping.
const URL_SEARCH_PARAMS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b' ')
    .remove(b'*')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_');

/// The parameter of a body that has no fields.
pub(super) fn binary(body: &[u8]) -> String {
    format!("__wb_post_data={}", BASE64_STANDARD.encode(body))
}

/// The "percent plus encoding" of the specification, which is `quote_plus` of Python.
pub(super) fn percent_plus(bytes: &[u8]) -> String {
    space_as_plus(bytes, QUOTE_PLUS)
}

/// A name or value as `URLSearchParams` of JavaScript writes it.
pub(super) fn form_urlencode(text: &str) -> String {
    space_as_plus(text.as_bytes(), URL_SEARCH_PARAMS)
}

/// Escapes the characters of `escaped`, which include `+` and exclude the space.
fn space_as_plus(bytes: &[u8], escaped: &'static AsciiSet) -> String {
    percent_encode(bytes, escaped).to_string().replace(' ', "+")
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

/// Decodes as `decodeURI` of JavaScript does: escapes of reserved characters stay. `None` where an
/// escape is incomplete or not UTF-8.
///
/// No function of the `percent-encoding` crate leaves some escapes, or fails on a bad one.
pub(super) fn decode_uri(text: &str) -> Option<String> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (literal, escapes) = rest.split_at(at);
        decoded.push_str(literal);
        let first = decode_escape(escapes.as_bytes())?;
        let length = match first {
            0..0x80 => 1,
            0xc2..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0..0xf5 => 4,
            _ => return None,
        };
        let (sequence, after) = escapes.split_at_checked(3 * length)?;
        let bytes: Option<Vec<u8>> = sequence.as_bytes().chunks(3).map(decode_escape).collect();
        let character = String::from_utf8(bytes?).ok()?;
        if b";/?:@&=+$,#".contains(&first) {
            decoded.push_str(sequence);
        } else {
            decoded.push_str(&character);
        }
        rest = after;
    }
    decoded.push_str(rest);
    Some(decoded)
}
