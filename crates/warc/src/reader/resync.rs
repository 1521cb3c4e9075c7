//! Finds the next readable record after a damaged one.
//!
//! The search begins right after the first byte of the damaged record, because bytes that a wrong length
//! or a damaged stream covered may be readable. A hostile file could make the reader read the same bytes
//! again and again. So the number of bytes read twice is limited by the length of the file; after that
//! the search begins where reading stopped.

use std::io::{Read, Seek};
use std::ops::Range;

use flate2::{Decompress, FlushDecompress};

use super::Reader;
use super::damage::SkippedRange;
use super::error::{ReadError, ReadErrorKind};
use super::gzip::{MAGIC, member_header};
use super::read_head::{HeadForm, MAX_LINE, head_form};
use super::window::{RawBytes, Window};
use crate::header::Version;

impl<R: Read + Seek> Reader<R> {
    /// After an error, moves to the next bytes that look like a record, or to the end of the file, and
    /// returns the skipped range. `None` if there was no error.
    pub fn skip_damage(&mut self) -> Result<Option<SkippedRange>, ReadError> {
        let Some(offset) = self.damage.take() else {
            return Ok(None);
        };
        let from = self.damage.search_start(offset, self.source.position());
        let found = self
            .search(from..u64::MAX, usize::MAX)
            .map_err(|kind| ReadError { offset, kind })?
            .unwrap_or_else(|| self.source.position());
        self.start_at(found);
        let length = found.saturating_sub(offset);
        Ok(Some(SkippedRange { offset, length }))
    }

    /// Searches `range` of the file for the beginning of a record and returns its offset. At most
    /// `probes` gzip members are examined.
    pub(super) fn search(
        &mut self,
        range: Range<u64>,
        probes: usize,
    ) -> Result<Option<u64>, ReadErrorKind> {
        let gzip = self.source.is_gzip();
        let with_arc = self.version.is_none_or(|version| version == Version::Arc);
        let input = self.source.seek(range.start)?;
        let found = if gzip {
            find_member(input, range.end, &mut MemberProbe::new(with_arc, probes))?
        } else {
            find_line(input, with_arc, range.end)?
        };
        Ok(found.then(|| input.position()).filter(|at| *at < range.end))
    }
}

/// Moves to the next line that begins a record; false if there is none before `until`.
fn find_line<R: Read>(
    input: &mut Window<RawBytes<R>>,
    with_arc: bool,
    until: u64,
) -> Result<bool, ReadErrorKind> {
    while input.position() < until {
        let bytes = input.peek(2 * MAX_LINE)?;
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            let all = bytes.len();
            if all == 0 {
                return Ok(false);
            }
            input.consume(all);
            continue;
        };
        input.consume(end + 1);
        let next = input.peek(if with_arc { MAX_LINE } else { 16 })?;
        let is_record = match head_form(next) {
            Some(HeadForm::Arc) => with_arc,
            other => other.is_some(),
        };
        if is_record {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Moves to the next gzip member in which a record begins; false if there is none before `until`, or
/// the probe is used up.
fn find_member<R: Read>(
    input: &mut Window<RawBytes<R>>,
    until: u64,
    probe: &mut MemberProbe,
) -> Result<bool, ReadErrorKind> {
    let finder = memchr::memmem::Finder::new(&MAGIC);
    while input.position() < until {
        let bytes = input.peek(2 * MAX_LINE)?;
        let skipped = match finder.find(bytes) {
            Some(at) if at > 0 => at,
            Some(_) if probe.remaining == 0 => return Ok(false),
            Some(_) if probe.begins_record(bytes) => return Ok(true),
            Some(_) => 1,
            None if bytes.len() < MAGIC.len() => bytes.len(),
            None => bytes.len() - (MAGIC.len() - 1),
        };
        if skipped == 0 {
            return Ok(false);
        }
        input.consume(skipped);
    }
    Ok(false)
}

/// Decompresses the beginning of bytes that may be a gzip member.
struct MemberProbe {
    inflate: Decompress,
    output: Vec<u8>,
    with_arc: bool,
    /// The number of members that may still be examined.
    remaining: usize,
}

impl MemberProbe {
    fn new(with_arc: bool, remaining: usize) -> Self {
        Self {
            inflate: Decompress::new(false),
            output: vec![0; MAX_LINE],
            with_arc,
            remaining,
        }
    }

    fn begins_record(&mut self, member: &[u8]) -> bool {
        self.remaining -= 1;
        let Ok(Some(header)) = member_header(member) else {
            return false;
        };
        let data = member.get(header.length..).unwrap_or_default();
        // A few bytes suffice to recognize WARC and to reject most other data; lines of ARC need more.
        let short = self.decompress(data, 64);
        match head_form(&short) {
            Some(HeadForm::Arc) => self.with_arc,
            Some(_) => true,
            None => {
                self.with_arc
                    && short.contains(&b':')
                    && head_form(&self.decompress(data, MAX_LINE)).is_some()
            }
        }
    }

    fn decompress(&mut self, data: &[u8], wanted: usize) -> Vec<u8> {
        self.inflate.reset(false);
        let output = &mut self.output[..wanted];
        let data = &data[..data.len().min(MAX_LINE)];
        // The reader reports damage after the first bytes.
        let _ = self.inflate.decompress(data, output, FlushDecompress::None);
        let given = usize::try_from(self.inflate.total_out()).unwrap_or(0);
        output[..given.min(wanted)].to_vec()
    }
}
