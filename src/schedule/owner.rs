//! One owner for a repository: a lock that the kernel gives up for whoever dies.
//!
//! The lock is on a file that stays where it is; what is written in it only
//! tells others whom they are waiting for.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// The right to work on a repository, given up when dropped or when the process ends.
#[derive(Debug)]
pub struct Owner {
    /// Locked as long as it is open.
    file: File,
}

/// Why the right was not given.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// Somebody has it.
    #[error(
        "another urldb{} owns this repository ({}); wait for it, or stop it",
        match holder { Some(holder) => format!(" ({holder})"), None => String::new() },
        path.display()
    )]
    Taken {
        /// The lock file.
        path: PathBuf,
        /// Who has it, if that could be read.
        holder: Option<Holder>,
    },
    /// The file could not be opened, locked or written.
    #[error("cannot lock {}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Who has the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// When it got the right.
    pub since: Timestamp,
}

impl Owner {
    /// Takes the right, or says at once who has it. The file's folder must exist; a file left
    /// by an earlier owner is no obstacle.
    pub fn acquire(path: &Path) -> Result<Self, OwnerError> {
        let failed = |source| OwnerError::Io {
            path: path.to_owned(),
            source,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OwnerError::Taken {
                    path: path.to_owned(),
                    holder: Holder::read(file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        Holder::this_process().write(&mut file).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for Owner {
    /// Closing the file is not enough: a process that another thread is just starting has it open
    /// too, until it becomes another program. What cannot be unlocked is when that is closed.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Holder {
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
impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pid {}, since {:.0}", self.pid, self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_is_free_even_where_a_copy_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let owner = Owner::acquire(&path).unwrap();
        // As a process that another thread starts has one for a moment.
        let _copy = owner.file.try_clone().unwrap();
        drop(owner);
        Owner::acquire(&path).unwrap();
    }
}
