//! Takes the bytes of files.

use std::collections::BTreeMap;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use crate::members::Name;

/// Size of the buffers, in bytes.
pub(crate) const BUFFER: usize = 64 << 10;

/// Files whose bytes are wanted.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The bytes of each file, by name, once they are known. The name of a single compressed file is empty.
    pub(crate) files: BTreeMap<Name, Option<Vec<u8>>>,
    /// Files beyond this number of bytes are left out.
    pub(crate) longest: u64,
}

impl Wanted {
    fn entry(&mut self, name: &[u8], size: Option<u64>) -> Option<&mut Option<Vec<u8>>> {
        let longest = self.longest;
        let wanted = self.files.get_mut(name)?;
        (size.unwrap_or_default() <= longest).then_some(wanted)
    }
}

/// Takes the bytes of one file: their number, SHA-256, and the bytes themselves if they are wanted.
pub(crate) struct FileSink<'a> {
    size: u64,
    sha256: Sha256,
    /// The bytes, and their largest number.
    kept: Option<(&'a mut Option<Vec<u8>>, u64)>,
}

impl<'a> FileSink<'a> {
    pub(crate) fn new(wanted: &'a mut Wanted, name: &[u8], size: Option<u64>) -> Self {
        let longest = wanted.longest;
        let mut kept = wanted.entry(name, size).map(|entry| (entry, longest));
        if let Some((bytes, _)) = &mut kept {
            **bytes = Some(vec![]);
        }
        Self {
            size: 0,
            sha256: Sha256::new(),
            kept,
        }
    }

    /// Reads to the end.
    pub(crate) fn copy(&mut self, input: &mut impl Read) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = match input.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.take(&buffer[..read]);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        self.sha256.update(bytes);
        if let Some((kept, longest)) = &mut self.kept {
            if self.size > *longest {
                **kept = None;
                self.kept = None;
            } else if let Some(kept) = kept {
                kept.extend_from_slice(bytes);
            }
        }
    }

    /// Number of bytes, and SHA-256.
    pub(crate) fn finish(self) -> (u64, [u8; 32]) {
        (self.size, self.sha256.finalize().into())
    }
}
