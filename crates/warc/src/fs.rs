//! File operations that survive a crash: locks, atomic replacement, and sync of directories.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for another process's lock. The lock is held for file operations only, so a longer
/// wait means that the other process is stuck.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The lock file of a directory. It is never removed: two waiting processes could otherwise lock
/// different files.
const LOCK_FILE: &str = ".lock";

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
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
}

/// Replaces a file as a whole: readers see the old content or the new. The caller holds the
/// directory's lock, so an existing temporary file is left over from a killed process and is
/// overwritten.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    // A symbolic link stays; its target is replaced.
    let path = if path.is_symlink() {
        path.canonicalize()?
    } else {
        path.to_owned()
    };
    let mut temporary = path.clone().into_os_string();
    temporary.push(".tmp");
    let temporary = Path::new(&temporary);
    remove_if_there(temporary)?;
    let file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(temporary)?;
    let replaced = fill(file, &path, write).and_then(|()| std::fs::rename(temporary, &path));
    if replaced.is_err() {
        remove_if_there(temporary)?;
    }
    replaced.and_then(|()| sync_directory_of(&path))
}

fn fill(
    file: File,
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    if let Ok(known) = path.metadata() {
        file.set_permissions(known.permissions())?;
    }
    let mut output = BufWriter::new(file);
    write(&mut output)?;
    output.flush()?;
    output.get_ref().sync_all()
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Syncs the directory of `path`, so that a rename in it survives a crash.
pub(crate) fn sync_directory_of(path: &Path) -> io::Result<()> {
    // Only Unix can open and sync a directory; other file systems do so themselves.
    if cfg!(unix) {
        let dir = path
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}
