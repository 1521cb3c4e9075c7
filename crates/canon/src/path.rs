//! Path and query of a URL in one spelling: the `_path` of a record.
//!
//! - Escapes of unreserved characters (letters, digits, `-._~`) are decoded; all others keep their
//!   meaning and get upper-case hex (RFC 3986, 6.2.2).
//! - Space, non-ASCII and what RFC 3986 allows nowhere is escaped. So is `'` in a query, because
//!   the `url` crate, which sends our requests, would escape it. `[` and `]` stay as they are:
//!   they are reserved, and `a[]=1` is common.
//! - Dot segments go, after decoding. Empty segments, a trailing slash, case and the order of the
//!   query stay: servers may tell them apart.
//! - The fragment goes, and a `?` with nothing behind it.

use crate::error::{PathError, UrlError, redact, redact_part};
use crate::identity::identify;

/// Is `path` written as [`identify`] would write it?
///
/// # Errors
/// [`PathError::NotCanonical`] with the spelling to use, or [`PathError::Invalid`] where none can
/// be suggested.
pub fn check_path(path: &str) -> Result<(), PathError> {
    let trimmed = path.trim_ascii();
    check_characters(trimmed)?;
    let suggestion = if trimmed.starts_with('/') {
        canonical_path(trimmed)?
    } else if let Ok(identity) = identify(trimmed) {
        identity.path
    } else {
        canonical_path(&format!("/{trimmed}"))?
    };
    if suggestion == path {
        return Ok(());
    }
    Err(PathError::NotCanonical {
        path: redact(path),
        problem: first_problem(path),
        suggestion,
    })
}

/// Refuses what would make a URL mean different things to different programs.
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

/// The part before the first `#`.
pub(crate) fn without_fragment(input: &str) -> &str {
    input.split_once('#').map_or(input, |(before, _)| before)
}

/// The canonical spelling of a path and query, `raw` being empty or starting with `/`, `?` or `#`.
pub(crate) fn canonical_path(raw: &str) -> Result<String, UrlError> {
    let raw = without_fragment(raw);
    let (path, query) = raw.split_once('?').unwrap_or((raw, ""));
    let mut canonical = remove_dot_segments(&canonical_escapes(path, Part::Path)?);
    if !query.is_empty() {
        canonical.push('?');
        canonical.push_str(&canonical_escapes(query, Part::Query)?);
    }
    Ok(canonical)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Query,
}

fn canonical_escapes(raw: &str, part: Part) -> Result<String, UrlError> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(&first) = rest.as_bytes().first() {
        if first == b'%' {
            let byte = decode_escape(rest.as_bytes()).ok_or_else(|| bad_escape(raw, rest))?;
            if is_unreserved(byte) {
                out.push(char::from(byte));
            } else {
                push_escape(&mut out, byte);
            }
            rest = &rest[3..];
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            let (character, after) = rest.split_at(length);
            if length > 1 || must_escape(first, part) {
                character
                    .bytes()
                    .for_each(|byte| push_escape(&mut out, byte));
            } else {
                out.push_str(character);
            }
            rest = after;
        }
    }
    Ok(out)
}

fn bad_escape(raw: &str, rest: &str) -> UrlError {
    UrlError::BadPercentEncoding {
        escape: redact_part(raw, &rest.chars().take(3).collect::<String>()),
    }
}

/// The byte that a `%XX` at the start of `bytes` stands for.
pub(crate) fn decode_escape(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else {
        return None;
    };
    let high = char::from(*high).to_digit(16)?;
    let low = char::from(*low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

pub(crate) fn push_escape(out: &mut String, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn must_escape(byte: u8, part: Part) -> bool {
    match byte {
        b' ' | b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'|' | b'}' => true,
        b'\'' => part == Part::Query,
        _ => false,
    }
}

/// RFC 3986, 5.2.4, for an absolute path; an empty path is `/`.
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

/// What a reader would notice first in a path that is not canonical.
fn first_problem(path: &str) -> &'static str {
    let (before_query, query) = path.split_once('?').unwrap_or((path, "-"));
    let dots = |s: &str| {
        matches!(
            s.to_ascii_lowercase().replace("%2e", ".").as_str(),
            "." | ".."
        )
    };
    if path.trim_ascii() != path {
        "has white space around it"
    } else if !path.starts_with('/') {
        "does not start with a slash"
    } else if path.contains('#') {
        "has a fragment, which is never sent"
    } else if query.is_empty() {
        "ends in an empty query"
    } else if before_query.split('/').any(dots) {
        "has dot segments"
    } else {
        "has characters that are escaped differently in a canonical URL"
    }
}
