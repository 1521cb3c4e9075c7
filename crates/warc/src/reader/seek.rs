//! Moves a reader within its file, for reading by several threads.

use std::io::{Read, Seek};
use std::ops::Range;

use super::error::{ReadError, ReadErrorKind};
use super::source::RecordStart;
use super::{Reader, ReaderState};
use crate::header::Version;

/// Limit of the number of members examined for the first record of a range.
const MAX_PROBES: usize = 64;

impl<R: Read> Reader<R> {
    /// The version of the last record.
    pub(crate) fn version(&self) -> Option<Version> {
        self.version
    }

    /// Ends the previous record, as [`Reader::next_record`] does, and returns the offset of the next one;
    /// `None` at the end of the file.
    pub(crate) fn next_start(&mut self) -> Result<Option<u64>, ReadError> {
        self.deviations.clear();
        self.end_record()?;
        if self.state == ReaderState::Done
            || !self.advance_to_record().map_err(|kind| self.fault(kind))?
        {
            self.state = ReaderState::Done;
            return Ok(None);
        }
        Ok(Some(self.source.here().offset))
    }

    /// Whether another reader could begin at the offset from [`Reader::next_start`] and return the same
    /// records and deviations. False within a member, and where bytes between records deviate.
    pub(crate) fn can_begin_here(&self) -> bool {
        let here = self.source.here();
        !here.is_within_member()
            && !self.source.has_unchecked_length()
            && self.deviations.iter().all(|note| note.offset < here.offset)
    }

    /// The number of bytes read from the file, or a little more.
    pub(crate) fn position(&self) -> u64 {
        self.source.position()
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Moves to the record at `at`, which follows a record of version `after`.
    pub(crate) fn go_to(&mut self, at: u64, after: Option<Version>) -> Result<(), ReadError> {
        self.source
            .seek(at)
            .map_err(|kind| ReadError { offset: at, kind })?;
        self.start_at(at);
        self.version = after;
        Ok(())
    }

    /// Moves to the first bytes in `range` that look like a record, and returns their offset. The search
    /// stops early in a range full of bytes that only resemble records.
    pub(crate) fn find_record(&mut self, range: &Range<u64>) -> Result<Option<u64>, ReadErrorKind> {
        let found = if range.start == 0 {
            self.source.seek(0)?;
            Some(0)
        } else {
            // A line begins after the end of another.
            let from = range.start - u64::from(!self.source.is_compressed());
            self.search(from..range.end, MAX_PROBES)?
        };
        if let Some(found) = found {
            self.start_at(found);
        }
        Ok(found)
    }

    /// Resets the state to the beginning of the record at `at`, where the source is.
    pub(super) fn start_at(&mut self, at: u64) {
        self.state = ReaderState::Between;
        self.start = RecordStart::new(at);
        self.deviations.clear();
        self.damage.clear();
    }
}
