//! Checks that segmented records are complete, and checks their joined content.
//!
//! The verifier keeps the position of each segment. After all files, each complete record is read again,
//! segment by segment, in any order and files, and its payload is checked like that of other records.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;

use super::block;
use super::report::{LateFinding, RecordFindings};
use crate::files::FileSource;
use crate::finding::FindingCode;
use crate::header::id::strip_brackets;
use crate::header::{Header, RecordType};
use crate::segment::{SegmentBlocks, SegmentPosition, number, whole_header};

#[derive(Default)]
pub(super) struct SegmentedRecords {
    hash_state: RandomState,
    /// By the hashed id of the first segment.
    records: HashMap<u64, SegmentedRecord>,
}

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
        let Some(number) = number(header) else {
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
        record.total = record.total.or(total(header));
        record.is_truncated |= header.get("WARC-Truncated").is_some();
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
        source: &dyn FileSource,
        files: &[String],
        findings: &mut RecordFindings<'_>,
    ) -> io::Result<()> {
        let positions: Option<Vec<SegmentPosition>> = self
            .segments
            .iter()
            .map(|segment| {
                let (file, offset) = segment.at;
                Some((files.get(file as usize)?.clone(), offset))
            })
            .collect();
        let mut blocks = SegmentBlocks::open(source, positions.unwrap_or_default())?;
        let header = whole_header(blocks.first_header(), self.is_truncated);
        block::check_joined(&header, &mut blocks, findings)
    }
}

fn total(header: &Header) -> Option<u64> {
    header.get("WARC-Segment-Total-Length")?.parse().ok()
}
