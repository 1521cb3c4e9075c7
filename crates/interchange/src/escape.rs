//! Percent escapes (RFC 3986, section 2.1): the sets of characters that this crate escapes.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// All characters that RFC 3986 does not call unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Characters that a path of a URL escapes (RFC 3986, section 3.3).
pub(crate) const PATH: &AsciiSet = &RESERVED
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// Characters that a path with its query escapes.
pub(crate) const PATH_AND_QUERY: &AsciiSet = &PATH.remove(b'?');
