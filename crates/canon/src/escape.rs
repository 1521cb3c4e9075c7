//! Percent escapes (RFC 3986, section 2.1): the character sets of this crate, and decoding of a
//! single escape.
//!
//! The `percent-encoding` crate encodes and decodes whole texts.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode};

/// Characters that a canonical path escapes: RFC 3986 allows them in no URL.
pub(crate) const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Characters that a canonical query escapes: those of a path, and the `'` that the `url` crate
/// escapes when it sends a request.
pub(crate) const QUERY: &AsciiSet = &PATH.add(b'\'');

/// All characters that RFC 3986 does not call unreserved.
pub(crate) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The byte that a `%XX` at the start of `bytes` stands for.
pub(crate) fn decode_escape(bytes: &[u8]) -> Option<u8> {
    let escape = bytes.get(..3).filter(|escape| escape[0] == b'%')?;
    let mut decoded = percent_decode(escape);
    let byte = decoded.next()?;
    // Without two hexadecimal digits the three bytes would stay three.
    decoded.next().is_none().then_some(byte)
}
