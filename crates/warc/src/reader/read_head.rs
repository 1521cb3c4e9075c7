//! Recognizes and reads heads of all formats.

use super::error::ReadErrorKind;
use super::head::{Head, Lines, beginning, read_fields};
use super::window::{Window, WindowInput};
use super::{arc, warc09};
use crate::finding::FindingCode;
use crate::header::{Header, MAX_RECORD_HEADER, Version};

/// The form of a record's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadForm {
    /// A version line and named fields.
    Named,
    /// The line of positional parameters of WARC 0.9, and named parameters.
    Positional,
    /// A line of an ARC file.
    Arc,
}

/// Length limit of the first line of a head, in bytes.
pub(super) const MAX_LINE: usize = 16 * 1024;

/// The form of the head that `bytes` begin with; `None` if no record begins there.
pub(super) fn head_form(bytes: &[u8]) -> Option<HeadForm> {
    let line = first_line(bytes);
    let is_warc = line
        .first_chunk::<5>()
        .is_some_and(|first| first.eq_ignore_ascii_case(b"WARC/"));
    if is_warc {
        let (_, rest) = line.split_at(5);
        let digits = rest.first().is_some_and(u8::is_ascii_digit);
        let more = rest
            .trim_ascii_end()
            .iter()
            .any(|b| matches!(b, b' ' | b'\t'));
        return digits.then_some(if more {
            HeadForm::Positional
        } else {
            HeadForm::Named
        });
    }
    arc::is_line(line).then_some(HeadForm::Arc)
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let window = &bytes[..bytes.len().min(MAX_LINE)];
    memchr::memchr(b'\n', window).map_or(window, |end| &window[..end])
}

pub(super) fn read_head<S: WindowInput>(input: &mut Window<S>) -> Result<Head, ReadErrorKind> {
    let lines_end = |bytes: &[u8]| memchr::memchr(b'\n', bytes).map(|at| at + 1);
    let first = fill_to_end(input, lines_end)?;
    let form = head_form(input.bytes()).ok_or_else(|| no_record(input.bytes()))?;
    let head = if form == HeadForm::Arc {
        let length = first.ok_or_else(|| unfinished(input))?;
        let (line, block) = input.peek(length + 5)?.split_at(length);
        arc::read(line, block)?
    } else {
        let length = fill_to_end(input, fields_end)?.ok_or_else(|| unfinished(input))?;
        let bytes = &input.bytes()[..length];
        match form {
            HeadForm::Positional => warc09::read(bytes)?,
            _ => read(bytes)?,
        }
    };
    input.consume(head.length);
    Ok(head)
}

/// Fills the window until `find_end` finds the end in its bytes. `None` if the input ends before, or
/// after [`MAX_RECORD_HEADER`] bytes.
fn fill_to_end<S: WindowInput>(
    input: &mut Window<S>,
    find_end: impl Fn(&[u8]) -> Option<usize>,
) -> Result<Option<usize>, ReadErrorKind> {
    loop {
        let bytes = input.bytes();
        if let Some(length) = find_end(&bytes[..bytes.len().min(MAX_RECORD_HEADER)]) {
            return Ok(Some(length));
        }
        if bytes.len() >= MAX_RECORD_HEADER || !input.more()? {
            return Ok(None);
        }
    }
}

/// The end of the fields, after the blank line.
fn fields_end(bytes: &[u8]) -> Option<usize> {
    let after = |at: usize| match bytes.get(at + 1..)? {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    };
    memchr::memchr_iter(b'\n', bytes).find_map(after)
}

fn unfinished<S: WindowInput>(input: &Window<S>) -> ReadErrorKind {
    if input.bytes().len() >= MAX_RECORD_HEADER {
        ReadErrorKind::HeaderTooLong
    } else {
        ReadErrorKind::CutOff
    }
}

fn no_record(bytes: &[u8]) -> ReadErrorKind {
    if bytes.iter().all(|byte| *byte == 0) {
        return ReadErrorKind::Zeros;
    }
    if b"WARC/".starts_with(bytes) || b"warc/".starts_with(bytes) {
        return ReadErrorKind::CutOff;
    }
    let line = first_line(bytes).trim_ascii_end();
    ReadErrorKind::NoRecord {
        found: beginning(&String::from_utf8_lossy(&line[..line.len().min(240)])),
    }
}

/// Reads a head that is all of `bytes`.
pub(super) fn read(bytes: &[u8]) -> Result<Head, ReadErrorKind> {
    let mut lines = Lines::new(bytes);
    let version_line = lines.next().unwrap_or_default();
    let mut deviations = Vec::new();
    let version = std::str::from_utf8(version_line)
        .ok()
        .and_then(Version::from_line)
        .unwrap_or_else(|| {
            deviations.push(FindingCode::UnknownVersion);
            Version::Warc11
        });
    let mut header = Header::default();
    read_fields(&mut lines, &mut header, &mut deviations);
    let block = header.content_length().ok_or(ReadErrorKind::NoLength)?;
    if let Some(uri) = header.get("WARC-Target-URI") {
        if version >= Version::Warc11 && uri.starts_with('<') {
            deviations.push(FindingCode::UriBrackets);
        }
        if uri.contains([' ', '\t']) {
            deviations.push(FindingCode::UriSpace);
        }
    }
    Ok(Head {
        version,
        header,
        block,
        length: bytes.len(),
        deviations,
    })
}
