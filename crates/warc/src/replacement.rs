//! Replaces archive files by one new file, in one step that a kill cannot divide.
//!
//! | after | state of the archive |
//! |---|---|
//! | `NEW.joining` and `NEW.replaces` are written, and the index has the lines of `NEW` | the old files; lines about `NEW` do not count, since `NEW` is not there |
//! | `NEW.joining` has its final name `NEW` | `NEW`; the old files and the lines about them do not count |
//! | the old files, their lines, and then `NEW.replaces` are removed | `NEW` |
//!
//! `NEW.replaces` has the names of the old files, one in a line. [`ReplacementLock`] is held from the first
//! step to the last. Without it, [`finish_replacements`] completes or undoes what a killed process left.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::files::hidden::{REPLACES_SUFFIX, replacements};
use crate::files::names_in;
use crate::fs::{DirectoryLock, at, remove_if_there, replace, sync_directory_of};
use crate::index::{IndexError, forget_files};

/// The suffix of such a list while it is written.
const LIST_DRAFT_SUFFIX: &str = ".replaces.tmp";

/// The suffix of a new file that is not complete yet.
pub(crate) const JOINING_SUFFIX: &str = ".joining";

/// The lock file of the process that replaces files.
const LOCK_FILE: &str = ".replacing";

/// The right to replace files of an archive.
pub(crate) struct ReplacementLock {
    _lock: DirectoryLock,
}

impl ReplacementLock {
    /// Takes the lock of a directory, unless another process has it.
    pub(crate) fn try_acquire(dir: &Path) -> io::Result<Option<Self>> {
        let lock = DirectoryLock::try_acquire_file(&dir.join(LOCK_FILE))?;
        Ok(lock.map(|lock| Self { _lock: lock }))
    }
}

/// Names the files that `new` is going to replace.
pub(crate) fn announce(dir: &Path, new: &str, old: &[String]) -> io::Result<()> {
    let path = dir.join(format!("{new}{REPLACES_SUFFIX}"));
    replace(&path, |output| {
        old.iter().try_for_each(|name| writeln!(output, "{name}"))
    })
}

/// Completes the replacements whose new file is complete, and undoes all others. Does nothing if another
/// process is replacing files.
pub(crate) fn finish_replacements(dir: &Path) -> Result<(), IndexError> {
    if !has_replacements(dir).map_err(at(dir))? {
        return Ok(());
    }
    match ReplacementLock::try_acquire(dir).map_err(at(dir))? {
        Some(lock) => finish_with_lock(dir, &lock),
        None => Ok(()),
    }
}

fn has_replacements(dir: &Path) -> io::Result<bool> {
    let suffixes = [REPLACES_SUFFIX, JOINING_SUFFIX, LIST_DRAFT_SUFFIX];
    Ok(names_in(dir)?
        .iter()
        .any(|name| suffixes.iter().any(|suffix| name.ends_with(suffix))))
}

/// As [`finish_replacements`], for the process with the lock.
pub(crate) fn finish_with_lock(dir: &Path, _lock: &ReplacementLock) -> Result<(), IndexError> {
    let names = names_in(dir).map_err(at(dir))?;
    let found = replacements(dir, &names).map_err(at(dir))?;
    let remove = |name: &str| {
        let path = dir.join(name);
        remove_if_there(&path).map_err(at(&path))
    };
    let is_draft =
        |name: &&String| name.ends_with(JOINING_SUFFIX) || name.ends_with(LIST_DRAFT_SUFFIX);
    for name in names.iter().filter(is_draft) {
        remove(name)?;
    }
    let mut forgotten = BTreeSet::new();
    for replacement in &found {
        if replacement.is_done {
            for old in &replacement.old {
                remove(old)?;
            }
            forgotten.extend(replacement.old.iter().cloned());
        } else {
            forgotten.insert(replacement.new.clone());
        }
    }
    sync_directory_of(&dir.join(LOCK_FILE)).map_err(at(dir))?;
    forget_files(dir, &forgotten)?;
    for replacement in &found {
        remove(&format!("{}{REPLACES_SUFFIX}", replacement.new))?;
    }
    Ok(sync_directory_of(&dir.join(LOCK_FILE)).map_err(at(dir))?)
}

/// The path of a new file while it is written.
pub(crate) fn joining_path(dir: &Path, new: &str) -> PathBuf {
    dir.join(format!("{new}{JOINING_SUFFIX}"))
}
