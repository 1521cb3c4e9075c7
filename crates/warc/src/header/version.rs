//! The formats of records, and the field names of WARC 0.9.

use std::fmt;

use crate::draft::{IDENTICAL_PAYLOAD_PROFILE, NOT_MODIFIED_PROFILE};
use crate::header::{Header, RecordType};

/// The format of a record. [`Reader`](crate::Reader) reads all of them; [`Writer`](crate::Writer) writes
/// some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// ARC, the predecessor of WARC; versions 1 and 2 of its header line.
    Arc,
    /// The draft of January 2006: a line of positional parameters, then named parameters.
    Warc09,
    /// A draft of the standard; named fields as in 1.0.
    Warc017,
    /// A later draft of the standard; named fields as in 1.0.
    Warc018,
    /// ISO 28500:2009
    Warc10,
    /// ISO 28500:2017
    Warc11,
}

impl Version {
    /// The versions whose records begin with a line that has only the version.
    const LINES: [(Self, &str); 4] = [
        (Self::Warc11, "WARC/1.1"),
        (Self::Warc10, "WARC/1.0"),
        (Self::Warc018, "WARC/0.18"),
        (Self::Warc017, "WARC/0.17"),
    ];

    /// The name, which begins a record's first line; `ARC` for ARC, whose records have no version.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arc => "ARC",
            Self::Warc09 => "WARC/0.9",
            Self::Warc017 => "WARC/0.17",
            Self::Warc018 => "WARC/0.18",
            Self::Warc10 => "WARC/1.0",
            Self::Warc11 => "WARC/1.1",
        }
    }

    /// The version whose records begin with this line.
    pub fn from_line(line: &str) -> Option<Self> {
        Self::LINES
            .into_iter()
            .find(|(_, text)| *text == line)
            .map(|(version, _)| version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The named parameters of WARC 0.9 (section 5.2 of the draft), each with its later name.
/// `Related-Record-ID` is not among them, because its later name depends on the type of the record.
pub(crate) const NAMES_09: [(&str, &str); 7] = [
    ("IP-Address", "WARC-IP-Address"),
    ("Checksum", "WARC-Block-Digest"),
    ("Segment-Origin-ID", "WARC-Segment-Origin-ID"),
    ("Segment-Number", "WARC-Segment-Number"),
    ("End-Length", "WARC-Segment-Total-Length"),
    ("Truncated", "WARC-Truncated"),
    ("Warcinfo-ID", "WARC-Warcinfo-ID"),
];

/// The WARC 0.9 parameter that names another record.
pub(crate) const RELATED_09: &str = "Related-Record-ID";

/// The later name of `Related-Record-ID` in a record of this type. Revisits, conversions and metadata
/// refer to the other record; records of other types were made at the same time as the other.
pub(crate) fn related_field(record_type: &str) -> &'static str {
    match RecordType::from_name(record_type) {
        Some(RecordType::Revisit | RecordType::Conversion | RecordType::Metadata) => {
            "WARC-Refers-To"
        }
        _ => "WARC-Concurrent-To",
    }
}

/// The profile of a WARC 0.9 revisit that states none, because that version has no profiles: identical
/// payload if the digest of the payload is stated, otherwise not modified, which needs no digest.
pub(crate) fn profile_from_09(revisit: &Header) -> &'static str {
    match revisit.get("WARC-Payload-Digest") {
        Some(_) => IDENTICAL_PAYLOAD_PROFILE,
        None => NOT_MODIFIED_PROFILE,
    }
}
