//! Percent escapes (RFC 3986, section 2.1): the sets of characters that this crate escapes.

use percent_encoding::AsciiSet;

pub(crate) use urldb_apache_redirects::escape::PATH;

/// Characters that a path with its query escapes.
pub(crate) const PATH_AND_QUERY: &AsciiSet = &PATH.remove(b'?');
