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

    /// Whether the line starts a document: `---`, perhaps with text after a space.
    fn is_marker(&self) -> bool {
        let rest = self.text.strip_prefix("---");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
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

/// A text split into documents.
#[derive(Debug)]
pub(crate) struct RawStream<'a> {
    pub(crate) documents: Vec<RawDocument<'a>>,
    /// The comments after the last document.
    pub(crate) footer: Range<usize>,
}

/// The start of a document whose end is not known yet.
struct DocumentStart<'a> {
    start: LineStart,
    above: Vec<&'a str>,
    inline: &'a str,
    body: LineStart,
}

/// The start of a line.
#[derive(Clone, Copy)]
struct LineStart {
    offset: usize,
    line: usize,
}

impl<'a> DocumentStart<'a> {
    fn close(self, text: &'a str, end: LineStart) -> RawDocument<'a> {
        RawDocument {
            above: self.above,
            inline: self.inline,
            body: &text[self.body.offset.min(end.offset)..end.offset],
            body_line: self.body.line,
            lines: self.start.line..end.line,
            range: self.start.offset..end.offset,
        }
    }
}

/// Splits `text`, whose first line has the number `first_line`, into documents.
pub(crate) fn split(first_line: usize, text: &str) -> RawStream<'_> {
    let mut documents = Vec::new();
    let mut open: Option<DocumentStart> = None;
    // The first of the comments after the last content.
    let mut pending: Option<LineStart> = None;
    let first = LineStart {
        offset: 0,
        line: first_line,
    };
    let mut last = first;
    for line in lines_from(first_line, text) {
        let here = LineStart {
            offset: line.start,
            line: line.number,
        };
        last = LineStart {
            offset: line.end,
            line: line.number + 1,
        };
        let marker = line.is_marker();
        if marker || (open.is_none() && !is_comment_or_blank(&line)) {
            let start = match open.take() {
                Some(previous) => {
                    let start = pending.unwrap_or(here);
                    documents.push(previous.close(text, start));
                    start
                }
                None => first,
            };
            open = Some(DocumentStart {
                start,
                above: comments(&text[start.offset..here.offset]),
                inline: if marker { line.text[3..].trim() } else { "" },
                body: if marker { last } else { here },
            });
            pending = None;
        } else if line.text.starts_with('#') {
            pending.get_or_insert(here);
        } else if !line.is_blank() {
            pending = None;
        }
    }
    let end = pending.unwrap_or(last);
    documents.extend(open.map(|open| open.close(text, end)));
    let footer = if documents.is_empty() { 0 } else { end.offset };
    RawStream {
        documents,
        footer: footer..text.len(),
    }
}

fn is_comment_or_blank(line: &SourceLine) -> bool {
    line.text.starts_with('#') || line.is_blank()
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
