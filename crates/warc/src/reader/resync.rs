//! Finds the next readable record after a damaged one.
//!
//! The search begins right after the first byte of the damaged record, because bytes that a wrong length
//! or a damaged stream covered may be readable. A hostile file could make the reader read the same bytes
//! again and again. So the number of bytes read twice is limited by the length of the file; after that
//! the search begins where reading stopped.

use std::io::{Read, Seek};
use std::ops::Range;

use super::Reader;
use super::damage::SkippedRange;
use super::error::{ReadError, ReadErrorKind};
use super::members::MemberProbe;
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
    /// `probes` members are examined.
    pub(super) fn search(
        &mut self,
        range: Range<u64>,
        probes: usize,
    ) -> Result<Option<u64>, ReadErrorKind> {
        let with_arc = self.version.is_none_or(|version| version == Version::Arc);
        let (input, probe) = self.source.search_from(range.start)?;
        let found = match probe {
            Some(probe) => {
                let mut search = MemberSearch {
                    probe,
                    with_arc,
                    remaining: probes,
                };
                find_member(input, range.end, &mut search)?
            }
            None => find_line(input, with_arc, range.end)?,
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

/// Moves to the next member in which a record begins; false if there is none before `until`, or the search is used up.
fn find_member<R: Read>(
    input: &mut Window<RawBytes<R>>,
    until: u64,
    search: &mut MemberSearch,
) -> Result<bool, ReadErrorKind> {
    let magic = search.probe.magic();
    let finder = memchr::memmem::Finder::new(magic);
    while input.position() < until {
        let bytes = input.peek(2 * MAX_LINE)?;
        let skipped = match finder.find(bytes) {
            Some(at) if at > 0 => at,
            Some(_) if search.remaining == 0 => return Ok(false),
            Some(_) if search.begins_record(bytes) => return Ok(true),
            Some(_) => 1,
            None if bytes.len() < magic.len() => bytes.len(),
            None => bytes.len() - (magic.len() - 1),
        };
        if skipped == 0 {
            return Ok(false);
        }
        input.consume(skipped);
    }
    Ok(false)
}

/// Tells the members in which a record begins.
struct MemberSearch {
    probe: MemberProbe,
    with_arc: bool,
    /// The number of members that may still be examined.
    remaining: usize,
}

impl MemberSearch {
    fn begins_record(&mut self, member: &[u8]) -> bool {
        self.remaining -= 1;
        // A few bytes suffice to recognize WARC and to reject most other data; lines of ARC need more.
        let short = self.probe.decompress(member, 64);
        match head_form(&short) {
            Some(HeadForm::Arc) => self.with_arc,
            Some(_) => true,
            None => {
                self.with_arc
                    && short.contains(&b':')
                    && head_form(&self.probe.decompress(member, MAX_LINE)).is_some()
            }
        }
    }
}
