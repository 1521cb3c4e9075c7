//! Lines of a CDXJ index: `KEY TIMESTAMP {JSON}`, one for each capture.
//!
//! The fields and their order are those of pywb and cdxj-indexer, and all values are text. A line is
//! plain ASCII, so that all programs agree where it ends and how it sorts.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::extent::Extent;
use crate::header::date::timestamp_to_date;
use crate::header::id::strip_brackets;
use crate::header::{Header, RecordType, WarcDate};
use crate::http::{StoredHead, StoredRequest};
use crate::render::without_blanks;
use crate::segment;

/// The `mime` of a revisit's line.
pub const REVISIT_MIME: &str = "warc/revisit";

/// The `mime` of the line of a continuation, which is no capture.
pub const CONTINUATION_MIME: &str = "warc/continuation";

/// The beginning of the keys of continuations, which no URL with a host has.
pub(crate) const CONTINUATION_KEY: &str = "continuation:";

/// The field of a capture with a request header that tells captures of one URL apart, such as
/// `accept: text/turtle`; repeated for each such header. An extension of the standard.
pub const VARY_FIELD: &str = "WARC-Vary";

/// The field of a revisit without a head with the status of its response. An extension of the standard.
pub const STATUS_FIELD: &str = "WARC-Status";

/// The content type of metadata that describes a capture and is not a capture itself.
const WARC_FIELDS: &str = "application/warc-fields";

/// Makes the sort keys of an index. crates/canon knows their form; this crate does not.
///
/// A function from a URL to its key implements this trait for archives of GET requests only. Several
/// threads call it at once.
pub trait SortKeys: Sync {
    /// The sort key of a URL (SURT).
    fn key(&self, url: &str) -> String;

    /// The sort key of the response to a request other than GET, which includes method and body, and
    /// the `requestBody` of its line. `None` if the request does not change the key.
    fn key_of_request(&self, url: &str, request: &StoredRequest) -> Option<(String, String)> {
        let _ = (url, request);
        None
    }
}

impl<F: Fn(&str) -> String + Sync> SortKeys for F {
    fn key(&self, url: &str) -> String {
        self(url)
    }
}

/// The position of a record in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLocation<'a> {
    /// The file, relative to the directory of the archive.
    pub filename: &'a str,
    /// The position in the file.
    pub extent: Extent,
}

/// A request other than GET, in an index line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdxjRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The body, in the form that is part of the key.
    pub body: String,
}

/// An index line: one capture and its position in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdxjLine {
    /// The sort key of the URL (SURT), from [`SortKeys`].
    pub key: String,
    /// `YYYYMMDDhhmmss`.
    pub timestamp: String,
    /// The URL.
    pub url: String,
    /// The media type of the payload, or [`REVISIT_MIME`].
    pub mime: String,
    /// The HTTP status; `None` for a revisit that does not state it.
    pub status: Option<u16>,
    /// The digest of the payload, as in the record.
    pub digest: String,
    /// The position of the record in its file.
    pub extent: Extent,
    /// The file, relative to the directory of the archive.
    pub filename: String,
    /// The request, if its method is not GET.
    pub request: Option<CdxjRequest>,
    /// The request headers that tell captures of the URL apart, from [`VARY_FIELD`], one a line. They are no part of
    /// the key.
    pub vary: Option<String>,
    /// Why the block of the record is not whole, as in `WARC-Truncated`; `None` if it is whole, or
    /// if another program made the index.
    pub truncated: Option<String>,
}

/// Why a line cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCdxjLine {
    /// The line is not of the form `KEY TIMESTAMP {JSON}`.
    #[error("an index line should be KEY TIMESTAMP {{JSON}}, this is {text:?}")]
    Shape {
        /// The beginning of the line.
        text: String,
    },
    /// A field is missing, or does not have the right type.
    #[error("the index line of {key} has no good {field:?}")]
    Field {
        /// The line's key.
        key: String,
        /// The field's name.
        field: &'static str,
    },
    /// The key is not one word of printable ASCII.
    #[error("{key:?} cannot be the key of an index line")]
    Key {
        /// The key.
        key: String,
    },
}

impl CdxjLine {
    /// Whether a record with this header has an index line: a response, a revisit, a resource, or
    /// metadata with a URI of its own. Metadata under the URI of a page describes the page and is no
    /// capture of it.
    pub fn describes(header: &Header) -> bool {
        let is_of_page = || header.target_uri().is_some_and(is_of_web);
        let is_description = || essence(header).as_deref() == Some(WARC_FIELDS);
        match header.record_type() {
            Some(RecordType::Response | RecordType::Revisit) => true,
            Some(RecordType::Resource) => !is_description(),
            Some(RecordType::Metadata) => !is_description() && !is_of_page(),
            _ => false,
        }
    }

    /// The URL of the line of a record with this header: its target URI with blanks percent-encoded, as
    /// clients request it.
    pub fn url_of(header: &Header) -> Option<String> {
        header.target_uri().map(without_blanks)
    }

    /// The line of a record at `location`, with the key that `key` makes from its URL. `head` is the HTTP
    /// head of the record's block, if any. `None` if the record has no line ([`CdxjLine::describes`]),
    /// or lacks a URI or a date.
    pub fn of_record(
        header: &Header,
        head: Option<&StoredHead>,
        location: RecordLocation<'_>,
        key: impl FnOnce(&str) -> String,
    ) -> Option<Self> {
        if !Self::describes(header) {
            return None;
        }
        let mime = match header.record_type()? {
            RecordType::Revisit => Some(REVISIT_MIME.to_owned()),
            RecordType::Response if header.is_http() => head.and_then(StoredHead::media_type),
            RecordType::Response => head
                .and_then(StoredHead::media_type)
                .or_else(|| essence(header)),
            _ => essence(header),
        };
        let url = Self::url_of(header)?;
        let date = date_of(header)?;
        Some(Self {
            key: key(&url),
            timestamp: date.to_timestamp14(),
            url,
            mime: mime.unwrap_or_else(|| "unk".to_owned()),
            status: head
                .map(|head| head.status)
                .or_else(|| header.get(STATUS_FIELD)?.parse().ok()),
            digest: header.get("WARC-Payload-Digest").unwrap_or("-").to_owned(),
            extent: location.extent,
            filename: location.filename.to_owned(),
            request: None,
            vary: vary_of(header),
            truncated: header.get("WARC-Truncated").map(str::to_owned),
        })
    }

    /// The line of a continuation at `location`, whose URL is the id of the first segment. `None` for any other
    /// record, or without an id or a date.
    pub fn of_continuation(header: &Header, location: RecordLocation<'_>) -> Option<Self> {
        let is_continuation = header.record_type() == Some(RecordType::Continuation);
        let origin = segment::origin(header).filter(|_| is_continuation)?;
        Some(Self {
            key: continuation_key(origin)?,
            timestamp: date_of(header)?.to_timestamp14(),
            url: origin.to_owned(),
            mime: CONTINUATION_MIME.to_owned(),
            status: None,
            digest: "-".to_owned(),
            extent: location.extent,
            filename: location.filename.to_owned(),
            request: None,
            vary: None,
            truncated: None,
        })
    }

    /// Sets the request of the capture, which may change the key.
    pub fn set_request(&mut self, request: &StoredRequest, keys: &impl SortKeys) {
        if let Some((key, body)) = keys.key_of_request(&self.url, request) {
            self.key = key;
            self.request = Some(CdxjRequest {
                method: request.method.clone(),
                body,
            });
        }
    }

    /// Renders the line, without a line end.
    pub fn render(&self) -> Result<String, InvalidCdxjLine> {
        if self.key.is_empty() || !self.key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidCdxjLine::Key {
                key: self.key.clone(),
            });
        }
        if !is_timestamp(&self.timestamp) {
            return Err(self.bad("timestamp"));
        }
        let status = self.status.map(|status| status.to_string());
        let request = self.request.as_ref();
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
            ("requestBody", request.map(|request| request.body.as_str())),
            ("method", request.map(|request| request.method.as_str())),
            ("vary", self.vary.as_deref()),
            ("truncated", self.truncated.as_deref()),
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

    /// Reads a line. Unknown fields are dropped.
    pub fn parse(line: &str) -> Result<Self, InvalidCdxjLine> {
        let shape = || InvalidCdxjLine::Shape {
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
        let bad = |field| InvalidCdxjLine::Field {
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
            request: optional("method").map(|method| CdxjRequest {
                method,
                body: optional("requestBody").unwrap_or_default(),
            }),
            vary: optional("vary"),
            truncated: optional("truncated"),
        })
    }

    fn bad(&self, field: &'static str) -> InvalidCdxjLine {
        InvalidCdxjLine::Field {
            key: self.key.clone(),
            field,
        }
    }
}

/// The key of the continuations of the record with this id; `None` if no key can have the id.
pub fn continuation_key(id: &str) -> Option<String> {
    let id = strip_brackets(id);
    let is_fit = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
    is_fit.then(|| format!("{CONTINUATION_KEY}{id}"))
}

/// The values of [`VARY_FIELD`], one a line.
pub fn vary_of(header: &Header) -> Option<String> {
    let values: Vec<&str> = header
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case(VARY_FIELD))
        .map(|(_, value)| value)
        .collect();
    (!values.is_empty()).then(|| values.join("\n"))
}

/// The date of a record, in the form of any version, as [`WarcDate`] has it.
pub(crate) fn date_of(header: &Header) -> Option<WarcDate> {
    date_in(header.get("WARC-Date")?)
}

/// The date in a field, in the form of any version.
pub(crate) fn date_in(text: &str) -> Option<WarcDate> {
    let of_timestamp = || timestamp_to_date(text)?.parse().ok();
    WarcDate::first_moment_of(text).or_else(of_timestamp)
}

/// Whether the URI is one that is fetched over HTTP.
fn is_of_web(uri: &str) -> bool {
    let scheme = uri.split(':').next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// The content type of a record, without its parameters.
fn essence(header: &Header) -> Option<String> {
    let essence = header
        .get("Content-Type")?
        .split(';')
        .next()?
        .trim()
        .to_ascii_lowercase();
    (!essence.is_empty()).then_some(essence)
}

fn is_timestamp(text: &str) -> bool {
    text.len() == 14 && text.bytes().all(|b| b.is_ascii_digit())
}

/// Adds a JSON string: non-ASCII characters and DEL as `\uXXXX`.
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
