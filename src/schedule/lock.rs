//! The lock of a repository, which the kernel releases when its process ends.
//!
//! The lock is on a file that is never removed. The text in the file only tells
//! other processes who holds the lock.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use jiff::Timestamp;

/// Attempts of [`RepositoryLock::acquire`], and the wait between two: another process may hold the lock
/// for an instant, to ask who holds it.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(10);

/// The exclusive lock on a repository, released when dropped or when the process ends.
#[derive(Debug)]
pub struct RepositoryLock {
    /// Locked while open.
    file: File,
}

/// Why the lock was not acquired.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds the lock.
    #[error(
        "another urldb{} owns this repository ({}); wait for it, or stop it",
        match holder { Some(holder) => format!(" ({holder})"), None => String::new() },
        path.display()
    )]
    Taken {
        /// The lock file.
        path: PathBuf,
        /// That process, if the file names it.
        holder: Option<LockHolder>,
    },
    /// The lock file could not be opened, locked or written.
    #[error("cannot lock {}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// The process that holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockHolder {
    /// The process id.
    pub pid: u32,
    /// When the process acquired the lock.
    pub since: Timestamp,
}

impl RepositoryLock {
    /// Acquires the lock, and waits for no process that works under the lock. The file's folder must exist; a file of an earlier holder
    /// is no obstacle.
    ///
    /// # Errors
    /// When another process holds the lock, or the file cannot be used.
    pub fn acquire(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let mut file = urldb_files::open_to_lock(path).map_err(failed)?;
        let mut locked = file.try_lock();
        for _ in 0..LOOKS {
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                break;
            }
            sleep(LOOK);
            locked = file.try_lock();
        }
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Taken {
                    path: path.to_owned(),
                    holder: LockHolder::read(file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        LockHolder::this_process()
            .write(&mut file)
            .map_err(failed)?;
        Ok(Self { file })
    }
}

impl RepositoryLock {
    /// The process that holds the lock: `None` if no process does, `Some(None)` if the file does not
    /// name it. Writes nothing.
    ///
    /// # Errors
    /// When the lock file exists and cannot be opened or locked.
    pub fn holder(path: &Path) -> Result<Option<Option<LockHolder>>, LockError> {
        let failed = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let file = match urldb_files::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => {
                // [`Self::acquire`] waits for this moment.
                file.unlock().map_err(failed)?;
                Ok(None)
            }
            Err(TryLockError::WouldBlock) => Ok(Some(LockHolder::read(file))),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

impl Drop for RepositoryLock {
    /// Closing the file is not enough: a child that another thread is starting also has the file
    /// open until it executes its program. If unlocking fails, that close releases the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl LockHolder {
    fn this_process() -> Self {
        Self {
            pid: std::process::id(),
            since: Timestamp::now(),
        }
    }

    fn write(self, file: &mut File) -> std::io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{} {:.0}", self.pid, self.since)
    }

    fn read(file: File) -> Option<Self> {
        const LONGEST: u64 = 100;
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).ok()?;
        let (pid, since) = text.trim_end().split_once(' ')?;
        Some(Self {
            pid: pid.parse().ok()?,
            since: since.parse().ok()?,
        })
    }
}

/// `pid 123, since 2024-03-31T01:00:00Z`
impl std::fmt::Display for LockHolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pid {}, since {:.0}", self.pid, self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_lock_is_free_even_while_a_copy_of_the_file_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = RepositoryLock::acquire(&path).unwrap();
        // A process that another thread starts has such a copy for a moment.
        let _copy = lock.file.try_clone().unwrap();
        drop(lock);
        RepositoryLock::acquire(&path).unwrap();
    }
}
