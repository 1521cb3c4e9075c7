//! Record ids (WARC/1.1 §5.3): URIs that are unique to a record.

use std::fmt;
use std::str::FromStr;

/// The id of a record, without the angle brackets of headers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(String);

/// The text is not a URI that can be written between angle brackets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a record id, such as <urn:uuid:…>")]
pub struct InvalidRecordId {
    /// The text.
    pub text: String,
}

impl RecordId {
    /// A version 4 UUID of 16 random bytes, which the caller supplies.
    pub fn from_random(mut random: [u8; 16]) -> Self {
        random[6] = (random[6] & 0x0f) | 0x40;
        random[8] = (random[8] & 0x3f) | 0x80;
        let n = u128::from_be_bytes(random);
        Self(format!(
            "urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            n >> 96,
            (n >> 80) & 0xffff,
            (n >> 64) & 0xffff,
            (n >> 48) & 0xffff,
            n & 0xffff_ffff_ffff,
        ))
    }

    /// The bare URI.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id in angle brackets, as in headers.
    pub fn bracketed(&self) -> String {
        format!("<{}>", self.0)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RecordId {
    type Err = InvalidRecordId;

    /// Reads an id with or without angle brackets. Any scheme is accepted, because some programs use
    /// other URIs than `urn:uuid:`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = strip_brackets(text);
        let printable = bare
            .bytes()
            .all(|b| b.is_ascii_graphic() && !matches!(b, b'<' | b'>'));
        if bare.contains(':') && printable {
            Ok(Self(bare.to_owned()))
        } else {
            Err(InvalidRecordId {
                text: text.to_owned(),
            })
        }
    }
}

/// Removes angle brackets, if any. Some programs leave them out where they belong, and some write them
/// where they do not: wget writes `WARC-Target-URI: <http://…>`.
pub(crate) fn strip_brackets(text: &str) -> &str {
    text.strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .unwrap_or(text)
}
