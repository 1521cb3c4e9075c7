//! Compresses records in memory, so that several threads can prepare records for one file.

use std::io::{Cursor, Read};

use crate::draft::RecordDraft;
use crate::header::Version;
use crate::render::render;
use crate::writer::WriteErrorKind;
use crate::writer::member::Member;

/// A whole record, compressed: one gzip member for an [`ArchiveFile`](super::ArchiveFile).
pub struct PackedRecord {
    pub(crate) bytes: Vec<u8>,
}

/// Compresses records one after another, in memory.
pub struct Packer {
    member: Member<Cursor<Vec<u8>>>,
    version: Version,
}

impl Packer {
    /// A packer for files with these options.
    pub fn new(options: WriteOptions) -> Self {
        let mut member = Member::new(Cursor::new(Vec::new()), true);
        if options.skip_lengths {
            member.write_skip_lengths();
        }
        Self {
            member,
            version: options.version,
        }
    }

    /// Compresses a drafted record and its body, all of it in memory: for small records.
    pub fn pack(
        &mut self,
        draft: &RecordDraft,
        body: impl Read,
        body_length: u64,
    ) -> Result<PackedRecord, WriteErrorKind> {
        let length = body_length.saturating_add(draft.head.len() as u64);
        let head = render(&draft.header, self.version, length)?;
        // A record that failed may have left bytes.
        *self.member.output_mut() = Cursor::new(Vec::new());
        self.member
            .write(&head, draft.head.as_slice().chain(body), length)?;
        let bytes = std::mem::take(self.member.output_mut()).into_inner();
        Ok(PackedRecord { bytes })
    }
}

/// Options for the records of an archive file. Default: WARC/1.1 without skip lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// The version. Only WARC/1.1, WARC/1.0 and WARC/0.9 are written.
    pub version: Version,
    /// Whether each gzip member states its length: see
    /// [`Writer::with_skip_lengths`](crate::Writer::with_skip_lengths).
    pub skip_lengths: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            version: Version::Warc11,
            skip_lengths: false,
        }
    }
}
