//! A bounded buffer whose bytes can be examined before they are consumed.

use std::io::{self, Read, Seek, SeekFrom};

use super::error::ReadErrorKind;

/// The largest size of a window, in bytes: more than the largest header, and enough to read large blocks
/// with few calls.
pub(super) const CAPACITY: usize = 128 * 1024;

/// The initial size, in bytes, so that reading one small record is cheap.
const INITIAL_SIZE: usize = 8 * 1024;

/// The source of a [`Window`]'s bytes.
pub(super) trait WindowInput {
    /// Writes bytes to the beginning of `into` and returns their number; 0 at the end.
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, ReadErrorKind>;
}

pub(super) struct RawBytes<R>(pub(super) R);

impl<R: Read> WindowInput for RawBytes<R> {
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, ReadErrorKind> {
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
    /// The position of `start` in the source, in bytes.
    position: u64,
}

impl<S: WindowInput> Window<S> {
    pub(super) fn new(source: S, position: u64) -> Self {
        Self {
            source,
            buffer: vec![0; INITIAL_SIZE],
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

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The bytes from an earlier position on; `None` if they are no longer there.
    pub(super) fn bytes_since(&self, position: u64) -> Option<&[u8]> {
        let consumed = usize::try_from(self.position.checked_sub(position)?).ok()?;
        self.buffer.get(self.start.checked_sub(consumed)?..self.end)
    }

    /// Adds bytes. False at the end of the source, and if the window is full.
    pub(super) fn more(&mut self) -> Result<bool, ReadErrorKind> {
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

    /// Fills the window to at least `wanted` bytes, at most [`CAPACITY`]; fewer at the end of the source.
    pub(super) fn peek(&mut self, wanted: usize) -> Result<&[u8], ReadErrorKind> {
        while self.end - self.start < wanted && self.more()? {}
        Ok(self.bytes())
    }

    /// Removes bytes from the beginning of the window.
    pub(super) fn consume(&mut self, amount: usize) {
        let amount = amount.min(self.end - self.start);
        self.start += amount;
        self.position += amount as u64;
    }
}

impl<R: Read> Window<RawBytes<R>> {
    /// Skips bytes, in the window and after it; false if the source ends before.
    pub(super) fn skip(&mut self, mut amount: u64) -> Result<bool, ReadErrorKind> {
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

impl<R: Seek> Window<RawBytes<R>> {
    /// Moves to another position in the source. Bytes in the buffer are not read again.
    pub(super) fn seek(&mut self, position: u64) -> Result<(), ReadErrorKind> {
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
