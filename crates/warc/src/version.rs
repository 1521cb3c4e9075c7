//! The formats that records come in, and what WARC 0.9 calls the fields of the later versions.

use std::fmt;

/// The format of a record. All are read; which are written is the writer's matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// ARC, what archives wrote before WARC. Versions 1 and 2 of its header line are read alike.
    Arc,
    /// The draft of January 2006: a line of positional parameters, then named ones.
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
    /// The versions whose records begin with a line of this and nothing else.
    const LINES: [(Self, &str); 4] = [
        (Self::Warc11, "WARC/1.1"),
        (Self::Warc10, "WARC/1.0"),
        (Self::Warc018, "WARC/0.18"),
        (Self::Warc017, "WARC/0.17"),
    ];

    /// What the first line of a record begins with; of ARC, `ARC`, which no line has.
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

    /// The version whose records begin with such a line.
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

/// The named parameters of WARC 0.9 (section 5.2 of the draft), and what they are called since.
/// `Related-Record-ID` is not among them: its name now depends on the type of the record.
pub const NAMES_09: [(&str, &str); 7] = [
    ("IP-Address", "WARC-IP-Address"),
    ("Checksum", "WARC-Block-Digest"),
    ("Segment-Origin-ID", "WARC-Segment-Origin-ID"),
    ("Segment-Number", "WARC-Segment-Number"),
    ("End-Length", "WARC-Segment-Total-Length"),
    ("Truncated", "WARC-Truncated"),
    ("Warcinfo-ID", "WARC-Warcinfo-ID"),
];

/// The parameter of WARC 0.9 that names another record.
pub const RELATED_09: &str = "Related-Record-ID";

/// What `Related-Record-ID` is called since, in a record of this type: a revisit, a conversion or a
/// metadata record is about the other; the rest were made beside it.
pub fn related(record_type: &str) -> &'static str {
    match record_type {
        "revisit" | "conversion" | "metadata" => "WARC-Refers-To",
        _ => "WARC-Concurrent-To",
    }
}
