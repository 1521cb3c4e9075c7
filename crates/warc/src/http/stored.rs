//! Heads of stored messages, read as tolerantly as browsers do.
//!
//! A line may end with a line feed only. A field may be folded. A line without a field is left out. A
//! status needs no reason, and the version may be any text, such as `HTTP/1.x` in the WARC 0.9 draft.

use std::io::{self, BufRead, Read};

use super::body::StoredBody;
use crate::header::is_token;

/// Length limit of an HTTP head, in bytes.
pub const MAX_HTTP_HEAD: u64 = 256 * 1024;

/// Length limit of the part of a request's body that is read, in bytes.
pub const MAX_REQUEST_BODY: usize = 1024 * 1024;

/// The head of a stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHead {
    /// The status.
    pub status: u16,
    /// The fields, in order, without the blanks around their values.
    pub fields: Vec<(String, Vec<u8>)>,
}

impl StoredHead {
    /// Reads a response head through its blank line, and leaves the input at the body. `None` if the
    /// input is not a response head, ends before the blank line, or is larger than [`MAX_HTTP_HEAD`].
    pub fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let head = HeadBytes::read(input, &mut bytes)?.filter(|head| head.is_complete);
        Ok(head.and_then(HeadBytes::to_stored))
    }

    /// The first value of the field with this name, which is case-insensitive.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.fields
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    /// The content type without its parameters, in lower case; `None` if absent.
    pub fn media_type(&self) -> Option<String> {
        let media_type = String::from_utf8_lossy(self.get("Content-Type")?)
            .split(';')
            .next()?
            .trim()
            .to_ascii_lowercase();
        (!media_type.is_empty()).then_some(media_type)
    }

    /// Whether the head says that the body is in chunks.
    pub fn is_chunked(&self) -> bool {
        self.get("Transfer-Encoding").is_some_and(names_chunked)
    }
}

/// A stored request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRequest {
    /// The method as sent, such as `GET`.
    pub method: String,
    /// The content type of the body; empty if none was sent.
    pub content_type: String,
    /// The first mebibyte of the body, without chunks.
    pub body: Vec<u8>,
}

impl StoredRequest {
    /// Reads a request. `None` if the input is not a request, or its head is larger than
    /// [`MAX_HTTP_HEAD`].
    pub fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        Ok(Self::read_with_rest(input)?.map(|(request, _)| request))
    }

    /// Reads a request, and returns besides whether its body is longer than the part that is read.
    /// `None` as for [`StoredRequest::read`].
    pub fn read_with_rest(input: &mut impl BufRead) -> io::Result<Option<(Self, bool)>> {
        let mut bytes = Vec::new();
        let head = HeadBytes::read(input, &mut bytes)?;
        let chunked = head.is_some_and(|head| head.is_chunked());
        let Some(mut request) = head.and_then(Self::of_head) else {
            return Ok(None);
        };
        let mut body = StoredBody::new(input, chunked);
        body.by_ref()
            .take(MAX_REQUEST_BODY as u64)
            .read_to_end(&mut request.body)?;
        // Behind the last byte of the body, the input may have the last chunk.
        let has_rest = body.read(&mut [0])? > 0;
        Ok(Some((request, has_rest)))
    }

    /// A request without its body, from its head. `None` if `head` is not a complete request head.
    pub(crate) fn of_head(head: HeadBytes<'_>) -> Option<Self> {
        let method = head.method().filter(|_| head.is_complete)?;
        let content_type = head.get("Content-Type").unwrap_or_default();
        Some(Self {
            method: method.to_owned(),
            content_type: String::from_utf8_lossy(content_type).into_owned(),
            body: Vec::new(),
        })
    }

    /// Adds bytes to the body, up to a mebibyte in all.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = MAX_REQUEST_BODY.saturating_sub(self.body.len());
        self.body.extend(&bytes[..bytes.len().min(room)]);
    }

    /// Whether the method is GET, so that the URL alone is the key of the response.
    pub(crate) fn is_get(&self) -> bool {
        self.method.eq_ignore_ascii_case("GET")
    }
}

/// The bytes of a head, with its blank line if present, and without blank lines before it.
#[derive(Clone, Copy)]
pub(crate) struct HeadBytes<'a> {
    bytes: &'a [u8],
    /// The length in the block, with blank lines before the head.
    pub(crate) length: u64,
    /// Whether the blank line is present.
    pub(crate) is_complete: bool,
}

impl<'a> HeadBytes<'a> {
    /// Reads a head into `bytes`, which is emptied first, with the blank lines before it. `None` if the head is
    /// larger than [`MAX_HTTP_HEAD`].
    pub(crate) fn read(
        input: &mut impl BufRead,
        bytes: &'a mut Vec<u8>,
    ) -> io::Result<Option<Self>> {
        let mut input = input.take(MAX_HTTP_HEAD);
        bytes.clear();
        let (mut start, mut is_complete) = (0, false);
        while !is_complete {
            let line = bytes.len();
            if input.read_until(b'\n', bytes)? == 0 {
                break;
            }
            // Some programs end lines with two carriage returns and a line feed.
            let is_blank = bytes.ends_with(b"\n") && bytes[line..].trim_ascii().is_empty();
            if is_blank && line == start {
                start = bytes.len();
            } else {
                is_complete = is_blank;
            }
        }
        let fits = is_complete || input.limit() > 0;
        Ok(fits.then_some(Self {
            bytes: &bytes[start..],
            length: bytes.len() as u64,
            is_complete,
        }))
    }

    fn start_line(&self) -> &'a [u8] {
        let end = memchr::memchr(b'\n', self.bytes).unwrap_or(self.bytes.len());
        self.bytes[..end].trim_ascii_end()
    }

    /// The status of a response head; `None` for other heads.
    pub(crate) fn status(&self) -> Option<u16> {
        let mut words = self.start_line().split(u8::is_ascii_whitespace);
        let version = words.next()?;
        if !version.starts_with(b"HTTP/") && version != b"ICY" {
            return None;
        }
        let status = words.find(|word| !word.is_empty())?;
        let digits = status.len() == 3 && status.iter().all(u8::is_ascii_digit);
        digits.then(|| std::str::from_utf8(status).ok()?.parse().ok())?
    }

    /// The method of a request head; `None` for other heads.
    pub(crate) fn method(&self) -> Option<&'a str> {
        let line = std::str::from_utf8(self.start_line()).ok()?;
        let (method, _) = line.split_once(' ')?;
        is_token(method).then_some(method)
    }

    /// The fields, in order. The value of a folded field includes its line ends.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut rest = after_line(self.bytes);
        std::iter::from_fn(move || {
            while !rest.is_empty() {
                let mut end = line_end(rest);
                while matches!(rest.get(end), Some(b' ' | b'\t')) {
                    end += line_end(&rest[end..]);
                }
                let (field, more) = rest.split_at(end);
                rest = more;
                if let Some(colon) = memchr::memchr(b':', field) {
                    let value = field[colon + 1..].trim_ascii();
                    return Some((field[..colon].trim_ascii(), value));
                }
            }
            None
        })
    }

    /// The first value of the field with this name, which is case-insensitive.
    pub(crate) fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.fields()
            .find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Whether the head says that the body is in chunks.
    pub(crate) fn is_chunked(&self) -> bool {
        self.get("Transfer-Encoding").is_some_and(names_chunked)
    }

    /// Whether each line after the first is a field, or a part of one, so that only the blank line is
    /// missing. The last line may be cut off.
    pub(crate) fn has_only_fields(&self) -> bool {
        after_line(self.bytes)
            .split_inclusive(|b| *b == b'\n')
            .into_iter()
            .all(|line| {
                !line.ends_with(b"\n")
                    || line.starts_with(b" ")
                    || line.starts_with(b"\t")
                    || line.contains(&b':')
            })
    }

    /// The status and the fields.
    pub(crate) fn to_stored(self) -> Option<StoredHead> {
        Some(StoredHead {
            status: self.status()?,
            fields: self.owned_fields(),
        })
    }

    fn owned_fields(&self) -> Vec<(String, Vec<u8>)> {
        let owned = |(name, value): (&[u8], &[u8])| {
            (String::from_utf8_lossy(name).into_owned(), unfold(value))
        };
        self.fields().map(owned).collect()
    }
}

/// The length of the first line, including its end.
fn line_end(bytes: &[u8]) -> usize {
    memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1)
}

fn after_line(bytes: &[u8]) -> &[u8] {
    &bytes[line_end(bytes)..]
}

/// Joins the lines of a folded value with blanks.
fn unfold(value: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = value
        .split(|b| *b == b'\n')
        .map(<[u8]>::trim_ascii)
        .collect();
    lines.join(&b' ')
}

fn names_chunked(value: &[u8]) -> bool {
    value
        .split(|b| *b == b',')
        .any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}
