//! An archive file while it is being written.
//!
//! It is called `NAME.warc.gz.open` until it is finished, and locked by its process; so a file named
//! `NAME.warc.gz` is whole, and an `.open` file that nobody has locked was left by a process that
//! died: [`recover`](crate::recover) takes care of it. A record that fails, on a full disk say, is
//! cut off again, and the file goes on.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::date::WarcDate;
use crate::fs::{DirectoryLock, remove_if_there, sync_directory_of};
use crate::packer::Packed;
use crate::record::Draft;
use crate::version::Version;
use crate::writer::{Compression, Extent, WriteError, Writer};

/// What the name of a finished file ends with.
pub const SUFFIX: &str = ".warc.gz";

/// What the name of an unfinished file ends with, after [`SUFFIX`].
pub const OPEN: &str = ".open";

/// The most of a host's name that goes into a file name, in bytes.
const MAX_HOST: usize = 64;

/// Why a file could not be created, added to or finished.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The name has other characters than [`file_name`] gives, or another ending.
    #[error("{name:?} cannot be the name of an archive file")]
    Name {
        /// The name.
        name: String,
    },
    /// A finished or unfinished file of that name is there.
    #[error("{}: this archive file exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The record was not written; the file is as it was before, and can be added to.
    #[error("{}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: WriteError,
    },
}

/// `PREFIX-TIMESTAMP-SERIAL-HOST.warc.gz`. Whatever prefix and host are, the name is one of letters,
/// digits, `.`, `_` and `-`, short, and in no other directory.
pub fn file_name(prefix: &str, date: &WarcDate, serial: u32, host: &str) -> String {
    let (prefix, host) = (safe(prefix), safe(host));
    let timestamp = date.to_timestamp14();
    format!("{prefix}-{timestamp}-{serial:05}-{host}{SUFFIX}")
}

fn safe(text: &str) -> String {
    let safe: String = text
        .chars()
        .map(|c| if is_safe(c) { c } else { '_' })
        .take(MAX_HOST)
        .collect();
    if safe.is_empty() {
        "unknown".to_owned()
    } else {
        safe
    }
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// How the records of a file are written: by default as WARC/1.1, without skip lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The version.
    pub version: Version,
    /// Whether each gzip member says how long it is: [`Writer::with_skip_lengths`].
    pub skip_lengths: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            version: Version::Warc11,
            skip_lengths: false,
        }
    }
}

/// An archive file that is being written. Dropped without [`ArchiveFile::finish`] it stays `.open`.
pub struct ArchiveFile {
    writer: Writer<File>,
    name: String,
    open_path: PathBuf,
    final_path: PathBuf,
}

impl ArchiveFile {
    /// Creates `NAME.open` in the directory, which must exist, and writes its first record. The name
    /// is the final one, of [`file_name`].
    pub fn create(dir: &Path, name: &str, warcinfo: &Draft) -> Result<Self, FileError> {
        Self::create_in(Style::default(), dir, name, warcinfo)
    }

    /// The same in a style of its own.
    pub fn create_in(
        style: Style,
        dir: &Path,
        name: &str,
        warcinfo: &Draft,
    ) -> Result<Self, FileError> {
        if !name.ends_with(SUFFIX) || name.starts_with('.') || !name.chars().all(is_safe) {
            return Err(FileError::Name {
                name: name.to_owned(),
            });
        }
        let final_path = dir.join(name);
        let open_path = dir.join(format!("{name}{OPEN}"));
        // Between creating and locking it, recovery must not take the file for a dead one.
        let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
        if final_path.exists() {
            return Err(FileError::Exists { path: final_path });
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&open_path)
            .map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => FileError::Exists {
                    path: open_path.clone(),
                },
                _ => FileError::Io {
                    path: open_path.clone(),
                    source,
                },
            })?;
        // Another process may have finished its file of that name since we looked.
        if final_path.exists() {
            remove_if_there(&open_path).map_err(at(&open_path))?;
            return Err(FileError::Exists { path: final_path });
        }
        file.lock().map_err(at(&open_path))?;
        sync_directory_of(&open_path).map_err(at(dir))?;
        let mut writer = Writer::new(file, Compression::Gzip).with_version(style.version);
        if style.skip_lengths {
            writer = writer.with_skip_lengths();
        }
        let mut archive = Self {
            writer,
            name: name.to_owned(),
            open_path,
            final_path,
        };
        archive.append(warcinfo, io::empty(), 0)?;
        Ok(archive)
    }

    /// Adds a record. If that fails, what it left in the file is cut off again.
    pub fn append(
        &mut self,
        draft: &Draft,
        body: impl Read,
        body_length: u64,
    ) -> Result<Extent, FileError> {
        let written = self.writer.write_draft(draft, body, body_length);
        written.map_err(|source| self.undo(source))
    }

    /// Adds a record that was packed in the style of this file.
    pub fn append_packed(&mut self, packed: &Packed) -> Result<Extent, FileError> {
        let written = self.writer.write_packed(packed);
        written.map_err(|source| self.undo(source))
    }

    fn undo(&mut self, source: WriteError) -> FileError {
        if self.cut_back().is_ok() {
            self.writer.resume();
        }
        FileError::Record {
            path: self.open_path.clone(),
            source,
        }
    }

    fn cut_back(&mut self) -> io::Result<()> {
        let good = self.writer.position();
        let mut file = self.writer.get_ref();
        file.set_len(good)?;
        file.seek(SeekFrom::Start(good)).map(drop)
    }

    /// The final name, without a directory: what index lines say.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The length so far, in bytes.
    pub fn length(&self) -> u64 {
        self.writer.position()
    }

    /// Brings the file to disk and gives it its final name, which is returned.
    pub fn finish(mut self) -> Result<PathBuf, FileError> {
        // If a failed record could not be cut off when it failed, perhaps it can now.
        self.cut_back().map_err(at(&self.open_path))?;
        publish(self.writer.get_ref(), &self.open_path, &self.final_path)
            .map_err(at(&self.final_path))?;
        Ok(self.final_path)
    }
}

/// Brings a file to disk, then gives it its final name.
pub(crate) fn publish(file: &File, open_path: &Path, final_path: &Path) -> io::Result<()> {
    file.sync_all()?;
    std::fs::rename(open_path, final_path)?;
    sync_directory_of(final_path)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> FileError + use<> {
    let path = path.to_owned();
    move |source| FileError::Io { path, source }
}
