//! The captures of a URL as a `TimeMap` of Memento (RFC 7089, section 5), for programs that look for
//! former contents.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{IndexedCapture, date};

/// Characters that no URI has, and that could end one between `<` and `>`.
const NOT_IN_URIS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Writes the captures of a URL, which a server replays under addresses such as
/// `REPLAY-URL/20261120060000/URL`. A replay tells seconds apart, so captures of one second are one line.
pub(super) fn write(
    out: &mut impl Write,
    url: &str,
    captures: &[IndexedCapture],
    replay_url: &str,
) -> anyhow::Result<()> {
    let mut mementos = BTreeMap::new();
    for capture in captures {
        let timestamp = &capture.line.timestamp;
        let date = http_date(timestamp)
            .with_context(|| format!("the index has a capture of no date: {timestamp:?}"))?;
        let address = format!("{replay_url}{timestamp}/{}", as_uri(&capture.line.url));
        mementos.insert((timestamp, address), date);
    }
    let url = as_uri(url);
    writeln!(out, "<{url}>; rel=\"original\",")?;
    write!(out, "<{replay_url}{url}>; rel=\"timegate\"")?;
    let last = mementos.len().saturating_sub(1);
    for (number, ((_, address), date)) in mementos.iter().enumerate() {
        let place = match number {
            0 if last == 0 => "first last ",
            0 => "first ",
            number if number == last => "last ",
            _ => "",
        };
        write_memento(out, address, place, date)?;
    }
    writeln!(out)?;
    Ok(())
}

fn write_memento(out: &mut impl Write, address: &str, place: &str, date: &str) -> io::Result<()> {
    write!(
        out,
        ",\n<{address}>; rel=\"{place}memento\"; datetime=\"{date}\""
    )
}

/// A URL of the archive, whose characters anybody may have chosen, as a URI.
fn as_uri(url: &str) -> String {
    utf8_percent_encode(url, NOT_IN_URIS).to_string()
}

/// `Fri, 20 Nov 2026 06:00:00 GMT`.
fn http_date(timestamp: &str) -> Option<String> {
    let moment: Timestamp = date::shown(timestamp).parse().ok()?;
    DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&moment)
        .ok()
}
