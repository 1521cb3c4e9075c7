//! The part of a domain file that an edit concerns, and the rest of the file, which is copied.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

/// The documents of a file that an edit concerns.
#[derive(Debug, Clone)]
pub(crate) struct EditWindow {
    file: Arc<File>,
    version: FileVersion,
    /// The bytes of these documents.
    bytes: Range<u64>,
    /// The first and the last path that records in the window may have; `None` at the ends of the file.
    paths: (Option<String>, Option<String>),
}

/// Tells whether a file was changed since: its length, and when it was last written.
pub(crate) type FileVersion = (u64, Option<SystemTime>);

pub(crate) fn version_of(file: &File) -> io::Result<FileVersion> {
    let version = |metadata: Metadata| (metadata.len(), metadata.modified().ok());
    file.metadata().map(version)
}

impl EditWindow {
    /// The bytes of a file that has this version.
    pub(crate) fn new(
        file: Arc<File>,
        version: FileVersion,
        bytes: Range<u64>,
        paths: (Option<String>, Option<String>),
    ) -> Self {
        Self {
            file,
            version,
            bytes,
            paths,
        }
    }

    /// The bytes of the window, to be read.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn source(&self) -> io::Result<impl Read> {
        self.part(&self.bytes)
    }

    /// Whether a record with this path may be in the window.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        let (first, last) = &self.paths;
        first.as_ref().is_none_or(|first| first.as_str() <= path)
            && last.as_ref().is_none_or(|last| path <= last.as_str())
    }

    /// Writes the file to `out`, with `text` in place of the window.
    ///
    /// # Errors
    /// When the file cannot be copied, or was changed since.
    pub(crate) fn write(&self, text: &str, out: &mut File) -> io::Result<()> {
        io::copy(&mut self.part(&(0..self.bytes.start))?, out)?;
        out.write_all(text.as_bytes())?;
        io::copy(&mut self.part(&(self.bytes.end..self.version.0))?, out)?;
        if version_of(&self.file)? != self.version {
            return Err(io::Error::other(
                "another program has changed the file meanwhile",
            ));
        }
        Ok(())
    }

    fn part(&self, bytes: &Range<u64>) -> io::Result<io::Take<&File>> {
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(bytes.start))?;
        Ok(file.take(bytes.end - bytes.start))
    }
}
