//! The files of an archive, wherever they are: the only way to list them and to read one.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use urldb_warc::{ArchiveInput, CdxjIndex, FileSource, Reader, is_archive_name, is_unread_name};

use crate::config::Config;

const CANNOT_LIST: &str = "cannot list the files of the archive";

/// The finished files of the archive of a repository.
#[derive(Debug, Clone)]
pub struct ArchiveFiles {
    folder: PathBuf,
}

/// A file of the archive on the local disk, to be read from beginning to end.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
}

/// An open file of the archive.
pub enum OpenedFile {
    /// A file on the local disk.
    Local(File),
}

impl ArchiveFiles {
    /// The archive of a repository.
    ///
    /// # Errors
    /// When there is none; the message says what makes one.
    pub fn open(config: &Config) -> anyhow::Result<Self> {
        let folder = config.root.join(&config.archive.path);
        anyhow::ensure!(
            folder.is_dir(),
            "there is no archive at {}; `urldb run` makes one",
            folder.display()
        );
        Ok(Self { folder })
    }

    /// The folder with the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the archive has an index.
    ///
    /// # Errors
    /// When the files cannot be listed.
    pub fn has_index(&self) -> anyhow::Result<bool> {
        CdxjIndex::exists(self).context(CANNOT_LIST)
    }

    /// An error if the archive has no index; the message says how to make one.
    ///
    /// # Errors
    /// As said, and when the files cannot be listed.
    pub fn require_index(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.has_index()?,
            "the archive at {} has no index; `urldb archive index` makes one of its files",
            self.folder.display()
        );
        Ok(())
    }

    /// The names of the files with records, sorted.
    ///
    /// # Errors
    /// When the files cannot be listed.
    pub fn with_records(&self) -> anyhow::Result<Vec<String>> {
        self.names_where(is_archive_name)
    }

    /// The names of the files with records in a form that urldb does not read, sorted.
    ///
    /// # Errors
    /// When the files cannot be listed.
    pub fn unread(&self) -> anyhow::Result<Vec<String>> {
        self.names_where(is_unread_name)
    }

    fn names_where(&self, is_wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<String>> {
        let names = self.names().context(CANNOT_LIST)?;
        Ok(names.into_iter().filter(|name| is_wanted(name)).collect())
    }

    /// A file to be read from beginning to end by its path.
    ///
    /// # Errors
    /// When the file cannot be had.
    pub fn whole(&self, name: &str) -> io::Result<WholeFile> {
        Ok(WholeFile {
            path: self.folder.join(name),
        })
    }

    /// A reader of the records from this offset of a file.
    ///
    /// # Errors
    /// When the file is not in the archive, or cannot be read.
    pub fn reader_at(&self, name: &str, offset: u64) -> anyhow::Result<Reader<OpenedFile>> {
        // The index may come from somebody else's commit.
        let is_inside = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        anyhow::ensure!(
            is_inside && !name.is_empty(),
            "the index names a file outside of the archive: {name:?}"
        );
        let path = self.path_of(name);
        let place = || format!("cannot use {}", path.display());
        let mut input = self.open_input(name).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return anyhow::anyhow!(
                    "the index has a capture in {}, which is not there: put the file back, or let \
                     `urldb archive index` make the index of those that are",
                    path.display()
                );
            }
            anyhow::Error::new(error).context(place())
        })?;
        input.seek(SeekFrom::Start(offset)).with_context(place)?;
        Reader::new_at(input, offset).with_context(place)
    }

    fn open_input(&self, name: &str) -> io::Result<OpenedFile> {
        Ok(OpenedFile::Local(File::open(self.folder.join(name))?))
    }
}

impl FileSource for ArchiveFiles {
    fn names(&self) -> io::Result<Vec<String>> {
        FileSource::names(&self.folder.as_path())
    }

    fn open_file(&self, name: &str) -> io::Result<Box<dyn ArchiveInput>> {
        Ok(Box::new(self.open_input(name)?))
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl AsRef<Path> for WholeFile {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Read for OpenedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Local(file) => file.read(buffer),
        }
    }
}

impl Seek for OpenedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Local(file) => file.seek(to),
        }
    }
}
