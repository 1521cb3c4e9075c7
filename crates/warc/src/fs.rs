//! The files of an archive: each is a [`RootFile`], which no link leads out of its folder. And file
//! operations that survive a crash: locks, atomic replacement, and sync of directories.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use urldb_files::{Root, RootFile};

/// Time limit of the wait for another process's lock. The lock is held for file operations only, so a longer
/// wait means that the other process is stuck.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The lock file of a directory. It is never removed: two waiting processes could otherwise lock
/// different files.
const LOCK_FILE: &str = ".lock";

/// An error about a file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct FileError<E: Error + 'static = io::Error> {
    /// The file or directory.
    pub path: PathBuf,
    /// The cause: by default an error of the system.
    pub source: E,
}

/// Makes an error a [`FileError`] about this path.
pub(crate) fn at<E: Error + 'static>(path: &Path) -> impl Fn(E) -> FileError<E> + use<E> {
    let path = path.to_owned();
    move |source| FileError {
        path: path.clone(),
        source,
    }
}

/// An exclusive lock on a directory, held until dropped. The system releases it when the process dies.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Waits for the lock, at most half a minute.
    pub(crate) fn acquire(dir: &Path) -> io::Result<Self> {
        let file = open_lock_file(&dir.join(LOCK_FILE))?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "another process keeps it locked",
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Takes the lock, unless another process has it.
    pub(crate) fn try_acquire(dir: &Path) -> io::Result<Option<Self>> {
        Self::try_acquire_file(&dir.join(LOCK_FILE))
    }

    /// Takes a lock of its own file, for another purpose, unless another process has it.
    pub(crate) fn try_acquire_file(path: &Path) -> io::Result<Option<Self>> {
        let file = open_lock_file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn open_lock_file(path: &Path) -> io::Result<File> {
    if !urldb_files::is_folder(directory_of(path)) {
        return Err(io::ErrorKind::NotFound.into());
    }
    file(path)
        .open_to_append()
        .map_err(|error| match error.kind() {
            // A link out, or no regular file.
            io::ErrorKind::Other => io::Error::other(format!("{}: {error}", path.display())),
            _ => error,
        })
}

/// The directory of an archive. The way to it may have links.
pub(crate) fn root(dir: &Path) -> Root {
    Root::new(dir, "the archive")
}

/// The directory of an index in that of an archive, which no link leads out of the latter.
pub(crate) fn index_root(index_dir: &Path) -> Root {
    root(directory_of(index_dir)).folder(index_dir.file_name().unwrap_or_default())
}

/// A file in the directory of an archive or of its index.
pub(crate) fn file(path: &Path) -> RootFile {
    root(directory_of(path)).file(path.file_name().unwrap_or_default())
}

/// The names in a directory that are text; none if there is no directory.
pub(crate) fn names(root: &Root) -> io::Result<BTreeSet<String>> {
    let files = root.files()?;
    let names = files.iter().filter_map(|file| file.name().to_str());
    Ok(names.map(str::to_owned).collect())
}

/// Makes a file, in the place of one that a killed process left.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = file(path);
    file.remove()?;
    file.create_new()
}

/// Replaces a file as a whole: readers see the old content or the new. The caller holds the
/// directory's lock, so an existing temporary file is left over from a killed process and is
/// overwritten.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut temporary = path.to_owned().into_os_string();
    temporary.push(".tmp");
    let temporary = Path::new(&temporary);
    let output = create(temporary)?;
    let renamed = |()| file(temporary).rename(&file(path));
    let replaced = fill(output, path, write).and_then(renamed);
    if replaced.is_err() {
        remove_if_there(temporary)?;
    }
    replaced.and_then(|()| sync_directory_of(path))
}

fn fill(
    output: File,
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    if let Ok(known) = file(path).metadata() {
        output.set_permissions(known.permissions())?;
    }
    let mut output = BufWriter::new(output);
    write(&mut output)?;
    output.flush()?;
    output.get_ref().sync_all()
}

/// Copies bytes of a file.
pub(crate) fn copy_range(
    path: &Path,
    range: &Range<u64>,
    output: &mut impl Write,
) -> io::Result<()> {
    let mut file = file(path).open()?;
    file.seek(SeekFrom::Start(range.start))?;
    let length = range.end - range.start;
    let copied = io::copy(&mut file.take(length), output)?;
    if copied < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    file(path).remove().map(drop)
}

/// Syncs the directory of `path`, so that a rename in it survives a crash.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    urldb_files::sync_directory(directory_of(path))
}

fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
