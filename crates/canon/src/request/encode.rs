//! Percent encoding in its dialects.

use std::fmt::Write as _;

/// The specification's percent plus encoding, which is Python's `quote_plus`.
pub(super) fn percent_plus(bytes: &[u8]) -> String {
    encode(bytes, b"-._~")
}

/// How `URLSearchParams` writes names and values.
pub(super) fn form_urlencode(text: &str) -> String {
    encode(text.as_bytes(), b"*-._")
}

fn encode(bytes: &[u8], kept: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            encoded.push(char::from(byte));
        } else if byte == b' ' {
            encoded.push('+');
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Every escape decoded; a `%` that begins none stays.
pub(super) fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if let (b'%', Some(escaped)) = (byte, escape(after)) {
            decoded.push(escaped);
            rest = &after[2..];
        } else {
            decoded.push(byte);
            rest = after;
        }
    }
    decoded
}

/// The byte that two hexadecimal digits at the start of `digits` mean.
fn escape(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}

/// Python's `unquote_plus`: escapes that make no UTF-8 become U+FFFD, and a character outside of
/// ASCII ends a sequence of them.
pub(super) fn unquote_plus(text: &str) -> String {
    let text = text.replace('+', " ");
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii()).unwrap_or(rest.len());
        let (ascii, other) = rest.split_at(end);
        decoded.push_str(&String::from_utf8_lossy(&percent_decode(ascii.as_bytes())));
        let end = other.find(|c: char| c.is_ascii()).unwrap_or(other.len());
        decoded.push_str(&other[..end]);
        rest = &other[end..];
    }
    decoded
}

/// JavaScript's `decodeURI`: leaves the escapes of reserved characters, `None` for a broken one.
pub(super) fn decode_uri(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = String::with_capacity(text.len());
    let mut rest = 0;
    while let Some(at) = text[rest..].find('%').map(|at| rest + at) {
        decoded.push_str(&text[rest..at]);
        let first = escape(&bytes[at + 1..])?;
        let length = match first {
            0..0x80 => 1,
            0xc2..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0..0xf5 => 4,
            _ => return None,
        };
        let end = at + 3 * length;
        let sequence: Option<Vec<u8>> = (at..end)
            .step_by(3)
            .map(|at| escape(bytes.get(at + 1..).filter(|_| bytes[at] == b'%')?))
            .collect();
        let character = String::from_utf8(sequence?).ok()?;
        if b";/?:@&=+$,#".contains(&first) {
            decoded.push_str(&text[at..end]);
        } else {
            decoded.push_str(&character);
        }
        rest = end;
    }
    decoded.push_str(&text[rest..]);
    Some(decoded)
}
