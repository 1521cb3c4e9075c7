//! One urldb at a time edits the database, so that none writes over what another has just written.
//!
//! The lock is on the folder itself: it needs no file, and the kernel gives it up for whoever dies.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long another may edit. What is read under the lock is written at once, without asking the
/// network or a person, so that more than this means that something is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// The right to read files of the database and write them back, given up when dropped.
#[derive(Debug)]
pub(super) struct Edit {
    /// Locked as long as it is open.
    _folder: Option<File>,
}

impl Edit {
    /// Waits for whoever edits, and removes what killed edits have left.
    pub(super) fn begin(database: &Path) -> anyhow::Result<Self> {
        // Not every system opens folders; where there is none, nothing can be written over; a
        // pipe in its place would wait for a writer.
        let opened = database.is_dir().then(|| File::open(database));
        let Some(Ok(folder)) = opened else {
            return Ok(Self { _folder: None });
        };
        let deadline = Instant::now() + PATIENCE;
        loop {
            match folder.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => anyhow::bail!(
                    "another urldb has been editing {} for {} seconds; try again when it is done",
                    database.display(),
                    PATIENCE.as_secs()
                ),
                // A file system without locks is not a reason to refuse work.
                Err(TryLockError::Error(_)) => return Ok(Self { _folder: None }),
            }
        }
        // One that cannot be removed is no obstacle: it is in nobody's way.
        let _ = urldb_files::remove_stray_files(database);
        Ok(Self {
            _folder: Some(folder),
        })
    }
}
