//! Bare URLs in the text of Markdown, as the extension for autolinks of `cmark-gfm` finds them (GFM 6.9).
//!
//! A bare URL is found in the source, not in the text between marks: `_` and `*` inside of it are no emphasis. It differs
//! from `cmark-gfm` in these points: any white space of Unicode ends it, the parts of templates belong to it with
//! their blanks, and in brackets that are no link it ends before the next one.

use std::ops::Range;

/// The starts and the ends of the parts of templates.
pub(super) const TEMPLATES: [(&str, &str); 4] =
    [("{{", "}}"), ("{%", "%}"), ("${", "}"), ("<%", "%>")];

/// The length limit of a part of a template, in bytes.
const MAX_PART: usize = 256;

/// The most underscored names before a domain that is no domain.
const MAX_DOTS: usize = 10;

/// Text of one block that is neither code nor the text of a link.
#[derive(Debug, Default)]
pub(super) struct InlineText {
    /// The pieces of text in the source.
    pub(super) pieces: Vec<Range<usize>>,
    /// The offsets of pieces at the start of a line.
    pub(super) line_starts: Vec<usize>,
    /// The end of the block in the source.
    pub(super) end: usize,
    /// Whether the block is a cell of a table, where `\|` is a `|`.
    pub(super) is_cell: bool,
}

/// A bare URL in the source.
#[derive(Debug)]
pub(super) struct BareUrl {
    pub(super) range: Range<usize>,
    pub(super) url: String,
}

impl InlineText {
    /// The bare URLs of the block. Those behind a URL with marks of code, links or templates are not found: the block has
    /// another structure without these marks. The flag says whether there may be more.
    pub(super) fn urls(&self, source: &str) -> (Vec<BareUrl>, bool) {
        let source = source.get(..self.end).unwrap_or(source);
        let start = self.pieces.first().map_or(0, |first| first.start);
        let (mut found, mut done, mut depth) = (vec![], start, 0_usize);
        for piece in &self.pieces {
            let mut at = piece.start.max(done);
            while at < piece.end {
                let Some(rest) = source.get(at..) else {
                    at += 1;
                    continue;
                };
                let is_escaped = source.get(..at).is_some_and(|it| it.ends_with('\\'));
                let start = match rest.as_bytes().first() {
                    Some(b':') if rest.starts_with("://") => scheme_start(source, done, at),
                    Some(b'w') if rest.starts_with("www.") => {
                        self.may_begin(source, at).then_some(at)
                    }
                    Some(b'[') if !is_escaped => {
                        depth += 1;
                        None
                    }
                    Some(b']') if !is_escaped => {
                        depth = depth.saturating_sub(1);
                        None
                    }
                    _ => None,
                };
                let found_url = start.and_then(|start| bare_url(source, start, depth > 0));
                let Some(mut url) = found_url else {
                    at += 1;
                    continue;
                };
                if self.is_cell {
                    url.url = url.url.replace("\\|", "|");
                }
                let has_marks = source
                    .get(url.range.clone())
                    .unwrap_or_default()
                    .contains(['`', '[', ']', '<', '\\']);
                (at, done) = (url.range.end, url.range.end);
                found.push(url);
                if has_marks {
                    return (found, true);
                }
            }
        }
        (found, false)
    }

    /// Whether a URL without a scheme may begin at an offset.
    fn may_begin(&self, source: &str, at: usize) -> bool {
        let is_apart = source
            .get(..at)
            .and_then(|it| it.chars().next_back())
            .is_none_or(|it| it.is_whitespace() || "*_~(".contains(it));
        is_apart || self.line_starts.binary_search(&at).is_ok()
    }
}

/// The start of a URL with `://` at an offset, if its scheme is `http` or `https`.
fn scheme_start(source: &str, done: usize, at: usize) -> Option<usize> {
    let before = source.get(done..at)?;
    let scheme = before.bytes().rev();
    let length = scheme.take_while(u8::is_ascii_alphabetic).count();
    let scheme = before.get(before.len() - length..)?;
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    is_web.then_some(at - length)
}

/// The URL at an offset, if its domain can be one.
fn bare_url(source: &str, start: usize, in_brackets: bool) -> Option<BareUrl> {
    let text = source.get(start..)?;
    let has_scheme = !text.starts_with("www.");
    let host = if has_scheme {
        text.find("://")? + "://".len()
    } else {
        0
    };
    let rest = text.get(host..)?;
    let is_template = template_length(rest).is_some();
    let domain = domain(rest).filter(|dots| has_scheme || *dots > 0);
    if domain.is_none() && !is_template {
        return None;
    }
    let text = text.get(..host + raw_length(rest, in_brackets))?;
    let text = without_punctuation(text);
    let plain = text.replace("&amp;", "&");
    Some(BareUrl {
        range: start..start + text.len(),
        url: if has_scheme {
            plain
        } else {
            format!("http://{plain}")
        },
    })
}

/// The number of dots of the domain at the start of a text; `None` if it is none. The last byte of the text does not count.
fn domain(text: &str) -> Option<usize> {
    text.chars()
        .next()
        .filter(|first| first.is_alphanumeric())?;
    let (mut dots, mut before_dot, mut behind_dot) = (0, 0, 0);
    let bytes = text.as_bytes();
    let (mut at, last) = (1, bytes.len() - 1);
    while at < last {
        // An escaped character counts as itself.
        at += usize::from(bytes[at] == b'\\' && at + 1 < last);
        match bytes[at] {
            b'_' => behind_dot += 1,
            b'.' => {
                dots += 1;
                before_dot = std::mem::take(&mut behind_dot);
            }
            b'-' => {}
            other if other.is_ascii_alphanumeric() => {}
            _ => break,
        }
        at += 1;
    }
    let has_underscore = before_dot > 0 || behind_dot > 0;
    (!has_underscore || dots > MAX_DOTS).then_some(dots)
}

/// The length of a text up to a blank, a `<`, and in brackets up to one of these.
fn raw_length(text: &str, in_brackets: bool) -> usize {
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        if let Some(length) = template_length(rest) {
            at += length;
            continue;
        }
        let is_end =
            |char: char| char == '<' || is_blank(char) || in_brackets && matches!(char, '[' | ']');
        match rest.chars().next().filter(|char| !is_end(*char)) {
            Some(char) => at += char.len_utf8(),
            None => break,
        }
    }
    at
}

/// Whether a character ends a bare URL: white space of Unicode, also without width.
fn is_blank(char: char) -> bool {
    let has_no_width = matches!(char, '\u{180e}' | '\u{200b}' | '\u{2060}' | '\u{feff}');
    char.is_whitespace() || has_no_width
}

/// The length of the part of a template at the start of a text. It ends on its line.
fn template_length(text: &str) -> Option<usize> {
    let (start, end) = TEMPLATES
        .iter()
        .find(|(start, _)| text.starts_with(start))?;
    let inside = text.get(start.len()..)?;
    let most = inside.floor_char_boundary(MAX_PART);
    let line = inside.get(..most)?.split('\n').next()?;
    Some(start.len() + line.find(end)? + end.len())
}

/// The text without the punctuation at its end that belongs to the sentence around it.
fn without_punctuation(text: &str) -> &str {
    let count = |wanted: u8| text.bytes().filter(|byte| *byte == wanted).count();
    let (open, mut closed) = (count(b'('), count(b')'));
    let mut text = text;
    loop {
        text = match text.as_bytes().last() {
            Some(b')') if closed > open => {
                closed -= 1;
                &text[..text.len() - 1]
            }
            Some(b'?' | b'!' | b'.' | b',' | b':' | b'*' | b'_' | b'~' | b'\'' | b'"') => {
                &text[..text.len() - 1]
            }
            // An entity, or the end of a part of a sentence.
            Some(b';') => {
                let before = &text[..text.len() - 1];
                let name = before.trim_end_matches(|char: char| char.is_ascii_alphabetic());
                match name.strip_suffix('&').filter(|_| name.len() < before.len()) {
                    Some(rest) => rest,
                    None => before,
                }
            }
            _ => return text,
        };
    }
}
