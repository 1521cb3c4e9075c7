//! Goes to other places in a file, for those who read it in parts.

use std::io::{Read, Seek};
use std::ops::Range;

use super::fault::{Problem, ReadError};
use super::source::Start;
use super::{Reader, State};
use crate::version::Version;

/// The most gzip members that are looked into for the first record of a part.
const PROBES: usize = 64;

impl<R: Read> Reader<R> {
    /// The version of the last record.
    pub(crate) fn version(&self) -> Option<Version> {
        self.version
    }

    /// Closes the record before, as [`Reader::next_record`] does, and says where the next one begins;
    /// `None` at the end of the file.
    pub(crate) fn next_start(&mut self) -> Result<Option<u64>, ReadError> {
        self.notes.clear();
        self.pass_over()?;
        if self.state == State::Done || !self.reach().map_err(|problem| self.fault(problem))? {
            self.state = State::Done;
            return Ok(None);
        }
        Ok(Some(self.source.here().offset))
    }

    /// Whether another reader that begins where [`Reader::next_start`] has led would find the same:
    /// not within a gzip member, nor where something is to be said of what came between records.
    pub(crate) fn can_begin_here(&self) -> bool {
        let here = self.source.here();
        !here.is_within_member()
            && !self.source.has_earlier_claim()
            && self.notes.iter().all(|note| note.offset < here.offset)
    }

    /// How far the file has been read, in bytes, or a little further.
    pub(crate) fn position(&self) -> u64 {
        self.source.position()
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Goes to a record, behind one of that version.
    pub(crate) fn go_to(&mut self, at: u64, after: Option<Version>) -> Result<(), ReadError> {
        self.source.seek(at).map_err(|problem| ReadError {
            offset: at,
            problem,
        })?;
        self.settle(at);
        self.version = after;
        Ok(())
    }

    /// Goes to what looks like the first record of a part of the file, and says where it begins. A part
    /// that is full of what only looks like records is given up soon.
    pub(crate) fn find_record(&mut self, part: &Range<u64>) -> Result<Option<u64>, Problem> {
        let found = if part.start == 0 {
            self.source.seek(0)?;
            Some(0)
        } else {
            // A line begins behind the end of another.
            let from = part.start - u64::from(!self.source.is_gzip());
            self.search(from..part.end, PROBES)?
        };
        if let Some(found) = found {
            self.settle(found);
        }
        Ok(found)
    }

    /// The source stands at a record.
    pub(super) fn settle(&mut self, at: u64) {
        self.state = State::Between;
        self.start = Start::new(at);
        self.notes.clear();
        self.damage.forget();
    }
}
