//! Writes an archive file.
//!
//! An unfinished file is named `NAME.warc.gz.open` and locked by its process. So a file named
//! `NAME.warc.gz` is complete, and an unlocked `.open` file is left over from a process that died;
//! [`recover`](crate::repair::recover()) finishes it. When a record fails, for example on a full disk, its
//! bytes are cut off and the file stays usable.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::draft::RecordDraft;
use crate::extent::Extent;
use crate::files::names::{ARCHIVE_SUFFIX, OPEN_SUFFIX, is_safe};
use crate::fs::{self, DirectoryLock, FileError, at, remove_if_there, sync_directory_of};
use crate::header::Header;
use crate::writer::{Compression, PackedRecord, WriteError, WriteOptions, Writer};

/// Why a file could not be created, added to or finished.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFileError {
    /// The name has characters or a suffix that [`archive_file_name`](crate::files::archive_file_name) never produces.
    #[error("{name:?} cannot be the name of an archive file")]
    Name {
        /// The name.
        name: String,
    },
    /// A finished or unfinished file of that name exists.
    #[error("{}: this archive file exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
    /// The record was not written; the file is unchanged and stays usable.
    #[error(transparent)]
    Record(#[from] FileError<WriteError>),
}

/// An unfinished archive file. It stays `.open` if dropped without [`ArchiveFile::finish`].
pub struct ArchiveFile {
    writer: Writer<File>,
    name: String,
    open_path: PathBuf,
    final_path: PathBuf,
}

impl ArchiveFile {
    /// Creates `NAME.open` in the directory, which must exist, and writes its first record. `name` is
    /// the final name, from [`archive_file_name`](crate::files::archive_file_name).
    pub fn create(
        dir: &Path,
        name: &str,
        warcinfo: &RecordDraft,
    ) -> Result<Self, ArchiveFileError> {
        Self::create_with(WriteOptions::default(), dir, name, warcinfo)
    }

    /// The same as [`ArchiveFile::create`], with options.
    pub fn create_with(
        options: WriteOptions,
        dir: &Path,
        name: &str,
        warcinfo: &RecordDraft,
    ) -> Result<Self, ArchiveFileError> {
        if !name.ends_with(ARCHIVE_SUFFIX) || name.starts_with('.') || !name.chars().all(is_safe) {
            return Err(ArchiveFileError::Name {
                name: name.to_owned(),
            });
        }
        let final_path = dir.join(name);
        let open_path = dir.join(format!("{name}{OPEN_SUFFIX}"));
        // The lock keeps recovery away from the file until it is locked itself.
        let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
        if urldb_files::is_there(&final_path) {
            return Err(ArchiveFileError::Exists { path: final_path });
        }
        let file = create_new(&open_path)?;
        // Another process may have finished a file of that name after the first check.
        if urldb_files::is_there(&final_path) {
            remove_if_there(&open_path).map_err(at(&open_path))?;
            return Err(ArchiveFileError::Exists { path: final_path });
        }
        file.lock().map_err(at(&open_path))?;
        sync_directory_of(&open_path).map_err(at(dir))?;
        let mut writer = Writer::new(file, Compression::Gzip).with_version(options.version);
        if options.skip_lengths {
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

    /// Adds a record. The bytes of a record that fails are cut off.
    pub fn append(
        &mut self,
        draft: &RecordDraft,
        body: impl Read,
        body_length: u64,
    ) -> Result<Extent, ArchiveFileError> {
        self.writer
            .write_draft(draft, body, body_length)
            .map_err(|source| self.undo(source))
    }

    /// Adds a record with this header and block, such as a segment. The bytes of a record that fails are cut
    /// off.
    pub fn append_record(
        &mut self,
        header: &Header,
        block: impl Read,
        block_length: u64,
    ) -> Result<Extent, ArchiveFileError> {
        self.writer
            .write_record(header, block, block_length)
            .map_err(|source| self.undo(source))
    }

    /// Adds a packed record, which must have been packed with the options of this file.
    pub fn append_packed(&mut self, packed: &PackedRecord) -> Result<Extent, ArchiveFileError> {
        self.writer
            .write_packed(packed)
            .map_err(|source| self.undo(source))
    }

    fn undo(&mut self, source: WriteError) -> ArchiveFileError {
        if self.cut_back().is_ok() {
            self.writer.resume();
        }
        at(&self.open_path)(source).into()
    }

    fn cut_back(&mut self) -> io::Result<()> {
        let valid_length = self.writer.position();
        let mut file = self.writer.get_ref();
        file.set_len(valid_length)?;
        file.seek(SeekFrom::Start(valid_length)).map(drop)
    }

    /// Cuts off the records from `length` on, the [`ArchiveFile::length`] before one of them.
    ///
    /// # Errors
    /// When the file cannot be cut.
    pub fn cut_to(&mut self, length: u64) -> Result<(), ArchiveFileError> {
        self.writer.return_to(length);
        self.cut_back().map_err(at(&self.open_path))?;
        self.writer.resume();
        Ok(())
    }

    /// The final name, without a directory, as in index lines.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The length so far, in bytes.
    pub fn length(&self) -> u64 {
        self.writer.position()
    }

    /// Syncs the file to disk, gives it its final name, and returns its path.
    pub fn finish(mut self) -> Result<PathBuf, ArchiveFileError> {
        // Cutting off a failed record may have failed before and succeed now.
        self.cut_back().map_err(at(&self.open_path))?;
        publish(self.writer.get_ref(), &self.open_path, &self.final_path)
            .map_err(at(&self.final_path))?;
        Ok(self.final_path)
    }

    /// Removes the file.
    pub fn discard(self) -> Result<(), ArchiveFileError> {
        remove(&self.open_path)
    }
}

pub(crate) fn remove(path: &Path) -> Result<(), ArchiveFileError> {
    let removed = remove_if_there(path).and_then(|()| sync_directory_of(path));
    Ok(removed.map_err(at(path))?)
}

fn create_new(path: &Path) -> Result<File, ArchiveFileError> {
    fs::file(path)
        .create_new()
        .map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ArchiveFileError::Exists {
                path: path.to_owned(),
            },
            _ => at(path)(source).into(),
        })
}

/// Syncs a file to disk, then gives it its final name.
pub(crate) fn publish(file: &File, open_path: &Path, final_path: &Path) -> io::Result<()> {
    file.sync_all()?;
    fs::file(open_path).rename(&fs::file(final_path))?;
    sync_directory_of(final_path)
}
