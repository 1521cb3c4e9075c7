//! Reads records from a stream, in order, without holding a block in memory.
//!
//! WARC 0.9, 0.17, 0.18, 1.0 and 1.1, and ARC; plain, with a gzip member for each record, or as one
//! gzip member. All come out as one kind of [`Record`], whose header has the names of WARC 1.1.
//!
//! Hostile input ends in a [`ReadError`], never in a panic or a hang: headers are bounded by
//! [`MAX_HEADER`](crate::header::MAX_HEADER), blocks are streamed, and every step consumes input.
//! What an error's offset names is the record that is bad; all before it is good, and
//! [`Reader::skip_damage`] looks for what is good after it. What is merely unusual is read, and
//! [noted](Reader::notes).

mod arc;
mod fault;
mod gzip;
mod head;
mod inflated;
mod jump;
mod resync;
mod source;
mod v09;
mod window;

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::Path;

pub use fault::{GzipFault, Note, Problem, ReadError};
pub(crate) use inflated::Inflated;
pub use resync::Gap;

use crate::finding::Code;
use crate::header::{Header, RecordType};
use crate::version::Version;
use crate::writer::Extent;
use head::{Head, Shape};
use source::{Source, Start};

/// The most line ends that are passed over after a record.
const MAX_LINE_ENDS: usize = 64;

/// Reads the records of a file.
pub struct Reader<R> {
    source: Source<R>,
    state: State,
    /// Of the record that is being read, or of the next.
    start: Start,
    version: Option<Version>,
    notes: Vec<Note>,
    trusts_skip_lengths: bool,
    damage: resync::Damage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At a record or at the end.
    Between,
    /// In a block, with so many bytes left.
    Block(u64),
    /// After a fault, or at the end.
    Done,
}

impl Reader<File> {
    /// Reads the file from its beginning.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_at(path, 0)
    }

    /// Reads the file from the record at that offset, which an index has told.
    pub fn open_at(path: &Path, offset: u64) -> Result<Self, ReadError> {
        let failed = |error| ReadError {
            offset,
            problem: Problem::Input(error),
        };
        let mut file = File::open(path).map_err(failed)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        Self::new_at(file, offset)
    }
}

impl<R: Read> Reader<R> {
    /// Reads from the beginning of a file. The input need not be buffered.
    pub fn new(input: R) -> Result<Self, ReadError> {
        Self::new_at(input, 0)
    }

    /// Reads from an input that stands at a record, `offset` bytes into its file.
    pub fn new_at(input: R, offset: u64) -> Result<Self, ReadError> {
        let source = Source::new(input, offset).map_err(|problem| ReadError { offset, problem })?;
        Ok(Self {
            source,
            state: State::Between,
            start: Start::new(offset),
            version: None,
            notes: Vec::new(),
            trusts_skip_lengths: false,
            damage: resync::Damage::default(),
        })
    }

    /// Passes over blocks that are not read by the `sl` field of their gzip members, where they have
    /// one that agrees with the record's length. What is passed over so is not checked.
    #[must_use]
    pub fn trusting_skip_lengths(mut self) -> Self {
        self.trusts_skip_lengths = true;
        self
    }

    /// What was tolerated since the last call of [`Reader::next_record`] began: how the record before
    /// was closed if that was not finished, then all about the record that it returned.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Whether the file is compressed.
    pub fn is_gzip(&self) -> bool {
        self.source.is_gzip()
    }

    /// The next record; `None` at the end of the file and after an error. What was left unread of
    /// the record before is passed over, and checked.
    pub fn next_record(&mut self) -> Result<Option<Record<'_, R>>, ReadError> {
        self.notes.clear();
        self.pass_over()?;
        if self.state == State::Done || !self.begin().map_err(|problem| self.fault(problem))? {
            self.state = State::Done;
            return Ok(None);
        }
        let head = self.head().map_err(|problem| self.fault(problem))?;
        self.state = State::Block(head.block);
        self.version = Some(head.version);
        for code in &head.notes {
            self.note(*code);
        }
        Ok(Some(Record { reader: self, head }))
    }

    /// Begins the next record; false at the end of the file.
    fn begin(&mut self) -> Result<bool, Problem> {
        if !self.reach()? {
            return Ok(false);
        }
        self.start = self.source.here();
        self.pass_leading_line_ends()?;
        if self.start.is_within_member() {
            self.note(Code::SharedMember);
        }
        Ok(true)
    }

    /// Goes to where the next record begins; false at the end of the file. A gzip member without
    /// content has none.
    fn reach(&mut self) -> Result<bool, Problem> {
        while self.source.peek(1)?.is_empty() {
            self.start.offset = self.source.position();
            let more = self.source.next_member()?;
            self.take_source_notes();
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Line ends that belong to no record, as a wrong length leaves them.
    fn pass_leading_line_ends(&mut self) -> Result<(), Problem> {
        if !is_line_end(self.source.peek(1)?.first()) {
            return Ok(());
        }
        let (ends, rest) = split_line_ends(self.source.peek(MAX_LINE_ENDS + head::MAX_LINE)?);
        if ends <= MAX_LINE_ENDS && head::shape(rest).is_some() {
            self.source.consume(ends);
            self.start = self.source.here();
            self.note(Code::LineEnds);
        }
        Ok(())
    }

    fn head(&mut self) -> Result<Head, Problem> {
        let first = self.version.is_none();
        self.source.read_head().map_err(|problem| match problem {
            Problem::NoRecord { found } if first => Problem::Foreign { found },
            other => other,
        })
    }

    /// Reads the current record to its end, if there is one, and checks how it is closed.
    fn pass_over(&mut self) -> Result<Option<Extent>, ReadError> {
        let State::Block(left) = self.state else {
            return Ok(None);
        };
        let closed = self.close(left).map_err(|problem| self.fault(problem))?;
        self.take_source_notes();
        self.state = State::Between;
        Ok(Some(closed))
    }

    fn close(&mut self, left: u64) -> Result<Extent, Problem> {
        if !self.skip_by_length(left)? {
            self.skip_block(left)?;
            self.pass_line_ends()?;
            // Only at its end is a gzip member known to be good.
            self.source.peek(1)?;
        }
        Ok(Extent {
            offset: self.start.offset,
            length: self.source.consumed() - self.start.offset,
        })
    }

    /// Passes over the member undecompressed, where that is wanted and possible.
    fn skip_by_length(&mut self, left: u64) -> Result<bool, Problem> {
        if !self.trusts_skip_lengths || self.start.is_within_member() {
            return Ok(false);
        }
        let length = (self.source.here().inner - self.start.inner)
            .saturating_add(left)
            .saturating_add(4);
        self.source.skip_member(length)
    }

    fn skip_block(&mut self, mut left: u64) -> Result<(), Problem> {
        while left > 0 {
            let there = self.block_bytes()?.len();
            let part = usize::try_from(left).map_or(there, |left| left.min(there));
            self.source.consume(part);
            left -= part as u64;
        }
        Ok(())
    }

    /// Bytes of the block, some at least. A block that goes on in another gzip member is unusual.
    fn block_bytes(&mut self) -> Result<&[u8], Problem> {
        while self.source.peek(1)?.is_empty() {
            if !self.source.is_gzip() {
                return Err(Problem::Clipped);
            }
            self.cross_member()?;
        }
        Ok(self.source.bytes())
    }

    /// Goes on within a record that its gzip member does not hold, unless the next begins another.
    fn cross_member(&mut self) -> Result<(), Problem> {
        if !self.source.next_member()? {
            return Err(Problem::Clipped);
        }
        let next = self.source.peek(head::MAX_LINE)?;
        if head::shape(next).is_some_and(|shape| shape != Shape::Arc) {
            return Err(Problem::Clipped);
        }
        self.note(Code::SplitMember);
        Ok(())
    }

    /// Passes over what closes a record: two line ends, or of ARC one.
    fn pass_line_ends(&mut self) -> Result<(), Problem> {
        let at_member_end = self.source.is_gzip() && self.source.peek(1)?.is_empty();
        if at_member_end && self.source.next_member()? && is_line_end(self.source.peek(1)?.first())
        {
            self.note(Code::SplitMember);
        }
        let expected: &[u8] = if self.is_arc() { b"\n" } else { b"\r\n\r\n" };
        let there = self.source.peek(expected.len() + 1)?;
        let rest = there.strip_prefix(expected);
        if rest.is_some_and(|rest| !is_line_end(rest.first())) {
            self.source.consume(expected.len());
            return Ok(());
        }
        self.pass_unusual_line_ends(expected)
    }

    fn pass_unusual_line_ends(&mut self, expected: &[u8]) -> Result<(), Problem> {
        let there = self.source.peek(MAX_LINE_ENDS + head::MAX_LINE)?;
        let (ends, rest) = split_line_ends(there);
        let cut = expected.starts_with(there);
        if !rest.is_empty() && (ends > MAX_LINE_ENDS || head::shape(rest).is_none()) {
            return Err(Problem::NotClosed);
        } else if cut && !self.source.is_gzip() && !self.is_arc() {
            return Err(Problem::Clipped);
        }
        self.source.consume(ends);
        self.note(Code::LineEnds);
        Ok(())
    }

    /// What [`Record::fill_buf`] says.
    pub(crate) fn fill_block(&mut self) -> io::Result<&[u8]> {
        let State::Block(left @ 1..) = self.state else {
            return Ok(&[]);
        };
        if let Err(problem) = self.block_bytes() {
            return Err(io::Error::other(self.fault(problem)));
        }
        let there = self.source.bytes();
        let part = usize::try_from(left).map_or(there.len(), |left| left.min(there.len()));
        Ok(&there[..part])
    }

    pub(crate) fn consume_block(&mut self, amount: usize) {
        if let State::Block(left) = &mut self.state {
            *left = left.saturating_sub(amount as u64);
            self.source.consume(amount);
        }
    }

    fn is_arc(&self) -> bool {
        self.version == Some(Version::Arc)
    }

    fn note(&mut self, code: Code) {
        let note = Note {
            offset: self.start.offset,
            code,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn take_source_notes(&mut self) {
        for code in self.source.take_notes() {
            self.note(code);
        }
    }

    fn fault(&mut self, problem: Problem) -> ReadError {
        self.state = State::Done;
        self.damage.begins(self.start.offset);
        ReadError {
            offset: self.start.offset,
            problem,
        }
    }
}

/// The number of line ends, in bytes, that the bytes begin with, and the rest.
fn split_line_ends(bytes: &[u8]) -> (usize, &[u8]) {
    let other = |byte: &u8| !is_line_end(Some(byte));
    let ends = bytes.iter().position(other).unwrap_or(bytes.len());
    (ends, bytes.get(ends..).unwrap_or_default())
}

fn is_line_end(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'\r' | b'\n'))
}

/// A record. Reading from it reads its block.
pub struct Record<'a, R> {
    reader: &'a mut Reader<R>,
    head: Head,
}

impl<R: Read> Record<'_, R> {
    /// The format that it is in.
    pub fn version(&self) -> Version {
        self.head.version
    }

    /// Its fields, in order. Those of WARC 0.9 and of ARC have the names, and dates and ids the form,
    /// of WARC 1.1; what other versions have is as they have it.
    pub fn header(&self) -> &Header {
        &self.head.header
    }

    /// Its type, if the standard knows it.
    pub fn record_type(&self) -> Option<RecordType> {
        self.header().record_type()
    }

    /// The length of its block, in bytes.
    pub fn block_length(&self) -> u64 {
        self.head.block
    }

    /// Where it begins in the file: its first byte, or the first of its gzip member.
    pub fn offset(&self) -> u64 {
        self.reader.start.offset
    }

    /// How many decompressed bytes of its gzip member come before it. Only if none do can it be read
    /// by its offset.
    pub fn within_member(&self) -> u64 {
        self.reader.start.within_member()
    }

    /// What was tolerated so far, in this record and in how the one before was closed.
    pub fn notes(&self) -> &[Note] {
        &self.reader.notes
    }

    /// What a failure to read the block was: the fault in the archive that it wraps, or another.
    pub fn fault(&self, error: io::Error) -> ReadError {
        let offset = self.offset();
        error.downcast().unwrap_or_else(|error| ReadError {
            offset,
            problem: Problem::Input(error),
        })
    }

    /// Passes over what is left of the block, checks how the record is closed (and with gzip its
    /// checksum), and says where it stood. Of a record that shares a gzip member the extent is that
    /// of the member, as far as it was read.
    pub fn finish(self) -> Result<Extent, ReadError> {
        self.finish_with_header().map(|(extent, _)| extent)
    }

    /// As [`Record::finish`], and hands out the header.
    pub fn finish_with_header(self) -> Result<(Extent, Header), ReadError> {
        let offset = self.reader.start.offset;
        let extent = self.reader.pass_over()?.ok_or(ReadError {
            offset,
            problem: Problem::Clipped,
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
    /// A fault is an I/O error that wraps the [`ReadError`].
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_block()
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume_block(amount);
    }
}
