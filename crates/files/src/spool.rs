//! Bytes that a run needs again, such as bodies for the archive: in memory while few, then in a temporary file.

use std::io::{self, Read, Seek, SeekFrom, Write};

use tempfile::SpooledTempFile;

/// Most bytes that stay in memory.
const IN_MEMORY: usize = 64 << 10;

/// Bytes of a run. Written once, then read as often as wanted.
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

    /// The `length` bytes from a position on. Further bytes may be appended afterwards.
    pub fn bytes_at(&mut self, position: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.seek(SeekFrom::Start(position))?;
        let read = self.file.read_exact(&mut bytes);
        self.file.seek(SeekFrom::Start(self.length))?;
        read.map(|()| bytes)
    }

    /// A reader over all of it.
    pub fn reader(&mut self) -> io::Result<impl Read + Seek + '_> {
        self.file.seek(SeekFrom::Start(0))?;
        Ok((&mut self.file).take(self.length))
    }
}

impl Default for Spool {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_between_others_that_are_appended() {
        let mut spool = Spool::new();
        // In memory, and then in a file.
        for number in 0..40_u8 {
            spool.push(&[number; 5_000]).unwrap();
            let position = u64::from(number / 2) * 5_000;
            assert_eq!(spool.bytes_at(position, 2).unwrap(), [number / 2; 2]);
        }
        assert_eq!(spool.length(), 200_000);
        assert!(spool.bytes_at(199_999, 2).is_err());
        spool.push(b"x").unwrap();
        assert_eq!(spool.bytes_at(199_999, 2).unwrap(), [39, b'x']);
    }
}
