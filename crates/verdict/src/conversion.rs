//! The promised content in another form, as servers and copies convert it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A conversion that explains a body: undone, it yields exactly the promised bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conversion {
    /// The lines end in CRLF in place of LF.
    CrlfForLf,
    /// The lines end in LF in place of CRLF.
    LfForCrlf,
    /// A byte order mark comes first.
    MarkAdded,
    /// The byte order mark is not there.
    MarkRemoved,
    /// One more line end comes last.
    LastLineEndAdded,
    /// The last line end is not there.
    LastLineEndRemoved,
    /// The bytes are packed with gzip, and no `Content-Encoding` says so.
    Gzip,
}

/// The words after `serves the promised content`: `with CRLF line ends in place of LF`.
impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CrlfForLf => "with CRLF line ends in place of LF",
            Self::LfForCrlf => "with LF line ends in place of CRLF",
            Self::MarkAdded => "with a byte order mark (BOM) before the text",
            Self::MarkRemoved => "without the byte order mark (BOM) before the text",
            Self::LastLineEndAdded => "with one more line end at the end",
            Self::LastLineEndRemoved => "without the line end at the end",
            Self::Gzip => "packed with gzip, without a Content-Encoding that says so",
        })
    }
}
