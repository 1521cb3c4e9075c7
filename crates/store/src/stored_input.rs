//! A file in the store, read by ranges.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;

use crate::manifest::StoredFile;
use crate::store::{Store, first_that_has};

/// The first range after a seek, in bytes: a record, as most are.
const SMALLEST_RANGE: u64 = 256 << 10;

/// The largest range while a file is read on and on, in bytes.
const LARGEST_RANGE: u64 = 8 << 20;

/// Reads a file by ranges, each from the first store that has it. Ranges get longer while the file is read on.
pub struct StoredInput {
    stores: Arc<[Store]>,
    file: StoredFile,
    position: u64,
    /// The last range, and where it begins.
    range: Bytes,
    start: u64,
    next_length: u64,
}

impl StoredInput {
    /// Reads this file, from its beginning.
    pub fn new(stores: Arc<[Store]>, file: StoredFile) -> Self {
        Self {
            stores,
            file,
            position: 0,
            range: Bytes::new(),
            start: 0,
            next_length: SMALLEST_RANGE,
        }
    }

    /// The bytes of the last range from the position on.
    fn buffered(&self) -> &[u8] {
        let from = self.position.checked_sub(self.start);
        let from = from.and_then(|from| usize::try_from(from).ok());
        from.and_then(|from| self.range.get(from..))
            .unwrap_or_default()
    }

    fn fill(&mut self) -> io::Result<()> {
        let end = self.start + self.range.len() as u64;
        let is_read_on = !self.range.is_empty() && self.position == end;
        self.next_length = if is_read_on {
            (self.next_length * 2).min(LARGEST_RANGE)
        } else {
            SMALLEST_RANGE
        };
        self.range = first_that_has(&self.stores, |store| {
            store.range(&self.file, self.position, self.next_length)
        })?;
        self.start = self.position;
        Ok(())
    }
}

impl Read for StoredInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.file.length || buffer.is_empty() {
            return Ok(0);
        }
        if self.buffered().is_empty() {
            self.fill()?;
        }
        let bytes = self.buffered();
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for StoredInput {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.file.length.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

impl fmt::Debug for StoredInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredInput")
            .field("file", &self.file.name)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
