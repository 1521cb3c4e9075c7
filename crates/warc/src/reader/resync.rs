//! Finds the next good record after a bad one.
//!
//! The search begins right after the first byte of the bad record, for what a wrong length or a
//! damaged stream ran over may be good. A file made so that the same bytes are read over and over
//! must not win by it: how much is read twice is bounded by the length of the file, and once that is
//! used up the search begins where reading had come to.

use std::io::{Read, Seek};
use std::ops::Range;

use flate2::{Decompress, FlushDecompress};

use super::Reader;
use super::fault::{Problem, ReadError};
use super::gzip::{MAGIC, member_header};
use super::head::{self, MAX_LINE};
use super::window::{Raw, Window};
use crate::version::Version;

/// Bytes that may be read twice before the length of the file counts.
const CREDIT: u64 = 64 * 1024 * 1024;

/// Bytes of a file that were passed over because no record could be read from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Of the first.
    pub offset: u64,
    /// Their number.
    pub length: u64,
}

/// What has to be found a way around.
#[derive(Default)]
pub(super) struct Damage {
    /// Where the bad record begins.
    at: Option<u64>,
    /// Bytes that were read twice so far.
    repeated: u64,
}

impl Damage {
    pub(super) fn begins(&mut self, at: u64) {
        self.at = Some(at);
    }

    pub(super) fn forget(&mut self) {
        self.at = None;
    }

    /// Where the search begins, if reading had come to `reached`.
    fn resume(&mut self, at: u64, reached: u64) -> u64 {
        let repeated = self.repeated.saturating_add(reached.saturating_sub(at));
        if repeated > reached.saturating_add(CREDIT) {
            return reached.max(at + 1);
        }
        self.repeated = repeated;
        at + 1
    }
}

impl<R: Read + Seek> Reader<R> {
    /// After an error: goes on to what looks like the next record, or to the end of the file, and
    /// says what was passed over. `None` if there was no error.
    pub fn skip_damage(&mut self) -> Result<Option<Gap>, ReadError> {
        let Some(offset) = self.damage.at.take() else {
            return Ok(None);
        };
        let from = self.damage.resume(offset, self.source.position());
        let found = self
            .search(from..u64::MAX, usize::MAX)
            .map_err(|problem| ReadError { offset, problem })?
            .unwrap_or_else(|| self.source.position());
        self.settle(found);
        let length = found.saturating_sub(offset);
        Ok(Some(Gap { offset, length }))
    }

    /// Looks for a record that begins in that part of the file, and says where. At most so many gzip
    /// members are looked into.
    pub(super) fn search(
        &mut self,
        part: Range<u64>,
        probes: usize,
    ) -> Result<Option<u64>, Problem> {
        let gzip = self.source.is_gzip();
        let with_arc = self.version.is_none_or(|version| version == Version::Arc);
        let input = self.source.seek(part.start)?;
        let found = if gzip {
            find_member(input, part.end, &mut Probe::new(with_arc, probes))?
        } else {
            find_line(input, with_arc, part.end)?
        };
        Ok(found.then(|| input.position()).filter(|at| *at < part.end))
    }
}

/// Goes to the next line that a record begins with; false if there is none before `until`.
fn find_line<R: Read>(
    input: &mut Window<Raw<R>>,
    with_arc: bool,
    until: u64,
) -> Result<bool, Problem> {
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
        let is_record = match head::shape(next) {
            Some(head::Shape::Arc) => with_arc,
            other => other.is_some(),
        };
        if is_record {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Goes to the next gzip member that a record begins in; false if there is none before `until`, or
/// too many had to be looked into.
fn find_member<R: Read>(
    input: &mut Window<Raw<R>>,
    until: u64,
    probe: &mut Probe,
) -> Result<bool, Problem> {
    let finder = memchr::memmem::Finder::new(&MAGIC);
    while input.position() < until {
        let bytes = input.peek(2 * MAX_LINE)?;
        let skipped = match finder.find(bytes) {
            Some(at) if at > 0 => at,
            Some(_) if probe.left == 0 => return Ok(false),
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

/// Decompresses the beginning of what may be a member.
struct Probe {
    inflate: Decompress,
    output: Vec<u8>,
    with_arc: bool,
    /// How often it may be used yet.
    left: usize,
}

impl Probe {
    fn new(with_arc: bool, left: usize) -> Self {
        Self {
            inflate: Decompress::new(false),
            output: vec![0; MAX_LINE],
            with_arc,
            left,
        }
    }

    fn begins_record(&mut self, member: &[u8]) -> bool {
        self.left -= 1;
        let Ok(Some(header)) = member_header(member) else {
            return false;
        };
        let data = member.get(header.length..).unwrap_or_default();
        // Little is enough for WARC and most of what is nothing; only lines of ARC need more.
        let short = self.decompress(data, 64);
        match head::shape(&short) {
            Some(head::Shape::Arc) => self.with_arc,
            Some(_) => true,
            None => {
                self.with_arc
                    && short.contains(&b':')
                    && head::shape(&self.decompress(data, MAX_LINE)).is_some()
            }
        }
    }

    fn decompress(&mut self, data: &[u8], wanted: usize) -> Vec<u8> {
        self.inflate.reset(false);
        let output = &mut self.output[..wanted];
        let data = &data[..data.len().min(MAX_LINE)];
        // Damage after the first bytes is for the reader to find.
        let _ = self.inflate.decompress(data, output, FlushDecompress::None);
        let given = usize::try_from(self.inflate.total_out()).unwrap_or(0);
        output[..given.min(wanted)].to_vec()
    }
}
