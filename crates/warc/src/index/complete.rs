//! Makes an index complete: of the files that it lacks, or of all.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::error::IndexError;
use super::merge::{lock_index, replace};
use super::segment::{Segment, list};
use super::segment_draft::Purpose;
use super::update::IndexUpdate;
use crate::cdxj::SortKeys;
use crate::files::names::{ARCHIVE_SUFFIX, INDEX_DIRECTORY, file_name_of};
use crate::files::{FileSource, archive_files};
use crate::fs::at;
use crate::replacement::finish_replacements;

/// The finished files of an archive whose lines are not in its index, sorted. Such files are left over
/// from a process that died before it indexed them, or the segment with their lines is damaged.
pub fn unindexed_files(dir: &Path) -> Result<Vec<PathBuf>, IndexError> {
    let archive_names: BTreeSet<String> = dir
        .names()
        .map_err(at(dir))?
        .into_iter()
        .filter(|name| name.ends_with(ARCHIVE_SUFFIX))
        .collect();
    let indexed = indexed_files(dir)?;
    Ok(archive_names
        .difference(&indexed)
        .map(|name| dir.join(name))
        .collect())
}

/// The names of the archive files whose lines are in the index of this directory. The files need not be there.
///
/// # Errors
/// When the index cannot be read.
pub fn indexed_files(dir: &Path) -> Result<BTreeSet<String>, IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let mut indexed = BTreeSet::new();
    for segment in list(&index_dir).map_err(at(&index_dir))? {
        if segment.is_complete() {
            indexed.append(&mut segment.files().map_err(at(&index_dir))?);
        }
    }
    Ok(indexed)
}

/// The outcome of a rebuild, or of indexing the files that were not.
#[derive(Debug, Default)]
pub struct IndexRebuild {
    /// The number of archive files.
    pub files: u64,
    /// The files with records that the index lacks ([`IndexError::LeftOut`]). The index has the lines of
    /// all their other records.
    pub damaged: Vec<IndexError>,
}

impl IndexRebuild {
    fn add_file(&mut self, added: Result<(), IndexError>) -> Result<(), IndexError> {
        self.files += 1;
        match added {
            Err(error) if error.is_damage() => self.damaged.push(error),
            other => other?,
        }
        Ok(())
    }
}

/// Indexes the files that are not in the index ([`unindexed_files`]), and removes what killed processes
/// have left in the index. Rebuilds the index if a segment is damaged.
pub fn complete_index(dir: &Path, keys: &impl SortKeys) -> Result<IndexRebuild, IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let segments = list(&index_dir).map_err(at(&index_dir))?;
    if !segments.iter().all(Segment::is_complete) {
        return rebuild_index(dir, keys);
    }
    match finish_replacements(dir) {
        Err(error) if error.is_damaged_index() => return rebuild_index(dir, keys),
        finished => finished?,
    }
    let mut update = IndexUpdate::new(dir);
    let mut completed = IndexRebuild::default();
    for file in unindexed_files(dir)? {
        completed.add_file(update.add_file(&file, keys))?;
    }
    update.finish()?;
    Ok(completed)
}

/// Rebuilds the index of an archive from the files in its directory alone.
pub fn rebuild_index(dir: &Path, keys: &impl SortKeys) -> Result<IndexRebuild, IndexError> {
    let files = archive_files(dir).map_err(at(dir))?.into_iter();
    rebuild_index_from(dir, keys, files.map(|path| Ok((file_name_of(&path), path))))
}

/// Rebuilds the index in this directory from these files: their names, and paths with their bytes.
pub fn rebuild_index_from<P: AsRef<Path>>(
    dir: &Path,
    keys: &impl SortKeys,
    files: impl IntoIterator<Item = io::Result<(String, P)>>,
) -> Result<IndexRebuild, IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let merging = lock_index(&index_dir)?;
    let old = list(&index_dir).map_err(at(&index_dir))?;
    let mut update = IndexUpdate::new(dir);
    let mut rebuilt = IndexRebuild::default();
    for file in files {
        let (name, path) = file.map_err(at(dir))?;
        rebuilt.add_file(update.add_file_as(path.as_ref(), &name, keys))?;
    }
    replace(dir, &old, update.write(Purpose::Merged)?)?;
    drop(merging);
    finish_replacements(dir)?;
    Ok(rebuilt)
}
