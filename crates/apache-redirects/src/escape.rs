//! Percent escapes (RFC 3986, section 2.1).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// Characters that a path of a URL escapes (RFC 3986, section 3.3).
pub const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
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
