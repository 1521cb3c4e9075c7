//! Path and query of a URL in one spelling: the `_path` of a record.
//!
//! - Escapes of unreserved characters (letters, digits, `-._~`) are decoded. All other escapes keep
//!   their meaning and get upper-case hex (RFC 3986, section 6.2.2).
//! - Spaces, non-ASCII characters and characters that RFC 3986 allows nowhere are escaped. So is `'`
//!   in a query, because the `url` crate, which sends the requests, would escape it. `[` and `]`
//!   stay as they are: RFC 3986 reserves them, and `a[]=1` is common.
//! - Dot segments are removed after decoding. Empty segments, a trailing slash, case and the order
//!   of the query stay, since servers may distinguish them.
//! - The fragment is removed, and a `?` without a query.

use percent_encoding::{AsciiSet, percent_encode, utf8_percent_encode};

use crate::error::{UrlError, redact, redact_part};
use crate::escape::{self, decode_escape};

/// Refuses characters that make a URL mean different things to different programs.
pub(crate) fn check_characters(input: &str) -> Result<(), UrlError> {
    if let Some((at, character)) = input.chars().enumerate().find(|(_, c)| c.is_control()) {
        return Err(UrlError::ControlCharacter {
            character,
            position: at + 1,
        });
    }
    if without_fragment(input).contains('\\') {
        return Err(UrlError::Backslash {
            input: redact(input),
        });
    }
    Ok(())
}

/// The text before the first `#`.
pub(crate) fn without_fragment(input: &str) -> &str {
    input.split_once('#').map_or(input, |(before, _)| before)
}

/// The canonical spelling of a path and query; `raw` is empty or starts with `/`, `?` or `#`.
pub(crate) fn canonical_path(raw: &str) -> Result<String, UrlError> {
    let raw = without_fragment(raw);
    let (path, query) = raw.split_once('?').unwrap_or((raw, ""));
    let mut canonical = remove_dot_segments(&canonical_escapes(path, escape::PATH)?);
    if !query.is_empty() {
        canonical.push('?');
        canonical.push_str(&canonical_escapes(query, escape::QUERY)?);
    }
    Ok(canonical)
}

/// Escapes the characters of `forbidden`, and rewrites the escapes of `raw`.
fn canonical_escapes(raw: &str, forbidden: &'static AsciiSet) -> Result<String, UrlError> {
    let mut canonical = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('%') {
        let (literal, escaped) = rest.split_at(at);
        canonical.extend(utf8_percent_encode(literal, forbidden));
        let byte = decode_escape(escaped.as_bytes()).ok_or_else(|| bad_escape(raw, escaped))?;
        canonical.extend(percent_encode(&[byte], escape::RESERVED));
        rest = &escaped[3..];
    }
    canonical.extend(utf8_percent_encode(rest, forbidden));
    Ok(canonical)
}

fn bad_escape(raw: &str, rest: &str) -> UrlError {
    UrlError::BadPercentEncoding {
        escape: redact_part(raw, &rest.chars().take(3).collect::<String>()),
    }
}

/// Resolves the dot segments of an absolute path (RFC 3986, section 5.2.4); an empty path is `/`.
fn remove_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                // A dot segment names a directory: the slash after it stays.
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    let mut out = String::with_capacity(path.len() + 1);
    for segment in kept {
        out.push('/');
        out.push_str(segment);
    }
    out
}
