//! Errors of reading a record, and deviations that the reader tolerates.

use std::io;

use crate::finding::FindingCode;
use crate::header::MAX_RECORD_HEADER;

/// A deviation from the format that the reader tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The offset of the record in the file.
    pub offset: u64,
    /// The kind of deviation.
    pub code: FindingCode,
}

/// Why a gzip member cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GzipError {
    /// No member begins there, or its header is damaged.
    #[error("{0}")]
    Header(&'static str),
    /// The compressed data cannot be decoded.
    #[error("the compressed data are damaged")]
    Data,
    /// The content has a wrong checksum.
    #[error("the content does not have the checksum that closes it")]
    Checksum,
    /// The content has a wrong length.
    #[error("the content does not have the length that closes it")]
    Length,
    /// The file ends before the end of the trailer.
    #[error("the file ends before the checksum that closes it")]
    Trailer,
}

/// Why a zstd frame cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZstdError {
    /// No frame begins there, its header is damaged, or it needs a window of more than 128 MiB.
    #[error("no frame begins there that can be read")]
    Header,
    /// The compressed data cannot be decoded.
    #[error("the compressed data are damaged")]
    Data,
    /// The content has a wrong checksum.
    #[error("the content does not have the checksum that closes it")]
    Checksum,
    /// The content has a wrong length.
    #[error("the content does not have the length that the frame states")]
    Length,
    /// The dictionary at the beginning of the file cannot be used, or is missing.
    #[error("the dictionary at the beginning of the file cannot be read")]
    Dictionary,
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadErrorKind {
    /// The file could not be read; the record itself may be valid.
    #[error("{0}")]
    Input(#[from] io::Error),
    /// The compressed bytes are damaged.
    #[error("its gzip member is damaged: {0}")]
    Gzip(#[from] GzipError),
    /// The compressed bytes are damaged.
    #[error("its zstd frame is damaged: {0}")]
    Zstd(#[from] ZstdError),
    /// The file, or the record's member, ends within the record.
    #[error("it ends too soon: the file was cut off, or its length is wrong")]
    CutOff,
    /// No record begins there.
    #[error("a record should begin with WARC/1.0, WARC/1.1 or such, not with {found:?}")]
    NoRecord {
        /// The first characters there.
        found: String,
    },
    /// The header is larger than [`MAX_RECORD_HEADER`].
    #[error("the record's header is longer than {MAX_RECORD_HEADER} bytes")]
    HeaderTooLong,
    /// Zero bytes, which some file systems leave after a crash.
    #[error("there are only zero bytes")]
    Zeros,
    /// The header has no valid length of the block.
    #[error("its Content-Length is missing or not a number")]
    NoLength,
    /// The block is followed neither by the end of a record nor by another record.
    #[error("it is not closed by two line ends; its Content-Length may be wrong")]
    NotClosed,
    /// The file does not begin with a record of any format.
    #[error("this is neither WARC nor ARC; it begins with {found:?}")]
    NotAnArchive {
        /// The first characters of the file.
        found: String,
    },
}

impl ReadErrorKind {
    /// The code of the finding for this error.
    pub fn code(&self) -> FindingCode {
        match self {
            Self::Input(_) => FindingCode::Unreadable,
            Self::Gzip(GzipError::Header(_)) => FindingCode::GzipHeader,
            Self::Gzip(GzipError::Data) => FindingCode::GzipData,
            Self::Gzip(GzipError::Checksum | GzipError::Length) => FindingCode::GzipChecksum,
            Self::Gzip(GzipError::Trailer) => FindingCode::GzipTrailer,
            Self::Zstd(_) => FindingCode::ZstdData,
            Self::CutOff => FindingCode::CutOff,
            Self::NoRecord { .. } => FindingCode::NoRecord,
            Self::HeaderTooLong => FindingCode::HeaderTooLong,
            Self::Zeros => FindingCode::Zeros,
            Self::NoLength => FindingCode::NoLength,
            Self::NotClosed => FindingCode::NotClosed,
            Self::NotAnArchive { .. } => FindingCode::NotAnArchive,
        }
    }
}

/// A record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the record at byte {offset} cannot be read: {kind}")]
pub struct ReadError {
    /// The offset of the record in the file.
    pub offset: u64,
    /// The cause.
    #[source]
    pub kind: ReadErrorKind,
}

impl ReadError {
    /// Whether the bytes are damaged. False for errors of the storage, after which reading may succeed
    /// again.
    pub fn is_damage(&self) -> bool {
        !matches!(self.kind, ReadErrorKind::Input(_))
    }
}
