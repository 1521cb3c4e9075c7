//! One urldb at a time edits the database, so that none writes over what another has just written;
//! and of several files none is changed before all are on disk.
//!
//! The lock is on the folder itself: it needs no file, and the kernel gives it up for whoever dies.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use urldb_files::PendingWrite;
use urldb_format::DomainFile;

/// How long another may edit. What is read under the lock is written at once, without asking the
/// network or a person, so that more than this means that something is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// The right to read files of the database and write them back, given up when dropped.
#[derive(Debug)]
pub(crate) struct Edit {
    /// Locked as long as it is open.
    _folder: Option<File>,
    staged: Vec<PendingWrite>,
}

impl Edit {
    /// Waits for whoever edits, and removes what killed edits have left.
    pub(crate) fn begin(database: &Path) -> anyhow::Result<Self> {
        // Not every system opens folders; where there is none, nothing can be written over; a
        // pipe in its place would wait for a writer.
        let opened = database.is_dir().then(|| File::open(database));
        let Some(Ok(folder)) = opened else {
            return Ok(Self::of(None));
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
                Err(TryLockError::Error(_)) => return Ok(Self::of(None)),
            }
        }
        // One that cannot be removed is no obstacle: it is in nobody's way.
        let _ = urldb_files::remove_stray_files(database);
        Ok(Self::of(Some(folder)))
    }

    fn of(folder: Option<File>) -> Self {
        Self {
            _folder: folder,
            staged: vec![],
        }
    }

    /// Puts a file on disk, to take its place when all are there.
    pub(crate) fn stage(&mut self, file: &DomainFile) -> anyhow::Result<()> {
        let staged = PendingWrite::new(file.path(), file.text().as_bytes());
        let failed = || {
            let path = file.path().display();
            format!("cannot write {path}; nothing was changed")
        };
        self.staged.push(staged.with_context(failed)?);
        Ok(())
    }

    /// Puts the files that were staged in their places.
    pub(crate) fn commit(self) -> anyhow::Result<()> {
        for file in self.staged {
            file.commit()
                .context("cannot write a domain file; do it again to complete it")?;
        }
        Ok(())
    }
}
