//! The head of a record, in any format: one [`Header`] with the names of WARC 1.1.

use crate::finding::FindingCode;
use crate::header::{Header, Version};

/// The head of a record: everything before its block.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) version: Version,
    pub(super) header: Header,
    /// The length of the block, in bytes.
    pub(super) block: u64,
    /// The length of the head itself, in bytes.
    pub(super) length: usize,
    /// Tolerated deviations from the format.
    pub(super) deviations: Vec<FindingCode>,
}

/// The first characters of a text, for an error message.
pub(super) fn beginning(text: &str) -> String {
    text.chars().take(60).collect()
}

/// The lines of a head, without their ends.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    /// Whether a line ended with a line feed only.
    has_bare_line_feed: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self {
            rest,
            has_bare_line_feed: false,
        }
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
        self.has_bare_line_feed = true;
        Some(line)
    }
}

/// Reads named fields through the blank line. A folded line continues the field before it.
pub(super) fn read_fields(
    lines: &mut Lines<'_>,
    header: &mut Header,
    deviations: &mut Vec<FindingCode>,
) {
    let mut add_deviation = |code| {
        if !deviations.contains(&code) {
            deviations.push(code);
        }
    };
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let text = String::from_utf8_lossy(line);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            add_deviation(FindingCode::NotUtf8);
        }
        let is_field = if text.starts_with([' ', '\t']) {
            header.extend_read(trim(&text))
        } else if let Some((name, value)) = text.split_once(':') {
            header.push_read(name.trim_end(), trim(value));
            true
        } else {
            false
        };
        if !is_field {
            add_deviation(FindingCode::HeaderLine);
        }
    }
    if lines.has_bare_line_feed {
        add_deviation(FindingCode::BareLineFeed);
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}
