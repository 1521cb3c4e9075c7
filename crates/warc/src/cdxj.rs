//! Lines of a CDXJ index: `KEY TIMESTAMP {JSON}`, one for each capture.
//!
//! The fields, their order and their all being text are what pywb and cdxj-indexer write. A line is
//! plain ASCII, so that no two programs disagree about where it ends or how it sorts.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::date::WarcDate;
use crate::header::{Header, RecordType};
use crate::http::{StoredHead, StoredRequest};
use crate::writer::Extent;

/// The `mime` of a line about a revisit.
pub const REVISIT: &str = "warc/revisit";

/// The content type of metadata that is about a capture and is none itself.
const WARC_FIELDS: &str = "application/warc-fields";

/// What the keys of an index are made by: crates/canon knows how, this crate does not.
///
/// A function from a URL to its key will do where nothing but GET was asked. Files are indexed by
/// several threads.
pub trait Keys: Sync {
    /// The sort key of a URL (SURT).
    fn key(&self, url: &str) -> String;

    /// The sort key of the answer to a request other than GET, into which method and body go, and the
    /// text for the `requestBody` of its line. `None` if the request makes no difference.
    fn key_of_request(&self, url: &str, request: &StoredRequest) -> Option<(String, String)> {
        let _ = (url, request);
        None
    }
}

impl<F: Fn(&str) -> String + Sync> Keys for F {
    fn key(&self, url: &str) -> String {
        self(url)
    }
}

/// What a line says of a request other than GET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `POST` and the like.
    pub method: String,
    /// What was sent, in the form that has become part of the key.
    pub body: String,
}

/// One capture and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdxjLine {
    /// The URL as a sort key (SURT), which crates/canon makes.
    pub key: String,
    /// `YYYYMMDDhhmmss`.
    pub timestamp: String,
    /// The URL itself.
    pub url: String,
    /// The media type of the payload, or [`REVISIT`].
    pub mime: String,
    /// The HTTP status; a revisit with an empty block has none.
    pub status: Option<u16>,
    /// The payload's digest, as the record spells it.
    pub digest: String,
    /// Where the record stands in its file.
    pub extent: Extent,
    /// The file, relative to the directory of the archive.
    pub filename: String,
    /// How it was asked for, if not with GET.
    pub asked: Option<Asked>,
}

/// Where a record stands in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file, relative to the directory of the archive.
    pub filename: &'a str,
    /// Where in the file.
    pub extent: Extent,
}

/// A line that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLine {
    /// Not of the form `KEY TIMESTAMP {JSON}`.
    #[error("an index line should be KEY TIMESTAMP {{JSON}}, this is {text:?}")]
    Shape {
        /// The beginning of the line.
        text: String,
    },
    /// A field is missing, or is not the text or number that it should be.
    #[error("the index line of {key} has no good {field:?}")]
    Field {
        /// The line's key.
        key: String,
        /// The field's name.
        field: &'static str,
    },
    /// A key is one word of printable ASCII.
    #[error("{key:?} cannot be the key of an index line")]
    Key {
        /// The key.
        key: String,
    },
}

impl CdxjLine {
    /// Whether there is a line about such a record: a response or a revisit, a resource, or metadata
    /// that may be asked for under a URI of its own.
    pub fn is_about(header: &Header) -> bool {
        match header.record_type() {
            Some(RecordType::Response | RecordType::Revisit) => true,
            Some(RecordType::Resource | RecordType::Metadata) => {
                essence(header).as_deref() != Some(WARC_FIELDS)
            }
            _ => false,
        }
    }

    /// The line about a record at `place`, with the key that `key` makes of its URL. `head` is that of
    /// the record's block, if it has one. `None` if there is to be no line about it
    /// ([`CdxjLine::is_about`]), or if it lacks a URI or a date.
    pub fn of_record(
        header: &Header,
        head: Option<&StoredHead>,
        place: Place<'_>,
        key: impl FnOnce(&str) -> String,
    ) -> Option<Self> {
        if !Self::is_about(header) {
            return None;
        }
        let mime = match header.record_type()? {
            RecordType::Revisit => Some(REVISIT.to_owned()),
            RecordType::Response => head.and_then(StoredHead::media_type),
            _ => essence(header),
        };
        let url = url_of(header)?;
        let date: WarcDate = header.get("WARC-Date")?.parse().ok()?;
        Some(Self {
            key: key(&url),
            timestamp: date.to_timestamp14(),
            url,
            mime: mime.unwrap_or_else(|| "unk".to_owned()),
            status: head.map(|head| head.status),
            digest: header.get("WARC-Payload-Digest").unwrap_or("-").to_owned(),
            extent: place.extent,
            filename: place.filename.to_owned(),
            asked: None,
        })
    }

    /// Takes the request to which the capture is the answer into the key.
    pub fn ask(&mut self, request: &StoredRequest, keys: &impl Keys) {
        if let Some((key, body)) = keys.key_of_request(&self.url, request) {
            self.key = key;
            self.asked = Some(Asked {
                method: request.method.clone(),
                body,
            });
        }
    }

    /// The line, without a line end.
    pub fn render(&self) -> Result<String, InvalidLine> {
        if self.key.is_empty() || !self.key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidLine::Key {
                key: self.key.clone(),
            });
        }
        if !is_timestamp(&self.timestamp) {
            return Err(self.bad("timestamp"));
        }
        let status = self.status.map(|status| status.to_string());
        let asked = self.asked.as_ref();
        let (length, offset) = (
            self.extent.length.to_string(),
            self.extent.offset.to_string(),
        );
        let fields = [
            ("url", Some(self.url.as_str())),
            ("mime", Some(self.mime.as_str())),
            ("status", status.as_deref()),
            ("digest", Some(self.digest.as_str())),
            ("length", Some(length.as_str())),
            ("offset", Some(offset.as_str())),
            ("filename", Some(self.filename.as_str())),
            ("requestBody", asked.map(|asked| asked.body.as_str())),
            ("method", asked.map(|asked| asked.method.as_str())),
        ];
        let mut line = format!("{} {} {{", self.key, self.timestamp);
        let present = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        for (number, (name, value)) in present.enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            // Writing to a string does not fail.
            let _ = write!(line, "{comma}\"{name}\": ");
            push_json(&mut line, value);
        }
        line.push('}');
        Ok(line)
    }

    /// Reads a line. Fields that it does not know are dropped.
    pub fn parse(line: &str) -> Result<Self, InvalidLine> {
        let shape = || InvalidLine::Shape {
            text: line.chars().take(60).collect(),
        };
        let mut parts = line.trim_end_matches(['\r', '\n']).splitn(3, ' ');
        let (Some(key), Some(timestamp), Some(json)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(shape());
        };
        if key.is_empty() || !is_timestamp(timestamp) {
            return Err(shape());
        }
        let fields: Map<String, Value> = serde_json::from_str(json).map_err(|_| shape())?;
        let bad = |field| InvalidLine::Field {
            key: key.to_owned(),
            field,
        };
        let optional = |field| fields.get(field).and_then(Value::as_str).map(str::to_owned);
        let text = |field| optional(field).ok_or_else(|| bad(field));
        let number = |field| text(field)?.parse::<u64>().map_err(|_| bad(field));
        let status = optional("status").filter(|status| status != "-");
        Ok(Self {
            key: key.to_owned(),
            timestamp: timestamp.to_owned(),
            url: text("url")?,
            mime: optional("mime").unwrap_or_else(|| "unk".to_owned()),
            status: status
                .map(|status| status.parse().map_err(|_| bad("status")))
                .transpose()?,
            digest: optional("digest").unwrap_or_else(|| "-".to_owned()),
            extent: Extent {
                offset: number("offset")?,
                length: number("length")?,
            },
            filename: text("filename")?,
            asked: optional("method").map(|method| Asked {
                method,
                body: optional("requestBody").unwrap_or_default(),
            }),
        })
    }

    fn bad(&self, field: &'static str) -> InvalidLine {
        InvalidLine::Field {
            key: self.key.clone(),
            field,
        }
    }
}

/// The URL under which a record is found. Some programs leave blanks in URIs; a client asks for %20.
pub(crate) fn url_of(header: &Header) -> Option<String> {
    Some(header.target_uri()?.replace(' ', "%20"))
}

/// The content type of a record, without its parameters.
fn essence(header: &Header) -> Option<String> {
    let value = header.get("Content-Type")?;
    let essence = value.split(';').next()?.trim().to_ascii_lowercase();
    (!essence.is_empty()).then_some(essence)
}

fn is_timestamp(text: &str) -> bool {
    text.len() == 14 && text.bytes().all(|b| b.is_ascii_digit())
}

/// Adds a text in JSON: all but ASCII, and DEL, as `\uXXXX`.
fn push_json(line: &mut String, text: &str) {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        line.push('"');
        line.push_str(text);
        line.push('"');
        return;
    }
    for c in Value::from(text).to_string().chars() {
        if c.is_ascii() && c != '\x7f' {
            line.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(line, "\\u{unit:04x}");
        }
    }
}
