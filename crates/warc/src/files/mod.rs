//! The files of an archive: their names, and the sources that they are read from. A source is a directory, or
//! any other place that has files by name.

pub(crate) mod hidden;
pub(crate) mod names;

use std::collections::BTreeSet;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

pub use self::hidden::hidden_files;
pub use self::names::{
    ARCHIVE_SUFFIX, LOC_SUFFIX, READ_SUFFIXES, archive_file_name, is_archive_name, is_index_file,
    is_unread_name, names_in,
};
use self::names::{INDEX_DIRECTORY, is_segment_name};
use crate::fs;
use crate::reader::{ReadError, ReadErrorKind, Reader};

/// An open file of an archive. Reading in another place than a disk may cost a request for each seek, so
/// readers seek only where they must.
pub trait ArchiveInput: Read + Seek + Send {}

impl<T: Read + Seek + Send> ArchiveInput for T {}

/// The finished files of an archive, by name.
///
/// A name always stands for the same bytes: a file is never changed once it has its final name, and its
/// name is unique across all machines that write to the archive. So copies of files need no comparison.
pub trait FileSource {
    /// The names of all files, sorted; the files of the index included, as `index/NAME`.
    ///
    /// # Errors
    /// When the list of files cannot be read.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Opens a file, at its beginning.
    ///
    /// # Errors
    /// When there is no such file ([`io::ErrorKind::NotFound`]), or when it cannot be read.
    fn open_file(&self, name: &str) -> io::Result<Box<dyn ArchiveInput>>;

    /// The path of a file, for messages. The file need not be there.
    fn path_of(&self, name: &str) -> PathBuf;

    /// The archive files whose lines in the index do not count, because a new file is replacing them, or
    /// because they are such new files and not complete. None of them is in [`FileSource::names`].
    ///
    /// # Errors
    /// When the list of files cannot be read.
    fn hidden(&self) -> io::Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }
}

/// A local directory.
impl FileSource for &Path {
    fn names(&self) -> io::Result<Vec<String>> {
        let all = names_in(self)?;
        let hidden = hidden_files(self, &all)?;
        let mut names: Vec<String> = all.difference(&hidden).cloned().collect();
        let in_index = match fs::names(&fs::root(self).folder(INDEX_DIRECTORY)) {
            Err(error) if is_absent(&error) => BTreeSet::new(),
            other => other?,
        };
        let in_index = in_index.into_iter().filter(|name| is_segment_name(name));
        names.extend(in_index.map(|name| format!("{INDEX_DIRECTORY}/{name}")));
        names.sort_unstable();
        Ok(names)
    }

    fn open_file(&self, name: &str) -> io::Result<Box<dyn ArchiveInput>> {
        Ok(Box::new(fs::root(self).file(name).open()?))
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.join(name)
    }

    fn hidden(&self) -> io::Result<BTreeSet<String>> {
        match names_in(self) {
            Err(error) if is_absent(&error) => Ok(BTreeSet::new()),
            names => hidden_files(self, &names?),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// A reader of the records from this offset of a file.
pub(crate) fn open_at(
    source: &dyn FileSource,
    file: &str,
    offset: u64,
) -> Result<Reader<Box<dyn ArchiveInput>>, ReadError> {
    let failed = |error| ReadError {
        offset,
        kind: ReadErrorKind::Input(error),
    };
    let input = source.open_file(file).map_err(failed)?;
    Reader::new_at(input, offset)
}

/// The finished files of an archive's directory, sorted by name: WARC and ARC, compressed or not.
///
/// # Errors
/// When the directory cannot be read.
pub fn archive_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let names = names_in(dir)?;
    let hidden = hidden_files(dir, &names)?;
    let wanted = names
        .difference(&hidden)
        .filter(|name| is_archive_name(name));
    Ok(wanted.map(|name| dir.join(name)).collect())
}
