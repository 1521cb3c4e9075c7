//! Output whose length and digests are known afterwards.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};
use urldb_fetch::DigestHasher;
use urldb_format::{Algorithm, Digest};

/// Writes to an output, and computes length, SHA-256 and further digests of what it writes.
pub struct HashingWriter<W> {
    output: W,
    hasher: Sha256,
    further: Vec<DigestHasher>,
    length: u64,
    has_failed: bool,
}

impl<W> HashingWriter<W> {
    /// A writer to this output.
    pub fn new(output: W) -> Self {
        Self {
            output,
            hasher: Sha256::new(),
            further: vec![],
            length: 0,
            has_failed: false,
        }
    }

    /// Computes digests of the algorithms of these, too, from the first byte on.
    pub fn compare_with(&mut self, digests: &[Digest]) {
        let further = digests
            .iter()
            .map(Digest::algorithm)
            .filter(|algorithm| *algorithm != Algorithm::Sha256);
        self.further = further.map(DigestHasher::new).collect();
    }

    /// Whether the written bytes have all these digests, which they were to be compared with.
    pub fn has(&mut self, digests: &[Digest]) -> bool {
        let sha256 = Digest::new(Algorithm::Sha256, &self.sha256());
        let found: Vec<Digest> = self
            .further
            .drain(..)
            .filter_map(DigestHasher::finish)
            .chain(sha256)
            .collect();
        digests.iter().all(|digest| found.contains(digest))
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
        for hasher in &mut self.further {
            hasher.update(&bytes[..written]);
        }
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
