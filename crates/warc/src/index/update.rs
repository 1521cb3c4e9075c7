//! Adds lines to an index.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::IndexError;
use super::lines::render;
use super::merge::{create_directory, merge_small_segments, write_merged};
use super::scan::scan_file;
use super::segment::{Segment, place_in_publication};
use super::segment_draft::{MergeLock, Purpose, SegmentDraft, clean_up};
use super::sorter::{LineSorter, RUN};
use crate::cdxj::{CdxjLine, SortKeys};
use crate::files::names::{INDEX_DIRECTORY, file_name_of};
use crate::fs::{self, DirectoryLock, at};

/// Adds lines to the index, which is created if missing. All lines of an archive file must be in one
/// call: afterwards the file counts as indexed.
pub fn merge_into_index(dir: &Path, lines: &[CdxjLine]) -> Result<(), IndexError> {
    let mut update = IndexUpdate::new(dir);
    for line in lines {
        update.add(line)?;
        update.add_name(&line.filename);
    }
    update.finish()
}

/// The lines of all records of an archive file, in the order of the file.
///
/// # Errors
/// When a capture in the file has no line, or when the file cannot be read.
pub fn index_lines_of(path: &Path, keys: &impl SortKeys) -> Result<Vec<CdxjLine>, IndexError> {
    let mut lines = Vec::new();
    scan_file(path, &file_name_of(path), keys, |line| {
        lines.push(line);
        Ok(())
    })?
    .into_result(path)?;
    Ok(lines)
}

/// Collects lines for an index in bounded memory, and adds them as a segment. The lines are lost with the process;
/// then [`complete_index`](super::complete_index) reads the files.
pub struct IndexUpdate {
    dir: PathBuf,
    lines: LineSorter,
    files: BTreeSet<String>,
}

impl IndexUpdate {
    /// An update of the index in the directory of an archive. The directory must exist once there are many lines;
    /// the index need not.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            lines: LineSorter::new(dir, RUN),
            files: BTreeSet::new(),
        }
    }

    /// Adds the lines of all records of an archive file.
    ///
    /// # Errors
    /// When the file is damaged or a record in it has no date or URI, after the lines of all others were
    /// added; or when it cannot be read.
    pub fn add_file(&mut self, file: &Path, keys: &impl SortKeys) -> Result<(), IndexError> {
        self.add_file_as(file, &file_name_of(file), keys)
    }

    /// Adds the lines of a file of this name. Its bytes may be those of a copy elsewhere.
    pub(super) fn add_file_as(
        &mut self,
        file: &Path,
        name: &str,
        keys: &impl SortKeys,
    ) -> Result<(), IndexError> {
        scan_file(file, name, keys, |line| self.add(&line))?.into_result(&self.dir.join(name))?;
        self.add_name(name);
        Ok(())
    }

    /// Adds the line of a record.
    ///
    /// # Errors
    /// When the line cannot be in an index, or a temporary file cannot be written.
    pub fn add(&mut self, line: &CdxjLine) -> Result<(), IndexError> {
        let line = render(&self.dir.join(INDEX_DIRECTORY), line)?;
        self.lines.add(line)
    }

    /// Makes an archive file count as indexed, all lines of which were added.
    pub fn add_name(&mut self, name: &str) {
        self.files.insert(name.to_owned());
    }

    /// Adds the lines to the index, and merges segments if there are many.
    ///
    /// # Errors
    /// When a temporary file cannot be read, or the index cannot be written.
    pub fn finish(self) -> Result<(), IndexError> {
        let dir = self.dir.clone();
        let index_dir = dir.join(INDEX_DIRECTORY);
        self.publish()?;
        if !fs::index_root(&index_dir).is_folder() {
            return Ok(());
        }
        let lock = DirectoryLock::acquire(&dir).map_err(at(&dir))?;
        clean_up(&index_dir, MergeLock::NotHeld).map_err(at(&index_dir))?;
        drop(lock);
        merge_small_segments(&dir)
    }

    /// Adds the lines as a segment, if there are any.
    fn publish(self) -> Result<Option<Segment>, IndexError> {
        if self.lines.is_empty() && self.files.is_empty() {
            return Ok(None);
        }
        create_directory(&self.dir.join(INDEX_DIRECTORY))?;
        let _lock = DirectoryLock::acquire(&self.dir).map_err(at(&self.dir))?;
        self.write(Purpose::Added)?
            .map(SegmentDraft::publish)
            .transpose()
    }

    /// Writes the lines as a segment that does not count yet. The caller holds the lock of its purpose.
    pub(super) fn write(self, purpose: Purpose) -> Result<Option<SegmentDraft>, IndexError> {
        let index_dir = self.dir.join(INDEX_DIRECTORY);
        let mut lines = self.lines.finish()?;
        write_merged(&index_dir, purpose, &self.files, &mut lines, |_| true)
    }
}

/// Indexes a file that is going to have this name. Until then its lines do not count. Returns the files of
/// the index that have these lines.
pub(crate) fn index_joined_file(
    dir: &Path,
    file: &Path,
    name: &str,
    keys: &impl SortKeys,
) -> Result<Vec<PathBuf>, IndexError> {
    let mut update = IndexUpdate::new(dir);
    update.add_file_as(file, name, keys)?;
    let segment = update.publish()?;
    Ok(segment.iter().flat_map(Segment::paths).collect())
}

/// Adds copies of the files of segments, from another copy of the archive. The copies are moved and must
/// be on the same file system; their file names are those in the index.
///
/// # Errors
/// When a copy cannot be moved.
pub fn add_segment_files(dir: &Path, copies: &[PathBuf]) -> Result<(), IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    create_directory(&index_dir)?;
    let mut copies: Vec<&PathBuf> = copies.iter().collect();
    copies.sort_by_key(|path| place_in_publication(path));
    let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
    for copy in copies {
        let path = index_dir.join(copy.file_name().unwrap_or_default());
        let copy = fs::file(copy);
        copy.open()
            .and_then(|open| open.sync_all())
            .and_then(|()| copy.rename(&fs::file(&path)))
            .map_err(at(&path))?;
    }
    Ok(fs::sync_directory_of(&index_dir.join("any")).map_err(at(&index_dir))?)
}
