//! What goes wrong when a record is read, and what only deserves a note.

use std::io;

use crate::finding::Code;
use crate::header::MAX_HEADER;

/// Something about a record that is not as it should be, and did not keep it from being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where the record begins in the file.
    pub offset: u64,
    /// What it is.
    pub code: Code,
}

/// What is wrong with a gzip member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GzipFault {
    /// There is none, or its header cannot be read.
    #[error("{0}")]
    Header(&'static str),
    /// The compressed data cannot be decoded.
    #[error("the compressed data are damaged")]
    Data,
    /// The content is not what was compressed.
    #[error("the content does not have the checksum that closes it")]
    Checksum,
    /// The content has another length than was compressed.
    #[error("the content does not have the length that closes it")]
    Length,
    /// The file ends before the trailer does.
    #[error("the file ends before the checksum that closes it")]
    Trailer,
}

/// What is wrong with a record, or with reading it.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file could not be read; the record may be good.
    #[error("{0}")]
    Input(#[from] io::Error),
    /// The compressed bytes are damaged.
    #[error("its gzip member is damaged: {0}")]
    Gzip(#[from] GzipFault),
    /// The file, or the record's gzip member, ends within the record.
    #[error("it ends too soon: the file was cut off, or its length is wrong")]
    Clipped,
    /// No record begins there.
    #[error("a record should begin with WARC/1.0, WARC/1.1 or such, not with {found:?}")]
    NoRecord {
        /// The beginning of what was found.
        found: String,
    },
    /// The header is larger than [`MAX_HEADER`].
    #[error("the record's header is longer than {MAX_HEADER} bytes")]
    HeaderTooLong,
    /// Zero bytes, as a file system leaves them that lost what was written last.
    #[error("there are only zero bytes")]
    Zeros,
    /// The header does not say how long the block is.
    #[error("its Content-Length is missing or not a number")]
    NoLength,
    /// After the block there is neither the end of a record nor the next one.
    #[error("it is not closed by two line ends; its Content-Length may be wrong")]
    NotClosed,
    /// The first bytes are of no archive.
    #[error("this is neither WARC nor ARC; it begins with {found:?}")]
    Foreign {
        /// The first bytes.
        found: String,
    },
}

impl Problem {
    /// The code of a finding about it.
    pub fn code(&self) -> Code {
        match self {
            Self::Input(_) => Code::Unreadable,
            Self::Gzip(GzipFault::Header(_)) => Code::GzipHeader,
            Self::Gzip(GzipFault::Data) => Code::GzipData,
            Self::Gzip(GzipFault::Checksum | GzipFault::Length) => Code::GzipChecksum,
            Self::Gzip(GzipFault::Trailer) => Code::GzipTrailer,
            Self::Clipped => Code::CutOff,
            Self::NoRecord { .. } => Code::NoRecord,
            Self::HeaderTooLong => Code::HeaderTooLong,
            Self::Zeros => Code::Zeros,
            Self::NoLength => Code::NoLength,
            Self::NotClosed => Code::NotClosed,
            Self::Foreign { .. } => Code::NotAnArchive,
        }
    }
}

/// A record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the record at byte {offset} cannot be read: {problem}")]
pub struct ReadError {
    /// Where the record begins in the file.
    pub offset: u64,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

impl ReadError {
    /// Whether the bytes are bad, rather than their storage: damage stays when tried again.
    pub fn is_damage(&self) -> bool {
        !matches!(self.problem, Problem::Input(_))
    }
}
