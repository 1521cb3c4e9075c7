//! Writes records, each a gzip member of its own (WARC/1.1 Annex D) or as it is: [`Writer`] to a stream,
//! [`ArchiveFile`] and [`FileSeries`] to files on disk, [`Packer`] in memory.
//!
//! Callers use the field names of WARC/1.1; a writer of another version translates them.

pub(crate) mod archive_file;
mod error;
mod member;
mod packer;
mod series;

use std::io::{Read, Seek, Write};

pub use self::archive_file::{ArchiveFile, ArchiveFileError};
pub use self::error::{WriteError, WriteErrorKind};
use self::member::Member;
pub use self::packer::{PackedRecord, Packer};
pub use self::series::FileSeries;
use crate::draft::RecordDraft;
use crate::extent::Extent;
use crate::header::{Header, Version};
use crate::render::render;
pub use packer::WriteOptions;

/// The compression of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// A gzip member for each record.
    Gzip,
    /// No compression.
    None,
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

    /// Sets the version: WARC/1.1, WARC/1.0 or WARC/0.9. docs/archive-format.md lists what older versions
    /// cannot express.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Makes each gzip member state its length (`sl`, section 9.2 of the WARC 0.9 draft), so that
    /// readers can skip it without decompressing it. The writer seeks back within the current member
    /// to fill the length in.
    #[must_use]
    pub fn with_skip_lengths(mut self) -> Self
    where
        W: Seek,
    {
        self.member.write_skip_lengths();
        self
    }

    /// Writes a record and streams its block, which must have `block_length` bytes. `Content-Length`
    /// is added if the header has none.
    pub fn write_record(
        &mut self,
        header: &Header,
        block: impl Read,
        block_length: u64,
    ) -> Result<Extent, WriteError> {
        let offset = self.position;
        let failed = |kind| WriteError { offset, kind };
        if self.unfinished {
            return Err(failed(WriteErrorKind::Unfinished));
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

    /// Writes a packed record, which must have been packed with the options of this writer.
    pub(crate) fn write_packed(&mut self, packed: &PackedRecord) -> Result<Extent, WriteError> {
        let offset = self.position;
        if self.unfinished {
            let kind = WriteErrorKind::Unfinished;
            return Err(WriteError { offset, kind });
        }
        self.unfinished = true;
        self.member
            .output_mut()
            .write_all(&packed.bytes)
            .map_err(|error| WriteError {
                offset,
                kind: WriteErrorKind::Output(error),
            })?;
        self.unfinished = false;
        let length = packed.bytes.len() as u64;
        self.position += length;
        Ok(Extent { offset, length })
    }

    /// Writes a drafted record and its body.
    pub fn write_draft(
        &mut self,
        draft: &RecordDraft,
        body: impl Read,
        body_length: u64,
    ) -> Result<Extent, WriteError> {
        let length = body_length.saturating_add(draft.head.len() as u64);
        self.write_record(&draft.header, draft.head.as_slice().chain(body), length)
    }

    /// The number of bytes written.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The output.
    pub fn get_ref(&self) -> &W {
        self.member.output()
    }

    /// The output, for cutting it back before [`Writer::resume`]. Writing to it makes all later offsets
    /// wrong.
    pub fn get_mut(&mut self) -> &mut W {
        self.member.output_mut()
    }

    /// Continues at an earlier position, after which the caller cuts the output off.
    pub(crate) fn return_to(&mut self, position: u64) {
        self.position = self.position.min(position);
    }

    /// Allows writing again after a failed record. The caller has first cut the output back to
    /// [`Writer::position`].
    pub fn resume(&mut self) {
        self.unfinished = false;
    }
}
