//! Writes records to a stream, each a gzip member of its own (WARC/1.1 Annex D) or as it is.
//!
//! Headers come in the words of WARC/1.1; a writer of another version says the same in the words of
//! that one.

use std::io::{self, Read, Seek, Write};

use crate::header::{Header, InvalidField, MAX_HEADER};
use crate::member::Member;
use crate::packer::Packed;
use crate::record::Draft;
use crate::render::render;
use crate::version::Version;

/// Where a record stands in its file: what an index line needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Of its first byte, from the beginning of the file.
    pub offset: u64,
    /// In bytes as stored, compressed or not.
    pub length: u64,
}

/// How records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// A gzip member for each record.
    Gzip,
    /// As they are.
    None,
}

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The output failed.
    #[error("cannot write: {0}")]
    Output(#[source] io::Error),
    /// The block could not be read.
    #[error("cannot read the body: {0}")]
    Block(#[source] io::Error),
    /// The block is shorter or longer than announced.
    #[error("the block should have {announced} bytes and has {}", .actual.map_or("more".to_owned(), |n| n.to_string()))]
    BlockLength {
        /// The length it should have.
        announced: u64,
        /// The length it has; `None` if longer.
        actual: Option<u64>,
    },
    /// The header has a `Content-Length` of its own that disagrees.
    #[error("the header says Content-Length: {stated}, but the block has {announced} bytes")]
    Conflict {
        /// What the header says.
        stated: String,
        /// The length of the block.
        announced: u64,
    },
    /// The version is one that is only read.
    #[error("records of {0} are not written, only those of WARC/1.1, WARC/1.0 and WARC/0.9")]
    Version(Version),
    /// WARC 0.9 has a place for it in each record's first line.
    #[error("a record of WARC/0.9 needs a valid {field}, without blanks")]
    Missing {
        /// The field, as it is called in WARC/1.1.
        field: &'static str,
    },
    /// The header would be larger than a reader takes.
    #[error("the record's header would be longer than {MAX_HEADER} bytes")]
    HeaderTooLong,
    /// A field could not be added.
    #[error(transparent)]
    Field(#[from] InvalidField),
    /// An earlier record failed, and what it left has not been cut off.
    #[error("an earlier record was left unfinished")]
    Unfinished,
}

/// A record was not written. Bytes of it may have been: the output is good up to `offset` only, and
/// the [`Writer`] refuses more until told that they are cut off.
#[derive(Debug, thiserror::Error)]
#[error("the record at byte {offset} was not written: {problem}")]
pub struct WriteError {
    /// Where the record began, and so the length of what is good.
    pub offset: u64,
    /// What happened.
    #[source]
    pub problem: Problem,
}

/// Writes records one after another. A record has reached the output when `write_record` returns.
pub struct Writer<W> {
    member: Member<W>,
    version: Version,
    position: u64,
    unfinished: bool,
}

impl<W: Write> Writer<W> {
    /// A writer of WARC/1.1 at the beginning of a file.
    pub fn new(output: W, compression: Compression) -> Self {
        Self {
            member: Member::new(output, compression == Compression::Gzip),
            version: Version::Warc11,
            position: 0,
            unfinished: false,
        }
    }

    /// The same for WARC/1.0 or WARC/0.9. What WARC/1.1 says and an older version has no word for is
    /// told in docs/archive.md.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Has each gzip member say how long it is (`sl`, section 9.2 of the WARC 0.9 draft), so that
    /// readers can pass over it without decompressing it. The output is written at its end, and in
    /// what it has of the current member.
    #[must_use]
    pub fn with_skip_lengths(mut self) -> Self
    where
        W: Seek,
    {
        self.member.say_lengths();
        self
    }

    /// Writes a record whose block is all of `block`, which is streamed. `Content-Length` is added if
    /// the header has none.
    pub fn write_record(
        &mut self,
        header: &Header,
        block: impl Read,
        block_length: u64,
    ) -> Result<Extent, WriteError> {
        let offset = self.position;
        let failed = |problem| WriteError { offset, problem };
        if self.unfinished {
            return Err(failed(Problem::Unfinished));
        }
        let head = render(header, self.version, block_length).map_err(failed)?;
        self.unfinished = true;
        let length = self
            .member
            .write(&head, block, block_length)
            .map_err(failed)?;
        self.unfinished = false;
        self.position += length;
        Ok(Extent { offset, length })
    }

    /// Writes a record that was packed elsewhere, in the style of this writer.
    pub(crate) fn write_packed(&mut self, packed: &Packed) -> Result<Extent, WriteError> {
        let offset = self.position;
        if self.unfinished {
            let problem = Problem::Unfinished;
            return Err(WriteError { offset, problem });
        }
        self.unfinished = true;
        self.member
            .output_mut()
            .write_all(&packed.bytes)
            .map_err(|error| WriteError {
                offset,
                problem: Problem::Output(error),
            })?;
        self.unfinished = false;
        let length = packed.bytes.len() as u64;
        self.position += length;
        Ok(Extent { offset, length })
    }

    /// Writes a drafted record and its body.
    pub fn write_draft(
        &mut self,
        draft: &Draft,
        body: impl Read,
        body_length: u64,
    ) -> Result<Extent, WriteError> {
        let length = body_length.saturating_add(draft.head.len() as u64);
        self.write_record(&draft.header, draft.head.as_slice().chain(body), length)
    }

    /// The length of what was written, in bytes.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The output.
    pub fn get_ref(&self) -> &W {
        self.member.output()
    }

    /// The output. To be used with [`Writer::resume`]; writing to it would spoil all offsets.
    pub fn get_mut(&mut self) -> &mut W {
        self.member.output_mut()
    }

    /// The caller has cut off what a failed record left: the output ends at [`Writer::position`].
    pub fn resume(&mut self) {
        self.unfinished = false;
    }
}
