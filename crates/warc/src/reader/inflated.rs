//! A file of gzip members as the bytes that are in them, for those who do without knowing where each
//! member begins.

use std::io::{self, Read};

use super::fault::Problem;
use super::source::Source;

/// What comes out of gzip members, one after another, up to the first that is damaged.
pub(crate) struct Inflated<R> {
    source: Source<R>,
    is_over: bool,
}

impl<R: Read> Inflated<R> {
    pub(crate) fn new(input: R) -> Result<Self, Problem> {
        Ok(Self {
            source: Source::new(input, 0)?,
            is_over: false,
        })
    }

    /// Goes to where there are bytes, or to the end.
    fn advance(&mut self) -> Result<(), Problem> {
        while !self.is_over && self.source.peek(1)?.is_empty() {
            self.is_over = !self.source.next_member()?;
        }
        Ok(())
    }
}

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.advance() {
            Err(Problem::Input(error)) => return Err(error),
            Err(_) => self.is_over = true,
            Ok(()) => {}
        }
        let read = self.source.bytes().read(buffer)?;
        self.source.consume(read);
        Ok(read)
    }
}
