//! The decompressed content of gzip members, as one stream.

use std::io::{self, Read};

use super::error::ReadErrorKind;
use super::source::Source;

/// The content of gzip members, one after another, up to the first damaged member.
pub(crate) struct InflatedMembers<R> {
    source: Source<R>,
    is_over: bool,
}

impl<R: Read> InflatedMembers<R> {
    pub(crate) fn new(input: R) -> Result<Self, ReadErrorKind> {
        Ok(Self {
            source: Source::new(input, 0)?,
            is_over: false,
        })
    }

    /// Moves to the next member with content, or to the end.
    fn advance(&mut self) -> Result<(), ReadErrorKind> {
        while !self.is_over && self.source.peek(1)?.is_empty() {
            self.is_over = !self.source.next_member()?;
        }
        Ok(())
    }
}

impl<R: Read> Read for InflatedMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.advance() {
            Err(ReadErrorKind::Input(error)) => return Err(error),
            Err(_) => self.is_over = true,
            Ok(()) => {}
        }
        let read = self.source.bytes().read(buffer)?;
        self.source.consume(read);
        Ok(read)
    }
}
