//! The canonicalization rules of the Internet Archive.

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use super::session_ids::{without_path_session, without_query_session};
use super::surt_url::SurtUrl;
use crate::escape::decode_escape;

/// Characters that surt escapes, besides those outside of ASCII.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'#').add(b'%');

pub(super) fn canonicalize(url: &mut SurtUrl, host_massage: bool) {
    url.fragment = None;
    url.empty_query = false;
    if let Some(host) = url.host.take_if(|host| !host.is_empty()) {
        let host = canonical_host(&host);
        let keep_www = !host_massage || url.scheme == b"dns";
        url.host = Some(if keep_www {
            host
        } else {
            without_www(&host).to_vec()
        });
    }
    // Without a host the path is free-form, as in `dns:example.com`.
    let in_host = url.host.as_ref().is_some_and(|host| !host.is_empty());
    url.path = canonical_path(url.path.as_deref(), in_host);
    url.query = url
        .query
        .take()
        .map(|query| canonical_query(&query))
        .filter(|q| !q.is_empty());
    let default = match url.scheme.to_ascii_lowercase().as_slice() {
        b"http" => Some(80),
        b"https" => Some(443),
        _ => None,
    };
    url.port = url.port.filter(|_| url.port != default);
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
    ipv4(host).unwrap_or_else(|| escape(host).to_ascii_lowercase().into_bytes())
}

/// Encodes a host by IDNA 2003, with a library for UTS 46: the four characters that the two standards
/// treat differently are mapped first.
fn punycode(host: &[u8]) -> Option<Vec<u8>> {
    let mapped: String = String::from_utf8_lossy(host)
        .chars()
        .filter(|&c| !matches!(c, '\u{200c}' | '\u{200d}' | char::REPLACEMENT_CHARACTER))
        .collect::<String>()
        .replace(['ß', 'ẞ'], "ss")
        .replace('ς', "σ");
    let ascii = idna::domain_to_ascii(&mapped).ok()?;
    ascii
        .strip_suffix('.')
        .unwrap_or(&ascii)
        .split('.')
        .all(|label| matches!(label.len(), 1..=63))
        .then(|| ascii.into_bytes())
}

/// Replaces each pair of dots by one dot, in a single pass.
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

/// The dotted quad for a host that consists of decimal or octal numbers.
fn ipv4(host: &[u8]) -> Option<Vec<u8>> {
    if host.is_empty() || !host.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        return None;
    }
    let address = if host.contains(&b'.') {
        inet_aton(std::str::from_utf8(host).ok()?)?
    } else {
        // surt reads a single number as decimal, even with a leading zero, and keeps its last four bytes.
        host.iter().fold(0_u32, |n, b| {
            n.wrapping_mul(10).wrapping_add(u32::from(b - b'0'))
        })
    };
    Some(std::net::Ipv4Addr::from(address).to_string().into_bytes())
}

/// Reads an address as `inet_aton` of the C library does: a leading zero means octal, and the last
/// number fills the remaining bytes.
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
        Some(resolve_segments(path.as_deref().unwrap_or_default()))
    } else {
        path
    };
    let path = escape(&path?).to_ascii_lowercase().into_bytes();
    let mut path = without_path_session(path);
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    Some(path)
}

/// Removes dot segments and empty segments. As in surt, a `..` that has no parent stays.
fn resolve_segments(path: &[u8]) -> Vec<u8> {
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
    let query = escape(&unescape_repeatedly(raw)).into_bytes();
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

/// Decodes escapes until none is left.
///
/// Escapes never overlap, so decoding from the left in a single pass gives the same result as
/// decoding the whole text repeatedly, in linear time.
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

/// Escapes control characters, spaces, `#`, `%` and bytes outside of ASCII.
pub(super) fn escape(raw: &[u8]) -> String {
    percent_encode(raw, ESCAPED).to_string()
}
