//! Splits a text into documents at its `---` lines, before any YAML is decoded.
//!
//! Documents and footer cover the text without gaps. Comments right above a `---` belong to the
//! document below, and comments after the last document are the footer.

use std::ops::Range;

/// One line of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceLine<'a> {
    /// The line number, from 1.
    pub(crate) number: usize,
    /// The offset of the first byte.
    pub(crate) start: usize,
    /// The offset after the line break.
    pub(crate) end: usize,
    /// The text without the line break.
    pub(crate) text: &'a str,
}

impl SourceLine<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        self.text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
    }
}

/// The lines of a text; `\n` and `\r\n` end a line.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = SourceLine<'_>> {
    lines_from(1, text)
}

/// The lines of a text whose first line has the number `first`.
pub(crate) fn lines_from(first: usize, text: &str) -> impl Iterator<Item = SourceLine<'_>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .enumerate()
        .map(move |(index, whole)| {
            let line_start = start;
            start += whole.len();
            let text = whole
                .strip_suffix('\n')
                .map_or(whole, |text| text.strip_suffix('\r').unwrap_or(text));
            SourceLine {
                number: first + index,
                start: line_start,
                end: start,
                text,
            }
        })
}

/// The source text of one document.
#[derive(Debug)]
pub(crate) struct RawDocument<'a> {
    /// The comments above the `---`.
    pub(crate) above: Vec<&'a str>,
    /// The text after `---` on the same line.
    pub(crate) inline: &'a str,
    /// The lines after the `---`.
    pub(crate) body: &'a str,
    /// The line number of the first line of the body.
    pub(crate) body_line: usize,
    /// The lines of the whole document, with the comments above it.
    pub(crate) lines: Range<usize>,
    /// The bytes of the whole document, with the comments above it.
    pub(crate) range: Range<usize>,
}

/// The start of a line: its offset in the text, and its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineStart {
    pub(crate) offset: usize,
    pub(crate) line: usize,
}

/// The start of a document whose end is not known yet.
struct OpenDocument<'a> {
    above: Vec<&'a str>,
    inline: &'a str,
    body: LineStart,
}

/// The role of a line for the cuts between documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Starts a document: `---`, perhaps with text after a space.
    Marker,
    /// A comment from the start of the line on.
    Comment,
    /// Nothing but spaces and tabs.
    Blank,
    /// Any other line of a document.
    Content,
}

impl LineKind {
    /// The kind of a line, which may have its line break.
    pub(crate) fn of(line: &[u8]) -> Self {
        let text = line
            .strip_suffix(b"\n")
            .map_or(line, |text| text.strip_suffix(b"\r").unwrap_or(text));
        match text {
            [b'-', b'-', b'-'] | [b'-', b'-', b'-', b' ' | b'\t', ..] => Self::Marker,
            [b'#', ..] => Self::Comment,
            _ if text.iter().all(|byte| matches!(byte, b' ' | b'\t')) => Self::Blank,
            _ => Self::Content,
        }
    }
}

/// The documents of `text`, whose first line has the number `first_line`. Comments at the end belong to none.
pub(crate) fn split(first_line: usize, text: &str) -> impl Iterator<Item = RawDocument<'_>> {
    let mut next = LineStart {
        offset: 0,
        line: first_line,
    };
    std::iter::from_fn(move || {
        let document = next_document(text, next)?;
        next = LineStart {
            offset: document.range.end,
            line: document.lines.end,
        };
        Some(document)
    })
}

/// The document of `text` that starts at `start`, with the comments above it; `None` if only comments follow.
pub(crate) fn next_document(text: &str, start: LineStart) -> Option<RawDocument<'_>> {
    let mut open: Option<OpenDocument> = None;
    // The first of the comments after the last content.
    let mut pending: Option<LineStart> = None;
    let mut last = start;
    for line in lines_from(start.line, &text[start.offset..]) {
        let here = LineStart {
            offset: start.offset + line.start,
            line: line.number,
        };
        last = LineStart {
            offset: start.offset + line.end,
            line: line.number + 1,
        };
        match (LineKind::of(line.text.as_bytes()), &open) {
            (LineKind::Marker, Some(_)) => {
                last = here;
                break;
            }
            (kind @ (LineKind::Marker | LineKind::Content), None) => {
                let is_marker = kind == LineKind::Marker;
                open = Some(OpenDocument {
                    above: comments(&text[start.offset..here.offset]),
                    inline: if is_marker { line.text[3..].trim() } else { "" },
                    body: if is_marker { last } else { here },
                });
                pending = None;
            }
            (LineKind::Comment, _) => {
                pending.get_or_insert(here);
            }
            (LineKind::Blank, _) => {}
            (LineKind::Content, Some(_)) => pending = None,
        }
    }
    let end = pending.unwrap_or(last);
    open.map(|open| RawDocument {
        above: open.above,
        inline: open.inline,
        body: &text[open.body.offset.min(end.offset)..end.offset],
        body_line: open.body.line,
        lines: start.line..end.line,
        range: start.offset..end.offset,
    })
}

/// The comments in a text of nothing but comments and blank lines.
pub(crate) fn comments(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    lines(text)
        .filter(|line| !line.is_blank())
        .map(|line| line.text.trim_end())
        .collect()
}
