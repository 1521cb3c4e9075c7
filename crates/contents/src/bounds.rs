//! Limits of an archive, and a reader that keeps to them.

use std::io::{self, Read};

use crate::refusal::Refusal;

/// Limits of each of two archives. An archive beyond one of them is refused.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Most unpacked bytes.
    pub unpacked: u64,
    /// Most unpacked bytes for each packed byte.
    pub ratio: u64,
    /// Most members.
    pub members: usize,
    /// Most bytes of all names and link targets together.
    pub names: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            unpacked: 1 << 30,
            ratio: 200,
            members: 100_000,
            names: 32 << 20,
        }
    }
}

impl Bounds {
    /// Most unpacked bytes of a content with this many packed bytes.
    pub(crate) fn most_unpacked(&self, packed: u64) -> u64 {
        self.unpacked.min(packed.saturating_mul(self.ratio))
    }
}

/// Counts unpacked bytes, and fails beyond the limit.
#[derive(Debug)]
pub(crate) struct BoundedReader<R> {
    input: R,
    left: u64,
}

impl<R: Read> BoundedReader<R> {
    pub(crate) fn new(input: R, most: u64) -> Self {
        Self { input, left: most }
    }

    /// Number of bytes that may still come.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or(Refusal::TooLarge("unpacked bytes"))?;
        Ok(read)
    }
}
