//! Multipart forms (RFC 2388), read as leniently as the `cgi` module of Python: lines may end in LF
//! alone, and text around the parts is skipped.

use super::limits::MAX_MULTIPART_DEPTH;

/// The parts of a multipart body (RFC 2046).
#[derive(Debug, PartialEq)]
pub(super) struct Multipart<'a> {
    pub(super) parts: Vec<BodyPart<'a>>,
    /// Whether the last delimiter was found.
    pub(super) is_closed: bool,
}

#[derive(Debug, PartialEq)]
pub(super) struct BodyPart<'a> {
    /// The name of the form field.
    pub(super) name: Option<String>,
    /// The name of the file, for a file.
    pub(super) filename: Option<String>,
    pub(super) content: PartContent<'a>,
}

#[derive(Debug, PartialEq)]
pub(super) enum PartContent<'a> {
    /// The value of a field, or a file.
    Bytes(&'a [u8]),
    /// The parts of a nested multipart.
    Parts(Vec<BodyPart<'a>>),
}

impl<'a> PartContent<'a> {
    /// The bytes; `None` for a nested multipart.
    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Parts(_) => None,
        }
    }
}

/// The parts of a body; `None` if the content type names no valid boundary, or if the multiparts are
/// nested too deeply.
pub(super) fn parse<'a>(content_type: &str, body: &'a [u8]) -> Option<Multipart<'a>> {
    parse_within(content_type, body, 0)
}

fn parse_within<'a>(content_type: &str, body: &'a [u8], depth: usize) -> Option<Multipart<'a>> {
    if depth > MAX_MULTIPART_DEPTH {
        return None;
    }
    let boundary = parameter(content_type, "boundary").filter(|name| is_boundary(name))?;
    let delimiter = format!("--{boundary}");
    let last = format!("--{boundary}--");
    let mut lines = LineReader { body, at: 0 };
    while let Some((_, line)) = lines.next()
        && line.trim_ascii() != delimiter.as_bytes()
    {}
    let mut form = Multipart {
        parts: vec![],
        is_closed: false,
    };
    while lines.at < body.len() && !form.is_closed {
        let header = PartHeader::read(&mut lines);
        let start = lines.at;
        let mut end = body.len();
        let mut at_line_start = true;
        while let Some((at, line)) = lines.next() {
            let trimmed = line.trim_ascii_end();
            form.is_closed = at_line_start && trimmed == last.as_bytes();
            if form.is_closed || (at_line_start && trimmed == delimiter.as_bytes()) {
                end = at;
                break;
            }
            at_line_start = line.ends_with(b"\n");
        }
        let value = without_line_end(body.get(start..end).unwrap_or_default());
        form.parts.push(header.part(value, depth)?);
    }
    Some(form)
}

/// Reads the lines of a body, with their ends and the position of each.
struct LineReader<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> LineReader<'a> {
    fn next(&mut self) -> Option<(usize, &'a [u8])> {
        let start = self.at;
        let end = self
            .body
            .get(start..)
            .filter(|rest| !rest.is_empty())?
            .iter()
            .position(|byte| *byte == b'\n');
        self.at = end.map_or(self.body.len(), |end| start + end + 1);
        Some((start, &self.body[start..self.at]))
    }
}

/// The header fields of a body part that are used here.
#[derive(Default)]
struct PartHeader {
    disposition: Option<String>,
    content_type: Option<String>,
}

impl PartHeader {
    fn read(lines: &mut LineReader<'_>) -> Self {
        let mut unfolded: Vec<String> = Vec::new();
        while let Some((_, line)) = lines.next()
            && !line.trim_ascii().is_empty()
        {
            let text = String::from_utf8_lossy(line);
            match unfolded.last_mut() {
                Some(before) if text.starts_with([' ', '\t']) => before.push_str(text.trim_end()),
                _ => unfolded.push(text.trim_end().to_owned()),
            }
        }
        let mut header = Self::default();
        for field in &unfolded {
            // A line that is no field ends the header, as in a mail.
            let Some((name, value)) = field.split_once(':') else {
                break;
            };
            let target = match name.to_ascii_lowercase().as_str() {
                "content-disposition" => &mut header.disposition,
                "content-type" => &mut header.content_type,
                _ => continue,
            };
            target.get_or_insert_with(|| value.trim().to_owned());
        }
        header
    }

    fn part(self, value: &[u8], depth: usize) -> Option<BodyPart<'_>> {
        let disposition = self.disposition.unwrap_or_default();
        let content_type = self.content_type.unwrap_or_default();
        let content = if content_type.starts_with("multipart/") {
            PartContent::Parts(parse_within(&content_type, value, depth + 1)?.parts)
        } else {
            PartContent::Bytes(value)
        };
        Some(BodyPart {
            name: parameter(&disposition, "name"),
            filename: parameter(&disposition, "filename"),
            content,
        })
    }
}

fn without_line_end(value: &[u8]) -> &[u8] {
    let bare = value.strip_suffix(b"\n").unwrap_or(value);
    bare.strip_suffix(b"\r").unwrap_or(bare)
}

/// Checks a boundary by the rules of RFC 2046 and Python: 1 to 201 printable characters, the last one
/// not a space.
fn is_boundary(boundary: &str) -> bool {
    boundary.len() <= 201
        && !boundary.ends_with(' ')
        && !boundary.is_empty()
        && boundary.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// A parameter of a header field such as `form-data; name="a"`; the last one of that name.
fn parameter(field: &str, wanted: &str) -> Option<String> {
    let mut found = None;
    for parameter in split_outside_quotes(field).into_iter().skip(1) {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        if name.trim().eq_ignore_ascii_case(wanted) {
            let value = value.trim();
            found = Some(
                value
                    .strip_prefix('"')
                    .and_then(|value| value.strip_suffix('"'))
                    .map_or_else(
                        || value.to_owned(),
                        |value| value.replace("\\\\", "\\").replace("\\\"", "\""),
                    ),
            );
        }
    }
    found
}

fn split_outside_quotes(field: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted, mut before) = (0, false, ' ');
    for (at, character) in field.char_indices() {
        match character {
            '"' if before != '\\' => quoted = !quoted,
            ';' if !quoted => {
                parts.push(&field[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        before = character;
    }
    parts.push(&field[start..]);
    parts
}
