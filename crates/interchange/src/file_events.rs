//! The events of one file: items, and notices about its lines.

use std::ops::Range;
use std::sync::Arc;

use urldb_format::{Algorithm, Digest};

use crate::digest;
use crate::model::{Location, Notice, ReadError, ReadEvent, Sink};
use crate::sums::notice;

/// The digests that a file has for a URL, each with its place.
pub(crate) type Digests = Vec<(Digest, Option<Range<u64>>)>;

/// Passes the events of a file to a sink.
pub(crate) struct FileEvents<'a, 's> {
    pub(crate) file: &'a Arc<str>,
    pub(crate) sink: &'a mut Sink<'s>,
}

impl FileEvents<'_, '_> {
    /// The location of a line.
    pub(crate) fn at(&self, line: u64) -> Location {
        Location::line(self.file, line)
    }

    /// Passes an item or a notice.
    pub(crate) fn pass(&mut self, event: impl Into<ReadEvent>) -> Result<(), ReadError> {
        Ok((self.sink)(event.into())?)
    }

    /// Leaves an entry out.
    pub(crate) fn skip(&mut self, line: u64, code: &str, why: &str) -> Result<(), ReadError> {
        self.pass(Notice::left_out(self.at(line), code, why))
    }

    /// Refuses an entry.
    pub(crate) fn refuse(&mut self, line: u64, code: &str, why: &str) -> Result<(), ReadError> {
        self.pass(Notice::refused(self.at(line), code, why))
    }

    /// The digest in a text, whose place is `place`; `None` if a notice refused it. A digest of another algorithm is left out.
    pub(crate) fn digest(
        &mut self,
        text: &str,
        assumed: Option<Algorithm>,
        line: u64,
        place: Option<Range<u64>>,
    ) -> Result<Option<Digests>, ReadError> {
        match digest::parse(text, assumed) {
            Ok(digest) => Ok(Some(vec![(digest, place)])),
            Err(unknown) => {
                self.pass(notice(self.at(line), &unknown))?;
                let is_other = matches!(unknown, digest::Unknown::Algorithm(_));
                Ok(is_other.then(Vec::new))
            }
        }
    }
}
