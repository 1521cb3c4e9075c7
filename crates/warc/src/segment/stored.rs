//! Reads the segments of a record in the files of an archive, and their blocks as one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use super::{ORIGIN, SegmentJoiner, TRUNCATED, is_one_of, number};
use crate::digest::{BackgroundHasher, Digest};
use crate::files::{ArchiveInput, FileSource, open_at};
use crate::header::id::strip_brackets;
use crate::header::{Header, RecordType};
use crate::reader::{ReadError, ReadErrorKind, Reader};

/// The position of a segment: the name of its file, and the offset of the record in bytes.
pub type SegmentPosition = (String, u64);

/// The segments of one record, as far as they are in the archive.
#[derive(Clone, Debug)]
pub struct StoredSegments {
    header: Header,
    positions: Vec<SegmentPosition>,
    /// Why the record is incomplete.
    problem: Option<String>,
}

impl StoredSegments {
    /// Reads the segments of the record at `offset` of `file`: the first one, and its continuations, which the
    /// index names, in any order. `None` if the record is not a first segment.
    ///
    /// # Errors
    /// When a file cannot be read, for another reason than damage or because it is gone.
    pub fn read(
        source: &dyn FileSource,
        continuations: impl IntoIterator<Item = SegmentPosition>,
        file: &str,
        offset: u64,
    ) -> Result<Option<Self>, ReadError> {
        let mut reader = open_at(source, file, offset)?;
        let Some(first) = reader.next_record()? else {
            return Ok(None);
        };
        let Some(joiner) = SegmentJoiner::begin(first.header(), first.block_length()) else {
            return Ok(None);
        };
        let mut search = SegmentSearch {
            positions: vec![(file.to_owned(), offset)],
            waiting: BTreeMap::new(),
            joiner,
            problem: None,
        };
        for position in continuations {
            if search.is_over() {
                break;
            }
            match search.add_record_at(source, position) {
                Err(error) if !error.is_damage() && !is_gone(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(Some(search.finish()))
    }

    /// The header of the whole record, without `Content-Length` and block digest.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Why the record is incomplete, if segments are missing or do not fit.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The blocks of the segments, one after another.
    pub fn blocks<'s>(&self, source: &'s dyn FileSource) -> io::Result<SegmentBlocks<'s>> {
        SegmentBlocks::open(source, self.positions.clone())
    }
}

/// Limit of the number of segments that wait for those before them.
const MAX_WAITING: usize = 100_000;

struct SegmentSearch {
    joiner: SegmentJoiner,
    positions: Vec<SegmentPosition>,
    /// Segments whose predecessors have not been found, by number: position, header, length of the block.
    waiting: BTreeMap<u64, (SegmentPosition, Header, u64)>,
    problem: Option<String>,
}

impl SegmentSearch {
    fn is_over(&self) -> bool {
        self.joiner.is_complete() || self.problem.is_some()
    }

    /// Adds the record at a position, if it is one of the segments.
    fn add_record_at(
        &mut self,
        source: &dyn FileSource,
        position: SegmentPosition,
    ) -> Result<(), ReadError> {
        let mut reader = open_at(source, &position.0, position.1)?;
        let Some(record) = reader.next_record()? else {
            return Ok(());
        };
        let header = record.header();
        let origin = header.get(ORIGIN).map(strip_brackets);
        if record.record_type() == Some(RecordType::Continuation)
            && origin == Some(self.joiner.origin.as_str())
            && self.waiting.len() < MAX_WAITING
            && let Some(number) = number(header)
        {
            let segment = (position, header.clone(), record.block_length());
            self.waiting.entry(number).or_insert(segment);
            self.join();
        }
        Ok(())
    }

    /// Joins the segments that follow the last joined one.
    fn join(&mut self) {
        while !self.is_over()
            && let Some((position, header, length)) =
                self.waiting.remove(&(self.joiner.segments + 1))
        {
            match self.joiner.add(&header, length) {
                Ok(()) => self.positions.push(position),
                Err(error) => self.problem = Some(error.to_string()),
            }
        }
    }

    fn finish(self) -> StoredSegments {
        let missing = || {
            format!(
                "segment {} of {} is not in the archive",
                self.joiner.segments + 1,
                self.joiner.origin
            )
        };
        let is_complete = self.joiner.is_complete();
        let problem = self.problem.or_else(|| (!is_complete).then(missing));
        StoredSegments {
            header: self.joiner.whole,
            positions: self.positions,
            problem,
        }
    }
}

fn is_gone(error: &ReadError) -> bool {
    matches!(&error.kind, ReadErrorKind::Input(cause) if cause.kind() == io::ErrorKind::NotFound)
}

/// The joined blocks of segments, whose own block digests are compared on the way.
pub struct SegmentBlocks<'s> {
    source: &'s dyn FileSource,
    left: std::vec::IntoIter<SegmentPosition>,
    current: Option<OpenSegment>,
    header: Header,
}

struct OpenSegment {
    reader: Reader<Box<dyn ArchiveInput>>,
    position: SegmentPosition,
    digest: Option<(Digest, BackgroundHasher)>,
}

impl<'s> SegmentBlocks<'s> {
    pub(crate) fn open(
        source: &'s dyn FileSource,
        positions: Vec<SegmentPosition>,
    ) -> io::Result<Self> {
        let mut blocks = Self {
            source,
            left: positions.into_iter(),
            current: None,
            header: Header::default(),
        };
        blocks.header = blocks.open_next()?.unwrap_or_default();
        Ok(blocks)
    }

    /// The header of the first segment.
    pub(crate) fn first_header(&self) -> &Header {
        &self.header
    }

    /// Moves to the next segment, if any, and returns its header.
    fn open_next(&mut self) -> io::Result<Option<Header>> {
        self.end_current()?;
        let Some(position) = self.left.next() else {
            return Ok(None);
        };
        let mut reader = open_at(self.source, &position.0, position.1).map_err(io::Error::other)?;
        let header = reader
            .next_record()
            .map_err(io::Error::other)?
            .ok_or(io::ErrorKind::UnexpectedEof)?
            .header()
            .clone();
        let digest: Option<Digest> = header
            .get("WARC-Block-Digest")
            .and_then(|text| text.parse().ok());
        self.current = Some(OpenSegment {
            reader,
            position,
            digest: digest.map(|digest| {
                let hasher = BackgroundHasher::new(digest.algorithm());
                (digest, hasher)
            }),
        });
        Ok(Some(header))
    }

    /// Compares the digest of the current segment, and checks the end of its record.
    fn end_current(&mut self) -> io::Result<()> {
        let Some(mut segment) = self.current.take() else {
            return Ok(());
        };
        segment.reader.next_start().map_err(io::Error::other)?;
        let Some((stated, hasher)) = segment.digest else {
            return Ok(());
        };
        let found = hasher.finish();
        if stated == found {
            return Ok(());
        }
        let (file, offset) = segment.position;
        let problem = format!(
            "the block of the segment at byte {offset} of {} has the digest {found}, and the record says {stated}",
            self.source.path_of(&file).display()
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, problem))
    }
}

impl BufRead for SegmentBlocks<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while let Some(segment) = &mut self.current
            && segment.reader.fill_block()?.is_empty()
        {
            self.open_next()?;
        }
        match &mut self.current {
            Some(segment) => segment.reader.fill_block(),
            None => Ok(&[]),
        }
    }

    fn consume(&mut self, amount: usize) {
        if let Some(OpenSegment { reader, digest, .. }) = &mut self.current {
            if let (Some((_, hasher)), Ok(bytes)) = (digest, reader.fill_block()) {
                hasher.update(&bytes[..amount.min(bytes.len())]);
            }
            reader.consume_block(amount);
        }
    }
}

impl Read for SegmentBlocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

/// Whether the record is one of several segments.
pub(crate) fn is_segment(header: &Header) -> bool {
    header
        .iter()
        .any(|(name, _)| is_one_of(name, &[super::NUMBER]))
}

/// The header of a first segment as that of the whole record, for the check of the joined blocks.
pub(crate) fn whole_header(first: &Header, is_truncated: bool) -> Header {
    let mut whole = first.clone();
    whole.retain(|name| !is_one_of(name, &[super::NUMBER, "WARC-Block-Digest"]));
    if is_truncated {
        whole.push_read(TRUNCATED, "");
    }
    whole
}
