//! Body bytes kept for the archive: in memory while small, then in a temporary file.

use std::io::{self, Read, Seek, SeekFrom, Write};

use tempfile::SpooledTempFile;

/// Bodies up to this many bytes stay in memory.
const IN_MEMORY: usize = 64 << 10;

/// The bytes of one body. Written once, then read as often as wanted.
#[derive(Debug)]
pub struct Spool {
    file: SpooledTempFile,
    length: u64,
}

impl Spool {
    /// An empty spool; it takes disk space in the system's temporary folder only when it grows.
    pub fn new() -> Self {
        Self {
            file: SpooledTempFile::new(IN_MEMORY),
            length: 0,
        }
    }

    /// Appends.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// The number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// A reader over all of it.
    pub fn reader(&mut self) -> io::Result<impl Read + '_> {
        self.file.seek(SeekFrom::Start(0))?;
        Ok((&mut self.file).take(self.length))
    }
}

impl Default for Spool {
    fn default() -> Self {
        Self::new()
    }
}
