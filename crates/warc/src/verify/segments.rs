//! Whether segmented records have all their segments, and what these make when they are put together.
//!
//! Of each segment it is kept where it stands. When all files have been read, a record whose segments
//! are all there is read a second time, one segment after another, in whatever order and files they
//! stand, and its payload is checked as that of any other record.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use super::block;
use super::{Late, Remarks};
use crate::finding::Code;
use crate::header::{Header, RecordType};
use crate::id::strip_brackets;
use crate::reader::Reader;

#[derive(Default)]
pub(super) struct Segments {
    chance: RandomState,
    /// By the id of the first segment.
    sets: HashMap<u64, Set>,
}

/// The segments of one record.
#[derive(Default)]
pub(super) struct Set {
    segments: Vec<Segment>,
    /// The sum of the lengths, and what the last segment says that it is.
    length: u64,
    total: Option<u64>,
    is_truncated: bool,
    has_digest: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Segment {
    number: u64,
    at: (u32, u64),
    /// Whether it can be read from there.
    has_place: bool,
}

impl Segments {
    pub(super) fn add(&mut self, at: (u32, u64), has_place: bool, header: &Header) {
        let Some(number) = number(header, NUMBER) else {
            return;
        };
        let id = header
            .get("WARC-Segment-Origin-ID")
            .or_else(|| header.get("WARC-Record-ID"))
            .unwrap_or_default();
        let id = self.chance.hash_one(strip_brackets(id));
        let set = self.sets.entry(id).or_default();
        set.segments.push(Segment {
            number,
            at,
            has_place,
        });
        let length = header.content_length().unwrap_or(0);
        set.length = set.length.saturating_add(length);
        let total = self::number(header, "WARC-Segment-Total-Length");
        set.total = set.total.or(total);
        set.is_truncated |= header.get(TRUNCATED).is_some();
        let is_first = header.record_type() != Some(RecordType::Continuation);
        set.has_digest |= is_first && header.payload_digest().is_some();
    }

    /// The segments of each record in the order of their numbers, the records in that of their firsts.
    pub(super) fn into_sets(self) -> Vec<Set> {
        let mut sets: Vec<Set> = self.sets.into_values().collect();
        for set in &mut sets {
            set.segments.sort_unstable();
        }
        sets.sort_by_key(Set::at);
        sets
    }
}

impl Set {
    /// Where the first segment stands.
    pub(super) fn at(&self) -> (u32, u64) {
        self.segments.first().map_or((0, 0), |first| first.at)
    }

    /// What is wrong with the segments, or keeps them from being put together.
    pub(super) fn fault(&self) -> Option<Late> {
        let numbers = self.segments.iter().map(|segment| segment.number);
        let code = if !numbers.eq(1..=self.segments.len() as u64) || self.total.is_none() {
            Code::SegmentMissing
        } else if self.total != Some(self.length) {
            Code::SegmentLength
        } else if self.has_digest && self.segments.iter().any(|segment| !segment.has_place) {
            Code::SegmentUnchecked
        } else {
            return None;
        };
        let (file, offset) = self.at();
        Some(Late { file, offset, code })
    }

    /// Whether there is something to be learnt from reading the segments again.
    pub(super) fn is_worth_reading(&self) -> bool {
        self.has_digest && self.fault().is_none()
    }

    /// Reads what the segments make, and reports what is wrong with that.
    pub(super) fn check_whole(
        &self,
        files: &[PathBuf],
        remarks: &mut Remarks<'_>,
    ) -> io::Result<()> {
        let mut blocks = Blocks {
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
        block::check_joined(&header, &mut blocks, remarks)
    }
}

const NUMBER: &str = "WARC-Segment-Number";
const TRUNCATED: &str = "WARC-Truncated";

/// The blocks of segments, one after another.
struct Blocks<'a> {
    files: &'a [PathBuf],
    left: std::slice::Iter<'a, Segment>,
    reader: Option<Reader<File>>,
}

impl Blocks<'_> {
    /// Goes to the next segment, if there is one more, and returns its header.
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

impl BufRead for Blocks<'_> {
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

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

fn number(header: &Header, name: &str) -> Option<u64> {
    header.get(name)?.parse().ok()
}
