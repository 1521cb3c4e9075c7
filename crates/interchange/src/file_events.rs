//! The events of one file: items, and notices about its lines.

use std::io::BufRead;
use std::sync::Arc;

use crate::input::LineReader;
use crate::model::{FilePromise, ListItem, Location, Notice, ReadError, ReadEvent, Sink};

/// A line that can be read.
pub(crate) struct FileLine<'a> {
    /// The number, from 1.
    pub(crate) number: u64,
    /// The offset of its first byte.
    pub(crate) offset: u64,
    pub(crate) text: &'a str,
}

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

    /// Passes the item of a file with its promise, or a notice.
    pub(crate) fn promise(
        &mut self,
        item: Result<ListItem, Notice>,
        promise: &FilePromise,
    ) -> Result<(), ReadError> {
        self.pass(item.map(|item| item.promising(promise)))
    }

    /// Passes each line that can be read to `take`, and refuses the others.
    ///
    /// # Errors
    /// [`ReadError::Input`] if the file cannot be read, and the errors of `take`.
    pub(crate) fn each_line(
        &mut self,
        input: impl BufRead,
        take: &mut dyn FnMut(FileLine<'_>, &mut Self) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut lines = LineReader::new(input);
        while let Some(line) = lines.next_line().map_err(ReadError::input(self.file))? {
            let (number, offset) = (line.number, line.offset);
            match line.text {
                Err(why) => self.refuse(number, "bad-line", why)?,
                Ok(text) => {
                    let line = FileLine {
                        number,
                        offset,
                        text,
                    };
                    take(line, self)?;
                }
            }
        }
        Ok(())
    }

    /// Leaves an entry out.
    pub(crate) fn skip(&mut self, line: u64, code: &str, why: &str) -> Result<(), ReadError> {
        self.pass(Notice::left_out(self.at(line), code, why))
    }

    /// Refuses an entry.
    pub(crate) fn refuse(&mut self, line: u64, code: &str, why: &str) -> Result<(), ReadError> {
        self.pass(Notice::refused(self.at(line), code, why))
    }
}
