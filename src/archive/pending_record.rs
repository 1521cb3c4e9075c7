//! Records that wait to be written: compressed in advance if short, in segments if long.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use urldb_warc::http::StoredRequest;
use urldb_warc::segment::SegmentHeaders;
use urldb_warc::writer::{ArchiveFile, PackedRecord, Packer, WriteOptions};
use urldb_warc::{Digest, DigestAlgorithm, Extent, Header, RecordDraft, RecordId};

use crate::config;

/// Bodies up to this many bytes are compressed in advance, in memory.
const SMALL: u64 = 64 * 1024;

/// The body of a record, which is read several times.
pub(super) trait RecordBody: Read + Seek {}

impl<T: Read + Seek> RecordBody for T {}

pub(super) struct PendingRecord<'a> {
    pub(super) draft: RecordDraft,
    pub(super) block: RecordBlock<'a>,
    /// The request of a response, unless it was a GET: the index key contains it.
    pub(super) request: Option<StoredRequest>,
    /// The algorithm of the block digest, if the record gets one: of each segment, if it has several.
    pub(super) block_digest: Option<DigestAlgorithm>,
}

pub(super) enum RecordBlock<'a> {
    /// Compressed already.
    Packed(PackedRecord),
    /// A body of this many bytes, read while the record is written.
    Streamed(Box<dyn RecordBody + 'a>, u64),
    /// A block that is too long for one record.
    Segmented(SegmentedBlock<'a>),
}

impl<'a> PendingRecord<'a> {
    pub(super) fn new(draft: RecordDraft, body: impl RecordBody + 'a, length: u64) -> Self {
        Self {
            draft,
            block: RecordBlock::Streamed(Box::new(body), length),
            request: None,
            block_digest: None,
        }
    }

    pub(super) fn of_bytes(draft: RecordDraft, body: &'a [u8]) -> Self {
        Self::new(draft, Cursor::new(body), body.len() as u64)
    }

    pub(super) fn without_body(draft: RecordDraft) -> Self {
        Self::of_bytes(draft, &[])
    }
}

/// The options of the records that a run writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordOptions {
    write: WriteOptions,
    segment_size: Option<u64>,
}

impl RecordOptions {
    pub(super) fn new(options: &config::Archive) -> Self {
        Self {
            write: write_options(options),
            segment_size: options.segment_size,
        }
    }
}

pub(super) fn write_options(options: &config::Archive) -> WriteOptions {
    WriteOptions {
        version: options.version,
        skip_lengths: options.skip_lengths,
    }
}

/// Does all work on records that needs no archive file. Each thread has one.
pub(super) struct RecordPacker {
    packer: Packer,
    segment_size: Option<u64>,
}

impl RecordPacker {
    pub(super) fn new(options: RecordOptions) -> Self {
        Self {
            packer: Packer::new(options.write),
            segment_size: options.segment_size,
        }
    }

    /// Computes the block digest and compresses a short record. A record that is too long is segmented:
    /// each segment gets its digest when it is written.
    pub(super) fn pack<'a>(
        &mut self,
        mut record: PendingRecord<'a>,
    ) -> anyhow::Result<PendingRecord<'a>> {
        let RecordBlock::Streamed(mut body, length) = record.block else {
            return Ok(record);
        };
        let block_length = length.saturating_add(record.draft.head.len() as u64);
        if let Some(limit) = self.segment_size.filter(|limit| block_length > *limit) {
            let header = record.draft.header.clone();
            record.block = RecordBlock::Segmented(SegmentedBlock {
                headers: SegmentHeaders::new(header, block_length, limit),
                head: record.draft.head.clone(),
                body,
                position: 0,
                digest: record.block_digest,
            });
            return Ok(record);
        }
        if let Some(algorithm) = record.block_digest {
            record.draft.add_block_digest(algorithm, &mut body)?;
            body.seek(SeekFrom::Start(0))?;
        }
        record.block = if length <= SMALL {
            RecordBlock::Packed(self.packer.pack(&record.draft, body, length)?)
        } else {
            RecordBlock::Streamed(body, length)
        };
        Ok(record)
    }
}

/// A block that is written in several segments.
pub(super) struct SegmentedBlock<'a> {
    headers: SegmentHeaders,
    head: Vec<u8>,
    body: Box<dyn RecordBody + 'a>,
    /// The position of the next segment in the block.
    position: u64,
    digest: Option<DigestAlgorithm>,
}

impl SegmentedBlock<'_> {
    /// Whether all segments are written.
    pub(super) fn is_complete(&self) -> bool {
        self.headers.is_complete()
    }

    /// Writes the next segment, or nothing after the last. The header of a segment has the digest of its
    /// block, so the block is read twice.
    pub(super) fn write_next(
        &mut self,
        file: &mut ArchiveFile,
        new_id: impl FnOnce() -> RecordId,
    ) -> anyhow::Result<Option<(Header, Extent)>> {
        let Some((mut header, length)) = self.headers.next_segment(new_id)? else {
            return Ok(None);
        };
        if let Some(algorithm) = self.digest {
            let (digest, _) = Digest::of(algorithm, self.next_block(length)?)?;
            header.push("WARC-Block-Digest", digest.to_string())?;
        }
        let extent = file.append_record(&header, self.next_block(length)?, length)?;
        self.position += length;
        Ok(Some((header, extent)))
    }

    /// The block of the next segment.
    fn next_block(&mut self, length: u64) -> io::Result<impl Read + '_> {
        let head_length = self.head.len() as u64;
        let from_head = usize::try_from(self.position.min(head_length)).unwrap_or(self.head.len());
        let from_body = self.position.saturating_sub(head_length);
        self.body.seek(SeekFrom::Start(from_body))?;
        let rest = self.head[from_head..].chain(&mut self.body);
        Ok(rest.take(length))
    }
}
