//! Output whose length and SHA-256 are known afterwards.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

/// Writes to an output, and computes length and SHA-256 of what it writes.
#[derive(Debug)]
pub struct HashingWriter<W> {
    output: W,
    hasher: Sha256,
    length: u64,
    has_failed: bool,
}

impl<W> HashingWriter<W> {
    /// A writer to this output.
    pub fn new(output: W) -> Self {
        Self {
            output,
            hasher: Sha256::new(),
            length: 0,
            has_failed: false,
        }
    }

    /// The bytes written so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The SHA-256 of the bytes written so far.
    pub fn sha256(&self) -> [u8; 32] {
        self.hasher.clone().finalize().into()
    }

    /// Whether writing failed, rather than reading the content.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.output
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes);
        self.has_failed |= written.is_err();
        let written = written?;
        self.hasher.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
