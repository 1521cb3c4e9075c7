//! The header of a record (WARC/1.1 §4): named fields, in order; ids, dates and versions.

pub(crate) mod date;
pub(crate) mod id;
pub(crate) mod version;

pub use self::date::{InvalidDate, WarcDate};
use self::id::strip_brackets;
pub use self::id::{InvalidRecordId, RecordId};
pub use self::version::Version;
use crate::digest::Digest;

/// Length limit of headers that are read or written, in bytes, including version line and blank line.
pub const MAX_RECORD_HEADER: usize = 64 * 1024;

/// The record types of WARC/1.1 §6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the specification's own")]
pub enum RecordType {
    Warcinfo,
    Response,
    Resource,
    Request,
    Metadata,
    Revisit,
    Conversion,
    Continuation,
}

impl RecordType {
    const NAMES: [(Self, &str); 8] = [
        (Self::Warcinfo, "warcinfo"),
        (Self::Response, "response"),
        (Self::Resource, "resource"),
        (Self::Request, "request"),
        (Self::Metadata, "metadata"),
        (Self::Revisit, "revisit"),
        (Self::Conversion, "conversion"),
        (Self::Continuation, "continuation"),
    ];

    /// The text of `WARC-Type`.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .into_iter()
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
    }

    /// The type with this name; `None` if the specification has no such type. Readers shall skip records
    /// of other types.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES
            .into_iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name))
            .map(|(kind, _)| kind)
    }
}

/// A field that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidField {
    /// The name is not a `token` of RFC 9110.
    #[error("{name:?} cannot be the name of a header field")]
    Name {
        /// The name.
        name: String,
    },
    /// The value has a control character. A line break, for example, would start another field.
    #[error("the value of the header field {name} has a control character: {value:?}")]
    Value {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
}

/// Named fields, in order. Names are case-insensitive; a name may occur more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    fields: Vec<(String, String)>,
}

impl Header {
    /// A header with the one field `WARC-Type`.
    pub fn new(kind: RecordType) -> Self {
        Self {
            fields: vec![("WARC-Type".to_owned(), kind.name().to_owned())],
        }
    }

    /// Adds a field at the end, without the blanks around its value.
    pub fn push(&mut self, name: &str, value: impl AsRef<str>) -> Result<(), InvalidField> {
        let value = value.as_ref().trim_matches([' ', '\t']);
        if !is_token(name) {
            return Err(InvalidField::Name {
                name: name.to_owned(),
            });
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(InvalidField::Value {
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        self.fields.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// The value of the first field of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// `WARC-Type`, if it is a type of the specification.
    pub fn record_type(&self) -> Option<RecordType> {
        self.get("WARC-Type").and_then(RecordType::from_name)
    }

    /// `WARC-Target-URI`, without the angle brackets that some programs write.
    pub fn target_uri(&self) -> Option<&str> {
        self.get("WARC-Target-URI").map(strip_brackets)
    }

    /// `WARC-Payload-Digest`; `None` if absent or not readable.
    pub fn payload_digest(&self) -> Option<Digest> {
        self.get("WARC-Payload-Digest")?.parse().ok()
    }

    /// Whether the block is an HTTP message, by its `Content-Type`.
    pub fn is_http(&self) -> bool {
        let essence = self
            .get("Content-Type")
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        ["application/http", "message/http"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(essence))
    }

    /// `Content-Length`, the length of the block in bytes; `None` if absent or not a number.
    pub fn content_length(&self) -> Option<u64> {
        let text = self.get("Content-Length")?;
        text.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| text.parse().ok())?
    }

    /// Adds a field of a record that was read. Its name and value are not checked.
    pub(crate) fn push_read(&mut self, name: &str, value: &str) {
        self.fields.push((name.to_owned(), value.to_owned()));
    }

    /// Removes the first field of that name.
    pub(crate) fn remove_first(&mut self, name: &str) {
        let is_it = |(known, _): &(String, String)| known.eq_ignore_ascii_case(name);
        if let Some(at) = self.fields.iter().position(is_it) {
            self.fields.remove(at);
        }
    }

    /// Keeps the fields for whose name `keep` returns true.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.fields.retain(|(name, _)| keep(name));
    }

    /// The text of the fields, without a version line or a blank line.
    pub(crate) fn render_fields(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.iter() {
            text.extend([name, ": ", value, "\r\n"]);
        }
        text
    }

    /// Appends a folded line to the value of the last field; false if there is no field.
    pub(crate) fn extend_read(&mut self, more: &str) -> bool {
        let Some((_, value)) = self.fields.last_mut() else {
            return false;
        };
        // The first line of the value may be empty.
        if !value.is_empty() {
            value.push(' ');
        }
        value.push_str(more);
        true
    }
}

/// Whether the text is a `token` of RFC 9110, such as a field name.
pub(crate) fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
