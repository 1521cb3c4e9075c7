//! Edits of the database, one process at a time, so that no process overwrites another's changes. No
//! file is replaced before all new files are on disk.
//!
//! The lock is on the folder itself: it needs no file, and the kernel releases it when a process ends.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use urldb_files::PendingWrite;
use urldb_format::{DomainFile, conflict_line};

use super::left_out::left_out;
use crate::git::Repository;

/// The longest wait for another process. No edit waits for the network or a person under the lock, so a
/// longer wait means that a process hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// An exclusive edit of the database; dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Edit {
    /// Locked while open.
    folder: Option<File>,
    pending: Vec<PendingWrite>,
    /// The files to remove once the others are renamed.
    removed: Vec<PathBuf>,
    /// The files with a conflict in git's index, once an edit asked for them.
    unmerged: OnceCell<BTreeSet<PathBuf>>,
}

impl Edit {
    /// Waits for the lock, and removes temporary files of killed edits.
    pub(crate) fn begin(database: &Path) -> anyhow::Result<Self> {
        let edit = Self::lock(database)?;
        if edit.folder.is_some() {
            // A temporary file that cannot be removed does no harm.
            let _ = urldb_files::remove_stray_files(database);
        }
        Ok(edit)
    }

    pub(crate) fn lock(database: &Path) -> anyhow::Result<Self> {
        // Not every system opens folders. Without a folder there is nothing to protect. Opening a
        // pipe in its place would wait for a writer.
        let Ok(folder) = urldb_files::open_folder(database) else {
            return Ok(Self::new(None));
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
                // On a file system without locks the edit goes on unprotected.
                Err(TryLockError::Error(_)) => return Ok(Self::new(None)),
            }
        }
        Ok(Self::new(Some(folder)))
    }

    fn new(folder: Option<File>) -> Self {
        Self {
            folder,
            pending: vec![],
            removed: vec![],
            unmerged: OnceCell::new(),
        }
    }

    /// Writes a file under a temporary name; [`Self::commit`] renames it.
    ///
    /// # Errors
    /// When the file cannot be written, a merge has left a conflict in it, or a sparse checkout leaves it out: the new
    /// file would lack its records.
    pub(crate) fn prepare(&mut self, file: &DomainFile) -> anyhow::Result<()> {
        let path = file.path();
        self.refuse_conflict(path)?;
        if !urldb_files::is_there(path)
            && let Some(folder) = path.parent()
            && left_out(folder).contains(path)
        {
            anyhow::bail!(
                "the sparse checkout leaves out {}; `git sparse-checkout add` brings it. Nothing was changed",
                path.display()
            );
        }
        let write = PendingWrite::with(file.path(), |out| file.write_to(out));
        let failed = || {
            let path = path.display();
            format!("cannot write {path}; nothing was changed")
        };
        self.pending.push(write.with_context(failed)?);
        Ok(())
    }

    /// Adds a file beside the database, which is renamed first, in the order of these calls.
    pub(crate) fn prepare_list(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut File) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut failure = None;
        let pending = PendingWrite::with(path, |out| {
            write(out).map_err(|error| {
                failure = Some(error);
                io::Error::other("not written")
            })
        })
        .map_err(|error| failure.unwrap_or_else(|| error.into()));
        let failed = || format!("cannot write {}; nothing was changed", path.display());
        self.pending.push(pending.with_context(failed)?);
        Ok(())
    }

    /// Lets [`Self::commit`] remove a domain file after it has renamed all others.
    ///
    /// # Errors
    /// When a merge has left a conflict in the file.
    pub(crate) fn remove(&mut self, path: PathBuf) -> anyhow::Result<()> {
        self.refuse_conflict(&path)?;
        self.removed.push(path);
        Ok(())
    }

    /// Refuses a file with a conflict: `urldb resolve` would take the edit for work of a person, and leave the file to them.
    fn refuse_conflict(&self, path: &Path) -> anyhow::Result<()> {
        const ADVICE: &str = "`urldb resolve` first, or edit and `git add` it; nothing was changed";
        let line = match urldb_files::open(path) {
            Ok(file) => conflict_line(BufReader::new(file)),
            Err(_) => Ok(None),
        };
        if let Ok(Some(line)) = line {
            anyhow::bail!("{}:{line} has a conflict: {ADVICE}", path.display());
        }
        let unmerged = self.unmerged.get_or_init(|| {
            let folder = path.parent().unwrap_or(path);
            unmerged(folder).unwrap_or_default()
        });
        let is_unmerged = path
            .file_name()
            .is_some_and(|name| unmerged.contains(Path::new(name)));
        anyhow::ensure!(!is_unmerged, "{} has a conflict: {ADVICE}", path.display());
        Ok(())
    }

    /// Renames all prepared files, removes others, and returns their paths.
    pub(crate) fn commit(self) -> anyhow::Result<Vec<PathBuf>> {
        let mut written = vec![];
        for file in self.pending {
            written.push(file.target().to_owned());
            file.commit()
                .context("cannot write a domain file; do it again to complete it")?;
        }
        for path in self.removed {
            urldb_files::remove(&path).with_context(|| {
                format!(
                    "cannot remove {}; do it again to complete it",
                    path.display()
                )
            })?;
            written.push(path);
        }
        Ok(written)
    }
}

/// The names of the files in a folder that have a conflict in git's index.
fn unmerged(folder: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let Some(repository) = Repository::of_project(folder)? else {
        return Ok(BTreeSet::new());
    };
    let folder = repository.relative(folder)?;
    Ok(repository
        .unmerged(&folder)?
        .into_iter()
        .map(|file| file.path.strip_prefix(&folder).map(Path::to_owned))
        .filter_map(Result::ok)
        .collect())
}
