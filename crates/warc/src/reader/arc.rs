//! Heads of ARC records: one line before each block, with fields by position.
//!
//! Version 1: URL, IP address, date, media type, length. Version 2 has more fields between media type
//! and length. The first record of a file, `filedesc:`, describes the file.

use std::net::IpAddr;

use super::error::ReadErrorKind;
use super::head::{Head, beginning};
use crate::finding::FindingCode;
use crate::header::date::timestamp_to_date;
use crate::header::{Header, Version};

/// Whether the line is the head of an ARC record.
pub(super) fn is_line(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| ArcLine::parse(line).is_some())
        || (line.starts_with(b"filedesc:") && line.contains(&b' '))
}

/// Reads a head that is all of `line`; `block_start` is the beginning of the block.
pub(super) fn read(line: &[u8], block_start: &[u8]) -> Result<Head, ReadErrorKind> {
    let length = line.len();
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    let line = ArcLine::parse(text).ok_or_else(|| ReadErrorKind::NoRecord {
        found: beginning(text),
    })?;
    let block = line.length.parse().map_err(|_| ReadErrorKind::NoLength)?;
    let mut deviations = Vec::new();
    if line.url.contains([' ', '\t']) {
        deviations.push(FindingCode::UriSpace);
    }
    let date = timestamp_to_date(line.date).unwrap_or_else(|| {
        deviations.push(FindingCode::DateForm);
        line.date
            .get(..14)
            .and_then(timestamp_to_date)
            .unwrap_or_else(|| line.date.to_owned())
    });
    let mut header = Header::default();
    let (record_type, content_type) = line.record_type(block_start);
    header.push_read("WARC-Type", record_type);
    header.push_read("WARC-Date", &date);
    header.push_read("WARC-Target-URI", line.url);
    // Without a server, the line has `0` or `-`.
    if line.ip.parse::<IpAddr>().is_ok() {
        header.push_read("WARC-IP-Address", line.ip);
    }
    header.push_read("Content-Type", content_type);
    header.push_read("Content-Length", line.length);
    Ok(Head {
        version: Version::Arc,
        header,
        block,
        length,
        deviations,
    })
}

struct ArcLine<'a> {
    url: &'a str,
    ip: &'a str,
    date: &'a str,
    media_type: &'a str,
    length: &'a str,
}

impl<'a> ArcLine<'a> {
    /// Splits a line at its date, which follows the IP address. URL and media type may have blanks.
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim_end_matches(['\r', '\n', ' ']);
        let (rest, length) = line.rsplit_once(' ')?;
        let number = length.strip_prefix('-').unwrap_or(length);
        if !is_url(line) || number.is_empty() || number.contains(char::is_whitespace) {
            return None;
        }
        let mut before = rest;
        loop {
            let (head, word) = before.rsplit_once(' ')?;
            if is_date(word)
                && let Some((url, ip)) = head.rsplit_once(' ')
                && is_address(ip)
            {
                let after = rest.get(before.len()..).unwrap_or_default();
                return Some(Self {
                    url,
                    ip,
                    date: word,
                    media_type: without_fields_of_version_2(after.trim()),
                    length,
                });
            }
            before = head;
        }
    }

    /// The WARC record type and content type. A block with an HTTP head is a response; content from
    /// other protocols is a resource.
    fn record_type(&self, block: &[u8]) -> (&'static str, &'a str) {
        let is = |scheme: &str| {
            self.url
                .split(':')
                .next()
                .unwrap_or_default()
                .eq_ignore_ascii_case(scheme)
        };
        if is("filedesc") {
            ("warcinfo", self.media_type)
        } else if (is("http") || is("https")) && block.starts_with(b"HTTP/") {
            ("response", "application/http;msgtype=response")
        } else {
            ("resource", self.media_type)
        }
    }
}

/// The media type without the fields that follow it in version 2: result code, checksum, location,
/// offset, file name.
fn without_fields_of_version_2(text: &str) -> &str {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let words: Vec<&str> = text.rsplitn(6, ' ').collect();
    match words[..] {
        [_, offset, _, _, code, media_type] if is_number(offset) && is_number(code) => media_type,
        _ => text,
    }
}

fn is_url(line: &str) -> bool {
    line.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

fn is_date(word: &str) -> bool {
    (12..=18).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}

fn is_address(word: &str) -> bool {
    !word.is_empty()
        && word
            .bytes()
            .all(|b| b.is_ascii_hexdigit() || matches!(b, b'.' | b':' | b'-'))
}
