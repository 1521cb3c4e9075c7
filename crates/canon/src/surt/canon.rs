//! The Internet Archive's smoothing of a URL's parts.

use super::parse::Parts;
use super::session::{without_path_session, without_query_session};
use crate::path::{decode_escape, push_escape};

/// Smooths `parts` in place.
pub(super) fn canonicalize(parts: &mut Parts, host_massage: bool) {
    parts.fragment = None;
    parts.empty_query = false;
    if let Some(host) = parts.host.take_if(|host| !host.is_empty()) {
        let host = canonical_host(&host);
        let keep_www = !host_massage || parts.scheme == b"dns";
        parts.host = Some(if keep_www {
            host
        } else {
            without_www(&host).to_vec()
        });
    }
    // Without a host the path is free-form, as in `dns:example.com`.
    let in_host = parts.host.as_ref().is_some_and(|host| !host.is_empty());
    parts.path = canonical_path(parts.path.as_deref(), in_host);
    parts.query = parts
        .query
        .take()
        .map(|query| canonical_query(&query))
        .filter(|q| !q.is_empty());
    let default = match parts.scheme.to_ascii_lowercase().as_slice() {
        b"http" => Some(80),
        b"https" => Some(443),
        _ => None,
    };
    parts.port = parts.port.filter(|_| parts.port != default);
}

fn canonical_host(raw: &[u8]) -> Vec<u8> {
    let host = unescape_repeatedly(raw);
    let host = if host.is_ascii() {
        host
    } else {
        punycode(&host).unwrap_or(host)
    };
    let host = collapse_dots(&host);
    let start = host.iter().position(|&b| b != b'.').unwrap_or(host.len());
    let end = host
        .iter()
        .rposition(|&b| b != b'.')
        .map_or(start, |at| at + 1);
    let host = &host[start..end];
    ipv4(host).unwrap_or_else(|| escape_once(host).to_ascii_lowercase())
}

/// IDNA 2003 by way of UTS 46: the four characters that the two treat differently are mapped first.
fn punycode(host: &[u8]) -> Option<Vec<u8>> {
    let mapped: String = String::from_utf8_lossy(host)
        .chars()
        .filter(|&c| !matches!(c, '\u{200c}' | '\u{200d}' | char::REPLACEMENT_CHARACTER))
        .collect::<String>()
        .replace(['ß', 'ẞ'], "ss")
        .replace('ς', "σ");
    let ascii = idna::domain_to_ascii(&mapped).ok()?;
    let labels = ascii.strip_suffix('.').unwrap_or(&ascii);
    labels
        .split('.')
        .all(|label| matches!(label.len(), 1..=63))
        .then(|| ascii.into_bytes())
}

/// Every pair of dots becomes one, once over.
fn collapse_dots(host: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(host.len());
    let mut rest = host;
    while let Some((&first, after)) = rest.split_first() {
        out.push(first);
        rest = if first == b'.' {
            after.strip_prefix(b".").unwrap_or(after)
        } else {
            after
        };
    }
    out
}

fn without_www(host: &[u8]) -> &[u8] {
    let Some(rest) = host.strip_prefix(b"www") else {
        return host;
    };
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    rest[digits..].strip_prefix(b".").unwrap_or(host)
}

/// The dotted quad that a host of decimal or octal numbers stands for.
fn ipv4(host: &[u8]) -> Option<Vec<u8>> {
    if host.is_empty() || !host.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        return None;
    }
    let address = if host.contains(&b'.') {
        inet_aton(std::str::from_utf8(host).ok()?)?
    } else {
        // surt masks a lone number to four bytes, reading it as decimal whatever its first digit.
        host.iter().fold(0_u32, |n, b| {
            n.wrapping_mul(10).wrapping_add(u32::from(b - b'0'))
        })
    };
    Some(std::net::Ipv4Addr::from(address).to_string().into_bytes())
}

/// The C library's reading: a leading zero means octal, the last number fills the bytes left.
fn inet_aton(host: &str) -> Option<u32> {
    let numbers: Option<Vec<u32>> = host
        .split('.')
        .map(|n| {
            if n.starts_with('0') {
                u32::from_str_radix(n, 8)
            } else {
                n.parse()
            }
            .ok()
        })
        .collect();
    let numbers = numbers?;
    let (&last, leading) = numbers.split_last()?;
    let room = 32_u32
        .checked_sub(8 * u32::try_from(leading.len()).ok()?)
        .filter(|&bits| bits > 0)?;
    if leading.iter().any(|&n| n > 255) || (room < 32 && last >> room != 0) {
        return None;
    }
    let high = leading.iter().fold(0, |address, n| (address << 8) | n);
    Some(high.checked_shl(room).unwrap_or(0) | last)
}

fn canonical_path(raw: Option<&[u8]>, in_host: bool) -> Option<Vec<u8>> {
    let path = raw.map(unescape_repeatedly);
    let path = if in_host {
        Some(resolve(path.as_deref().unwrap_or_default()))
    } else {
        path
    };
    let path = escape_once(&path?).to_ascii_lowercase();
    let mut path = without_path_session(path);
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    Some(path)
}

/// Dot segments and empty segments go; a `..` with nothing above it stays, as in surt.
fn resolve(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&b| b == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut out = vec![b'/'];
    if let Some((last, parents)) = kept.split_last() {
        for parent in parents.iter().filter(|parent| !parent.is_empty()) {
            out.extend_from_slice(parent);
            out.push(b'/');
        }
        out.extend_from_slice(last);
    }
    out
}

fn canonical_query(raw: &[u8]) -> Vec<u8> {
    let query = escape_once(&unescape_repeatedly(raw));
    let query = without_query_session(query).to_ascii_lowercase();
    let mut arguments: Vec<_> = query
        .split(|&b| b == b'&')
        .map(|argument| match argument.iter().position(|&b| b == b'=') {
            Some(at) => (&argument[..at], Some(&argument[at..])),
            None => (argument, None),
        })
        .collect();
    arguments.sort_unstable();
    let arguments: Vec<_> = arguments
        .into_iter()
        .map(|(name, value)| [name, value.unwrap_or_default()].concat())
        .collect();
    arguments.join(&b'&')
}

/// Decodes escapes until none is left. Decoding in place from the left gives what decoding the
/// whole again and again would give (no two escapes overlap), in linear time.
fn unescape_repeatedly(raw: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    for &byte in raw {
        out.push(byte);
        while let Some(start) = out.len().checked_sub(3) {
            let Some(decoded) = decode_escape(&out[start..]) else {
                break;
            };
            out.truncate(start);
            out.push(decoded);
        }
    }
    out
}

/// Escapes controls, space, `#`, `%` and non-ASCII.
pub(super) fn escape_once(raw: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(raw.len());
    for &byte in raw {
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'%') {
            out.push(char::from(byte));
        } else {
            push_escape(&mut out, byte);
        }
    }
    out.into_bytes()
}
