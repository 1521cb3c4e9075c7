//! Bytes that can be looked at before they are consumed, in a buffer of fixed size.

use std::io::{self, Read, Seek, SeekFrom};

use super::fault::Problem;

/// The most that a window holds: the largest header and then some, and few calls for a large block.
pub(super) const CAPACITY: usize = 128 * 1024;

/// What it holds at first, so that one small record costs little.
const FIRST: usize = 8 * 1024;

/// Where the bytes of a [`Window`] come from.
pub(super) trait Fill {
    /// Puts bytes at the beginning of `into` and says how many; 0 at the end.
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, Problem>;
}

/// The file itself.
pub(super) struct Raw<R>(pub(super) R);

impl<R: Read> Fill for Raw<R> {
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, Problem> {
        loop {
            match self.0.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return Ok(other?),
            }
        }
    }
}

pub(super) struct Window<S> {
    source: S,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Of `start`, in bytes from the beginning of the source.
    position: u64,
}

impl<S: Fill> Window<S> {
    pub(super) fn new(source: S, position: u64) -> Self {
        Self {
            source,
            buffer: vec![0; FIRST],
            start: 0,
            end: 0,
            position,
        }
    }

    pub(super) fn source(&self) -> &S {
        &self.source
    }

    pub(super) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// What is in the window now.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Fetches more bytes. False at the end of the source, and if the window is full.
    pub(super) fn more(&mut self) -> Result<bool, Problem> {
        let is_full = self.end == self.buffer.len();
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if is_full && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if is_full && self.buffer.len() < CAPACITY {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let Some(room) = self.buffer.get_mut(self.end..).filter(|it| !it.is_empty()) else {
            return Ok(false);
        };
        let read = self.source.fill(room)?;
        self.end += read;
        Ok(read > 0)
    }

    /// At least `wanted` bytes, at most [`CAPACITY`] of them; fewer at the end of the source.
    pub(super) fn peek(&mut self, wanted: usize) -> Result<&[u8], Problem> {
        while self.end - self.start < wanted && self.more()? {}
        Ok(self.bytes())
    }

    /// Passes over bytes that are in the window.
    pub(super) fn consume(&mut self, amount: usize) {
        let amount = amount.min(self.end - self.start);
        self.start += amount;
        self.position += amount as u64;
    }
}

impl<R: Read> Window<Raw<R>> {
    /// Passes over bytes, in the window or not; false if the source ends before.
    pub(super) fn skip(&mut self, mut amount: u64) -> Result<bool, Problem> {
        while amount > 0 {
            let there = self.peek(1)?.len();
            if there == 0 {
                return Ok(false);
            }
            let part = usize::try_from(amount).map_or(there, |amount| amount.min(there));
            self.consume(part);
            amount -= part as u64;
        }
        Ok(true)
    }
}

impl<R: Seek> Window<Raw<R>> {
    /// Goes to another place in the source. What is in the buffer is not read again.
    pub(super) fn seek(&mut self, position: u64) -> Result<(), Problem> {
        let first = self.position - self.start as u64;
        let known = position.checked_sub(first).map(usize::try_from);
        if let Some(Ok(start)) = known
            && start <= self.end
        {
            (self.start, self.position) = (start, position);
            return Ok(());
        }
        self.source.0.seek(SeekFrom::Start(position))?;
        (self.start, self.end) = (0, 0);
        self.position = position;
        Ok(())
    }
}
