//! Errors of writing a record.

use std::io;

use crate::header::{InvalidField, MAX_RECORD_HEADER, Version};

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteErrorKind {
    /// The output failed.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// The block could not be read.
    #[error("cannot read the body: {0}")]
    Block(#[source] io::Error),
    /// The block is shorter or longer than announced.
    #[error("the block should have {announced} bytes and has {}", .actual.map_or("more".to_owned(), |n| n.to_string()))]
    BlockLength {
        /// The announced length, in bytes.
        announced: u64,
        /// The actual length; `None` if longer.
        actual: Option<u64>,
    },
    /// The header's own `Content-Length` disagrees with the block.
    #[error("the header says Content-Length: {stated}, but the block has {announced} bytes")]
    LengthConflict {
        /// The value in the header.
        stated: String,
        /// The length of the block, in bytes.
        announced: u64,
    },
    /// The version can be read but not written.
    #[error("records of {0} are not written, only those of WARC/1.1, WARC/1.0 and WARC/0.9")]
    Version(Version),
    /// A field is absent that the first line of a WARC 0.9 record needs.
    #[error("a record of WARC/0.9 needs a valid {field}, without blanks")]
    MissingField {
        /// The field's name in WARC/1.1.
        field: &'static str,
    },
    /// The header would be larger than [`MAX_RECORD_HEADER`].
    #[error("the record's header would be longer than {MAX_RECORD_HEADER} bytes")]
    HeaderTooLong,
    /// A field could not be added.
    #[error(transparent)]
    Field(#[from] InvalidField),
    /// An earlier record failed, and its bytes have not been cut off.
    #[error("an earlier record was left unfinished")]
    Unfinished,
}

/// A record was not written. Some of its bytes may have been: the output is valid up to `offset`
/// only, and the [`Writer`](crate::Writer) refuses more until
/// [`Writer::resume`](crate::Writer::resume).
#[derive(Debug, thiserror::Error)]
#[error("the record at byte {offset} was not written: {kind}")]
pub struct WriteError {
    /// The record's first byte, which is also the length of the valid output.
    pub offset: u64,
    /// The cause.
    #[source]
    pub kind: WriteErrorKind,
}
