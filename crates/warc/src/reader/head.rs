//! What stands before a block, in any of the formats, as one [`Header`] with the names of WARC 1.1.

use super::fault::Problem;
use super::window::{Fill, Window};
use super::{arc, v09};
use crate::finding::Code;
use crate::header::{Header, MAX_HEADER};
use crate::version::Version;

/// What a record begins with.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) version: Version,
    pub(super) header: Header,
    /// The length of the block, in bytes.
    pub(super) block: u64,
    /// The length of the head itself, in bytes.
    pub(super) length: usize,
    /// What was tolerated.
    pub(super) notes: Vec<Code>,
}

/// What the bytes at the beginning of a record are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A version line, and named fields.
    Named,
    /// The line of positional parameters of WARC 0.9, and named ones.
    Positional,
    /// A line of an ARC file.
    Arc,
}

/// How long a first line may be, to be looked at.
pub(super) const MAX_LINE: usize = 16 * 1024;

/// The shape of the record that the bytes begin with; `None` if they are of no record.
pub(super) fn shape(bytes: &[u8]) -> Option<Shape> {
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
            Shape::Positional
        } else {
            Shape::Named
        });
    }
    arc::is_line(line).then_some(Shape::Arc)
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let window = &bytes[..bytes.len().min(MAX_LINE)];
    memchr::memchr(b'\n', window).map_or(window, |end| &window[..end])
}

/// Reads a head and consumes it.
pub(super) fn read<S: Fill>(input: &mut Window<S>) -> Result<Head, Problem> {
    let lines_end = |bytes: &[u8]| memchr::memchr(b'\n', bytes).map(|at| at + 1);
    let first = extent(input, lines_end)?;
    let shape = shape(input.bytes()).ok_or_else(|| no_record(input.bytes()))?;
    let head = if shape == Shape::Arc {
        let length = first.ok_or_else(|| cut(input))?;
        let (line, block) = input.peek(length + 5)?.split_at(length);
        arc::read(line, block)?
    } else {
        let length = extent(input, fields_end)?.ok_or_else(|| cut(input))?;
        let bytes = &input.bytes()[..length];
        match shape {
            Shape::Positional => v09::read(bytes)?,
            _ => named(bytes)?,
        }
    };
    input.consume(head.length);
    Ok(head)
}

/// Fetches bytes until `end` finds the end among them.
fn extent<S: Fill>(
    input: &mut Window<S>,
    end: impl Fn(&[u8]) -> Option<usize>,
) -> Result<Option<usize>, Problem> {
    loop {
        let bytes = input.bytes();
        if let Some(length) = end(&bytes[..bytes.len().min(MAX_HEADER)]) {
            return Ok(Some(length));
        }
        if bytes.len() >= MAX_HEADER || !input.more()? {
            return Ok(None);
        }
    }
}

/// Where the fields end, with the blank line after them.
fn fields_end(bytes: &[u8]) -> Option<usize> {
    let after = |at: usize| match bytes.get(at + 1..)? {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    };
    memchr::memchr_iter(b'\n', bytes).find_map(after)
}

fn cut<S: Fill>(input: &Window<S>) -> Problem {
    if input.bytes().len() >= MAX_HEADER {
        Problem::HeaderTooLong
    } else {
        Problem::Clipped
    }
}

fn no_record(bytes: &[u8]) -> Problem {
    if bytes.iter().all(|byte| *byte == 0) {
        return Problem::Zeros;
    }
    if b"WARC/".starts_with(bytes) || b"warc/".starts_with(bytes) {
        return Problem::Clipped;
    }
    let line = first_line(bytes).trim_ascii_end();
    Problem::NoRecord {
        found: beginning(&String::from_utf8_lossy(&line[..line.len().min(240)])),
    }
}

/// Enough of a hostile text to recognize it by.
pub(super) fn beginning(text: &str) -> String {
    text.chars().take(60).collect()
}

/// A version line and named fields.
fn named(bytes: &[u8]) -> Result<Head, Problem> {
    let mut lines = Lines::new(bytes);
    let version_line = lines.next().unwrap_or_default();
    let mut notes = Vec::new();
    let known = std::str::from_utf8(version_line).ok();
    let version = known.and_then(Version::from_line).unwrap_or_else(|| {
        notes.push(Code::UnknownVersion);
        Version::Warc11
    });
    let mut header = Header::default();
    fields(&mut lines, &mut header, &mut notes);
    let block = header.content_length().ok_or(Problem::NoLength)?;
    if let Some(uri) = header.get("WARC-Target-URI") {
        if version >= Version::Warc11 && uri.starts_with('<') {
            notes.push(Code::UriBrackets);
        }
        if uri.contains([' ', '\t']) {
            notes.push(Code::UriSpace);
        }
    }
    Ok(Head {
        version,
        header,
        block,
        length: bytes.len(),
        notes,
    })
}

/// The lines of a head, without their ends.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    /// Whether a line ended with a line feed only.
    bare: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest, bare: false }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b'\n', self.rest)?;
        let (line, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest;
        if let Some(line) = line.strip_suffix(b"\r") {
            return Some(line);
        }
        self.bare = true;
        Some(line)
    }
}

/// Reads named fields through the blank line. A folded line goes on with the field before it.
pub(super) fn fields(lines: &mut Lines<'_>, header: &mut Header, notes: &mut Vec<Code>) {
    let mut note = |code| {
        if !notes.contains(&code) {
            notes.push(code);
        }
    };
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let text = String::from_utf8_lossy(line);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            note(Code::NotUtf8);
        }
        let taken = if text.starts_with([' ', '\t']) {
            header.extend_read(trim(&text))
        } else if let Some((name, value)) = text.split_once(':') {
            header.push_read(name.trim_end(), trim(value));
            true
        } else {
            false
        };
        if !taken {
            note(Code::HeaderLine);
        }
    }
    if lines.bare {
        note(Code::BareLineFeed);
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}
