//! Checks that segmented records are complete, and checks their joined content.
//!
//! The verifier keeps the position of each segment. After all files, each complete record is read again,
//! segment by segment, in any order and files, and its payload is checked like that of other records.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use super::block;
use super::report::{LateFinding, RecordFindings};
use crate::finding::FindingCode;
use crate::header::{Header, RecordType};
use crate::id::strip_brackets;
use crate::reader::Reader;

/// All segmented records of an archive.
#[derive(Default)]
pub(super) struct SegmentedRecords {
    hash_state: RandomState,
    /// By the hashed id of the first segment.
    records: HashMap<u64, SegmentedRecord>,
}

/// The segments of one record.
#[derive(Default)]
pub(super) struct SegmentedRecord {
    segments: Vec<Segment>,
    /// The sum of the lengths of all segments, and the total length that the last one states.
    length: u64,
    total: Option<u64>,
    is_truncated: bool,
    has_digest: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Segment {
    number: u64,
    at: (u32, u64),
    /// Whether the segment can be read from its offset.
    has_own_offset: bool,
}

impl SegmentedRecords {
    pub(super) fn add(&mut self, at: (u32, u64), has_own_offset: bool, header: &Header) {
        let Some(number) = number(header, NUMBER) else {
            return;
        };
        let id = header
            .get("WARC-Segment-Origin-ID")
            .or_else(|| header.get("WARC-Record-ID"))
            .unwrap_or_default();
        let id = self.hash_state.hash_one(strip_brackets(id));
        let record = self.records.entry(id).or_default();
        record.segments.push(Segment {
            number,
            at,
            has_own_offset,
        });
        let length = header.content_length().unwrap_or(0);
        record.length = record.length.saturating_add(length);
        let total = self::number(header, "WARC-Segment-Total-Length");
        record.total = record.total.or(total);
        record.is_truncated |= header.get(TRUNCATED).is_some();
        let is_first = header.record_type() != Some(RecordType::Continuation);
        record.has_digest |= is_first && header.payload_digest().is_some();
    }

    /// The records in the order of their first segments, each with its segments sorted by number.
    pub(super) fn into_sorted(self) -> Vec<SegmentedRecord> {
        let mut records: Vec<SegmentedRecord> = self.records.into_values().collect();
        for record in &mut records {
            record.segments.sort_unstable();
        }
        records.sort_by_key(SegmentedRecord::start);
        records
    }
}

impl SegmentedRecord {
    /// The file number and offset of the first segment.
    pub(super) fn start(&self) -> (u32, u64) {
        self.segments.first().map_or((0, 0), |first| first.at)
    }

    /// The finding about missing segments, or about segments that cannot be joined.
    pub(super) fn fault(&self) -> Option<LateFinding> {
        let numbers = self.segments.iter().map(|segment| segment.number);
        let code = if !numbers.eq(1..=self.segments.len() as u64) || self.total.is_none() {
            FindingCode::SegmentMissing
        } else if self.total != Some(self.length) {
            FindingCode::SegmentLength
        } else if self.has_digest && self.segments.iter().any(|segment| !segment.has_own_offset) {
            FindingCode::SegmentUnchecked
        } else {
            return None;
        };
        let (file, offset) = self.start();
        Some(LateFinding { file, offset, code })
    }

    /// Whether the record has a payload digest and can be joined.
    pub(super) fn can_be_checked(&self) -> bool {
        self.has_digest && self.fault().is_none()
    }

    /// Reads the joined segments and reports findings about them.
    pub(super) fn check_whole(
        &self,
        files: &[PathBuf],
        findings: &mut RecordFindings<'_>,
    ) -> io::Result<()> {
        let mut blocks = JoinedBlocks {
            files,
            left: self.segments.iter(),
            reader: None,
        };
        let Some(mut header) = blocks.open_next()? else {
            return Ok(());
        };
        header.retain(|name| !name.eq_ignore_ascii_case(NUMBER));
        header.retain(|name| !name.eq_ignore_ascii_case("WARC-Block-Digest"));
        if self.is_truncated {
            header.push_read(TRUNCATED, "");
        }
        block::check_joined(&header, &mut blocks, findings)
    }
}

const NUMBER: &str = "WARC-Segment-Number";
const TRUNCATED: &str = "WARC-Truncated";

/// The joined blocks of segments.
struct JoinedBlocks<'a> {
    files: &'a [PathBuf],
    left: std::slice::Iter<'a, Segment>,
    reader: Option<Reader<File>>,
}

impl JoinedBlocks<'_> {
    /// Moves to the next segment, if any, and returns its header.
    fn open_next(&mut self) -> io::Result<Option<Header>> {
        self.reader = None;
        let Some(Segment { at, .. }) = self.left.next() else {
            return Ok(None);
        };
        let path = self
            .files
            .get(at.0 as usize)
            .ok_or(io::ErrorKind::NotFound)?;
        let mut reader = Reader::open_at(path, at.1).map_err(io::Error::other)?;
        let record = reader.next_record().map_err(io::Error::other)?;
        let record = record.ok_or(io::ErrorKind::UnexpectedEof)?;
        let header = record.header().clone();
        self.reader = Some(reader);
        Ok(Some(header))
    }
}

impl BufRead for JoinedBlocks<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while let Some(reader) = &mut self.reader
            && reader.fill_block()?.is_empty()
        {
            self.open_next()?;
        }
        match &mut self.reader {
            Some(reader) => reader.fill_block(),
            None => Ok(&[]),
        }
    }

    fn consume(&mut self, amount: usize) {
        if let Some(reader) = &mut self.reader {
            reader.consume_block(amount);
        }
    }
}

impl Read for JoinedBlocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

fn number(header: &Header, name: &str) -> Option<u64> {
    header.get(name)?.parse().ok()
}
