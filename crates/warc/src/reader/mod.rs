//! Reads records from a stream, in order, without holding a block in memory.
//!
//! Formats: WARC 0.9, 0.17, 0.18, 1.0 and 1.1, and ARC; uncompressed, with a gzip member or zstd frames for
//! each record, or as one gzip member. All formats give the same [`Record`], whose header has the names of
//! WARC 1.1.
//!
//! Hostile input ends in a [`ReadError`], never in a panic or a hang: headers are limited to
//! [`MAX_RECORD_HEADER`](crate::header::MAX_RECORD_HEADER), blocks are streamed, and every step consumes input.
//! The offset of an error is that of the damaged record. All records before it are readable, and
//! [`Reader::skip_damage`] searches for the next one. Smaller deviations from the format are tolerated;
//! [`Reader::deviations`] lists them.

mod arc;
mod damage;
mod error;
mod gzip;
mod head;
mod inflated;
mod members;
mod read_head;
mod resync;
mod seek;
mod source;
mod warc09;
mod window;
mod zstd;

use std::fs::File;
use std::io::{self, BufRead, Read, Seek};
use std::path::Path;

pub use damage::SkippedRange;
pub use error::{Deviation, GzipError, ReadError, ReadErrorKind, ZstdError};
pub(crate) use inflated::InflatedMembers;

use crate::extent::Extent;
use crate::finding::FindingCode;
use crate::header::{Header, RecordType, Version};
use damage::Damage;
use head::Head;
pub use members::Compression;
use read_head::{HeadForm, MAX_LINE, head_form};
use source::{RecordStart, Source};

/// Limit of the number of line-end bytes skipped after a record.
const MAX_LINE_ENDS: usize = 64;

/// Reads the records of a file.
pub struct Reader<R> {
    source: Source<R>,
    state: ReaderState,
    /// The beginning of the current record, or of the next.
    start: RecordStart,
    version: Option<Version>,
    deviations: Vec<Deviation>,
    damage: Damage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    /// Before a record or at the end.
    Between,
    /// In a block, with the number of its bytes left.
    Block(u64),
    /// After an error, or at the end.
    Done,
}

impl Reader<File> {
    /// Opens a regular file for reading from its beginning. The path may be a link.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_at(path, 0)
    }

    /// Opens a file for reading from the record at `offset`, such as one from an index.
    pub fn open_at(path: &Path, offset: u64) -> Result<Self, ReadError> {
        let failed = |error| ReadError {
            offset,
            kind: ReadErrorKind::Input(error),
        };
        let file = urldb_files::open(path).map_err(failed)?;
        Self::new_at(file, offset)
    }
}

impl<R: Read + Seek> Reader<R> {
    /// A reader from the record at `offset` of a file.
    pub fn new_at(input: R, offset: u64) -> Result<Self, ReadError> {
        let source = Source::at(input, offset).map_err(|kind| ReadError { offset, kind })?;
        Ok(Self::of(source, offset))
    }
}

impl<R: Read> Reader<R> {
    /// A reader from the beginning of a file. The input need not be buffered.
    pub fn new(input: R) -> Result<Self, ReadError> {
        let source = Source::new(input, 0).map_err(|kind| ReadError { offset: 0, kind })?;
        Ok(Self::of(source, 0))
    }

    fn of(source: Source<R>, offset: u64) -> Self {
        Self {
            source,
            state: ReaderState::Between,
            start: RecordStart::new(offset),
            version: None,
            deviations: Vec::new(),
            damage: Damage::default(),
        }
    }

    /// The deviations tolerated since the last call of [`Reader::next_record`] began: those at the end of
    /// the previous record, unless that was finished, then those of the returned record.
    pub fn deviations(&self) -> &[Deviation] {
        &self.deviations
    }

    /// The compression of the file.
    pub fn compression(&self) -> Compression {
        self.source.compression()
    }

    /// Reads the next record; `None` at the end of the file and after an error. The unread rest of the
    /// previous record is skipped and checked.
    pub fn next_record(&mut self) -> Result<Option<Record<'_, R>>, ReadError> {
        self.deviations.clear();
        self.end_record()?;
        if self.state == ReaderState::Done
            || !self.begin_record().map_err(|kind| self.fault(kind))?
        {
            self.state = ReaderState::Done;
            return Ok(None);
        }
        let head = self.read_head().map_err(|kind| self.fault(kind))?;
        self.state = ReaderState::Block(head.block);
        self.version = Some(head.version);
        for code in &head.deviations {
            self.add_deviation(*code);
        }
        Ok(Some(Record { reader: self, head }))
    }

    /// Moves to the next record; false at the end of the file.
    fn begin_record(&mut self) -> Result<bool, ReadErrorKind> {
        if !self.advance_to_record()? {
            return Ok(false);
        }
        self.start = self.source.here();
        self.skip_leading_line_ends()?;
        if self.start.is_within_member() {
            self.add_deviation(FindingCode::SharedMember);
        }
        Ok(true)
    }

    /// Moves to the beginning of the next record, past members without content; false at the end of
    /// the file. Members in a row have each deviation once, so that the list stays short.
    fn advance_to_record(&mut self) -> Result<bool, ReadErrorKind> {
        let known = self.deviations.len();
        while self.source.peek(1)?.is_empty() {
            self.start.offset = self.source.position();
            let more = self.source.next_member()?;
            for code in self.source.take_deviations() {
                if self.deviations[known..].iter().all(|it| it.code != code) {
                    self.add_deviation(code);
                }
            }
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Skips line ends that belong to no record, for example after a wrong length.
    fn skip_leading_line_ends(&mut self) -> Result<(), ReadErrorKind> {
        if !is_line_end(self.source.peek(1)?.first()) {
            return Ok(());
        }
        let (ends, rest) = split_line_ends(self.source.peek(MAX_LINE_ENDS + MAX_LINE)?);
        if ends <= MAX_LINE_ENDS && head_form(rest).is_some() {
            self.source.consume(ends);
            self.start = self.source.here();
            self.add_deviation(FindingCode::LineEnds);
        }
        Ok(())
    }

    fn read_head(&mut self) -> Result<Head, ReadErrorKind> {
        let first = self.version.is_none();
        self.source.read_head().map_err(|kind| match kind {
            ReadErrorKind::NoRecord { found } if first => ReadErrorKind::NotAnArchive { found },
            other => other,
        })
    }

    /// Reads the current record, if any, to its end, and checks the end.
    fn end_record(&mut self) -> Result<Option<Extent>, ReadError> {
        let ReaderState::Block(left) = self.state else {
            return Ok(None);
        };
        let closed = self.skip_rest(left).map_err(|kind| self.fault(kind))?;
        self.take_source_deviations();
        self.state = ReaderState::Between;
        Ok(Some(closed))
    }

    fn skip_rest(&mut self, left: u64) -> Result<Extent, ReadErrorKind> {
        self.skip_block(left)?;
        self.skip_line_ends()?;
        // The checksum is at the end of a member.
        self.source.peek(1)?;
        Ok(Extent {
            offset: self.start.offset,
            length: self.source.consumed() - self.start.offset,
        })
    }

    fn skip_block(&mut self, mut left: u64) -> Result<(), ReadErrorKind> {
        while left > 0 {
            let there = self.block_bytes()?.len();
            let part = usize::try_from(left).map_or(there, |left| left.min(there));
            self.source.consume(part);
            left -= part as u64;
        }
        Ok(())
    }

    /// The next bytes of the block, at least one. A block that continues in another member is a
    /// deviation.
    fn block_bytes(&mut self) -> Result<&[u8], ReadErrorKind> {
        while self.source.peek(1)?.is_empty() {
            if !self.source.is_compressed() {
                return Err(ReadErrorKind::CutOff);
            }
            self.continue_in_next_member()?;
        }
        Ok(self.source.bytes())
    }

    /// Continues the record in the next member, unless another record begins there.
    fn continue_in_next_member(&mut self) -> Result<(), ReadErrorKind> {
        if !self.source.next_member()? {
            return Err(ReadErrorKind::CutOff);
        }
        let next = self.source.peek(MAX_LINE)?;
        if head_form(next).is_some_and(|form| form != HeadForm::Arc) {
            return Err(ReadErrorKind::CutOff);
        }
        self.add_split_member();
        Ok(())
    }

    /// Notes that a record lies in several members. In zstd files it may.
    fn add_split_member(&mut self) {
        if self.compression() != Compression::Zstd {
            self.add_deviation(FindingCode::SplitMember);
        }
    }

    /// Skips the end of a record: two line ends, or one in ARC.
    fn skip_line_ends(&mut self) -> Result<(), ReadErrorKind> {
        let at_member_end = self.source.is_compressed() && self.source.peek(1)?.is_empty();
        if at_member_end && self.source.next_member()? && is_line_end(self.source.peek(1)?.first())
        {
            self.add_split_member();
        }
        let expected: &[u8] = if self.is_arc() { b"\n" } else { b"\r\n\r\n" };
        let rest = self.source.peek(expected.len() + 1)?.strip_prefix(expected);
        if rest.is_some_and(|rest| !is_line_end(rest.first())) {
            self.source.consume(expected.len());
            return Ok(());
        }
        self.skip_unusual_line_ends()
    }

    fn skip_unusual_line_ends(&mut self) -> Result<(), ReadErrorKind> {
        let there = self.source.peek(MAX_LINE_ENDS + MAX_LINE)?;
        let (ends, rest) = split_line_ends(there);
        if !rest.is_empty() && (ends > MAX_LINE_ENDS || head_form(rest).is_none()) {
            return Err(ReadErrorKind::NotClosed);
        }
        // At the end of the file the block is complete, whatever line ends follow it.
        self.source.consume(ends);
        self.add_deviation(FindingCode::LineEnds);
        Ok(())
    }

    /// The implementation of [`Record::fill_buf`].
    pub(crate) fn fill_block(&mut self) -> io::Result<&[u8]> {
        let ReaderState::Block(left @ 1..) = self.state else {
            return Ok(&[]);
        };
        if let Err(kind) = self.block_bytes() {
            return Err(io::Error::other(self.fault(kind)));
        }
        let there = self.source.bytes();
        let part = usize::try_from(left).map_or(there.len(), |left| left.min(there.len()));
        Ok(&there[..part])
    }

    pub(crate) fn consume_block(&mut self, amount: usize) {
        if let ReaderState::Block(left) = &mut self.state {
            *left = left.saturating_sub(amount as u64);
            self.source.consume(amount);
        }
    }

    fn is_arc(&self) -> bool {
        self.version == Some(Version::Arc)
    }

    fn add_deviation(&mut self, code: FindingCode) {
        let note = Deviation {
            offset: self.start.offset,
            code,
        };
        if !self.deviations.contains(&note) {
            self.deviations.push(note);
        }
    }

    fn take_source_deviations(&mut self) {
        for code in self.source.take_deviations() {
            self.add_deviation(code);
        }
    }

    fn fault(&mut self, kind: ReadErrorKind) -> ReadError {
        self.state = ReaderState::Done;
        self.damage.set(self.start.offset);
        ReadError {
            offset: self.start.offset,
            kind,
        }
    }
}

/// Splits `bytes` after their leading line ends: the number of line-end bytes, and the rest.
fn split_line_ends(bytes: &[u8]) -> (usize, &[u8]) {
    let other = |byte: &u8| !is_line_end(Some(byte));
    let ends = bytes.iter().position(other).unwrap_or(bytes.len());
    (ends, bytes.get(ends..).unwrap_or_default())
}

fn is_line_end(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'\r' | b'\n'))
}

/// A record of a [`Reader`]. Reading from it reads its block.
pub struct Record<'a, R> {
    reader: &'a mut Reader<R>,
    head: Head,
}

impl<R: Read> Record<'_, R> {
    /// The format of the record.
    pub fn version(&self) -> Version {
        self.head.version
    }

    /// The fields, in order. Names, dates and ids of WARC 0.9 and ARC are converted to the form of
    /// WARC 1.1; fields of other versions are unchanged.
    pub fn header(&self) -> &Header {
        &self.head.header
    }

    /// The type, if the standard defines it.
    pub fn record_type(&self) -> Option<RecordType> {
        self.header().record_type()
    }

    /// The length of the block, in bytes.
    pub fn block_length(&self) -> u64 {
        self.head.block
    }

    /// The offset in the file of the record's first byte, or of its member.
    pub fn offset(&self) -> u64 {
        self.reader.start.offset
    }

    /// The number of decompressed bytes before the record in its member. Only a record with none
    /// can be read by its offset.
    pub fn within_member(&self) -> u64 {
        self.reader.start.within_member()
    }

    /// The deviations tolerated so far, in this record and at the end of the previous one.
    pub fn deviations(&self) -> &[Deviation] {
        &self.reader.deviations
    }

    /// Converts an error from reading the block: to the [`ReadError`] that it wraps, if any.
    pub fn fault(&self, error: io::Error) -> ReadError {
        let offset = self.offset();
        error.downcast().unwrap_or_else(|error| ReadError {
            offset,
            kind: ReadErrorKind::Input(error),
        })
    }

    /// Takes the header out of the record, which has no fields afterwards.
    pub(crate) fn take_header(&mut self) -> Header {
        std::mem::take(&mut self.head.header)
    }

    /// Skips the rest of the block, checks the end of the record and the checksum of its member, and returns the
    /// record's position. For a record that shares a member this is the position of the member, as
    /// far as it was read.
    pub fn finish(self) -> Result<Extent, ReadError> {
        self.finish_with_header().map(|(extent, _)| extent)
    }

    /// As [`Record::finish`]; also returns the header.
    pub fn finish_with_header(self) -> Result<(Extent, Header), ReadError> {
        let offset = self.reader.start.offset;
        let extent = self.reader.end_record()?.ok_or(ReadError {
            offset,
            kind: ReadErrorKind::CutOff,
        })?;
        Ok((extent, self.head.header))
    }
}

impl<R: Read> Read for Record<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let read = available.len().min(buffer.len());
        buffer[..read].copy_from_slice(&available[..read]);
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Record<'_, R> {
    /// Damage is an I/O error that wraps the [`ReadError`].
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_block()
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume_block(amount);
    }
}
