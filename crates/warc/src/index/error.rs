//! Errors of making and reading an index.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::cdxj::InvalidCdxjLine;
use crate::fs::FileError;
use crate::header::Header;
use crate::reader::{ReadError, ReadErrorKind};

/// Why an index could not be read, made or changed. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
    /// A line is not valid.
    #[error(transparent)]
    Line(#[from] FileError<InvalidCdxjLine>),
    /// An archive file could not be read, for another reason than damage.
    #[error(transparent)]
    Read(#[from] FileError<ReadError>),
    /// Some records of an archive file have no line. The lines of all others were added.
    #[error("{}: {records}", path.display())]
    LeftOut {
        /// The archive file.
        path: PathBuf,
        /// The records.
        records: LeftOutRecords,
    },
}

impl IndexError {
    /// Whether an archive file is damaged, rather than its storage.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::LeftOut { .. })
    }

    /// Whether an archive file has a record that cannot be read, which a repair sets aside. A record
    /// without a date or a URI can be read: a repair changes nothing.
    pub fn needs_repair(&self) -> bool {
        matches!(self, Self::LeftOut { records, .. } if records.has_unreadable)
    }

    /// Whether the index itself is damaged, so that it must be rebuilt.
    pub fn is_damaged_index(&self) -> bool {
        match self {
            Self::Io(error) => matches!(
                error.source.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ),
            _ => false,
        }
    }
}

/// Number of records that are named; the others are counted.
const MAX_NAMED: usize = 20;

/// The records of an archive file that have no line in the index.
#[derive(Debug, Default)]
pub struct LeftOutRecords {
    /// The first of them, in the order of the file, with their offsets.
    pub named: Vec<(u64, LeftOutCause)>,
    /// The number of the others.
    pub more: u64,
    /// Whether one of all these records cannot be read.
    pub has_unreadable: bool,
}

/// Why a record has no line in the index.
#[derive(Debug)]
pub enum LeftOutCause {
    /// The record is damaged.
    Unreadable(ReadErrorKind),
    /// The record has no target URI.
    NoUri,
    /// The date of the record, which is missing or not a date.
    Date(Option<String>),
}

impl LeftOutCause {
    /// The cause for a capture with this header.
    pub(super) fn of_header(header: &Header) -> Self {
        match header.target_uri() {
            None => Self::NoUri,
            Some(_) => Self::Date(header.get("WARC-Date").map(str::to_owned)),
        }
    }
}

impl LeftOutRecords {
    pub(super) fn add(&mut self, offset: u64, cause: LeftOutCause) {
        self.has_unreadable |= matches!(cause, LeftOutCause::Unreadable(_));
        if self.named.len() < MAX_NAMED {
            self.named.push((offset, cause));
        } else {
            self.more += 1;
        }
    }

    /// The error for these records of a file; `Ok` if there are none.
    pub(super) fn into_result(self, path: &Path) -> Result<(), IndexError> {
        if self.named.is_empty() {
            return Ok(());
        }
        Err(IndexError::LeftOut {
            path: path.to_owned(),
            records: self,
        })
    }
}

impl fmt::Display for LeftOutRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not in the index: ")?;
        for (number, (offset, cause)) in self.named.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}the record at byte {offset}, ")?;
            match cause {
                LeftOutCause::Unreadable(kind) => write!(f, "which cannot be read: {kind}"),
                LeftOutCause::NoUri => f.write_str("which has no WARC-Target-URI"),
                LeftOutCause::Date(None) => f.write_str("which has no WARC-Date"),
                LeftOutCause::Date(Some(text)) => {
                    let text: String = text.chars().take(40).collect();
                    write!(f, "whose WARC-Date is not a date: {text:?}")
                }
            }?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
