//! Adds lines to an index.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufReader, BufWriter, IntoInnerError, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use tempfile::SpooledTempFile;

use super::error::IndexError;
use super::lines::{read_line, render, write_line};
use super::merge::{create_directory, merge_small_segments};
use super::scan::scan_file;
use super::segment::{Segment, place_in_publication};
use super::segment_draft::{MergeLock, Purpose, SegmentDraft, clean_up};
use crate::cdxj::{CdxjLine, SortKeys};
use crate::files::names::{INDEX_DIRECTORY, file_name_of};
use crate::fs::{self, DirectoryLock, at};

/// Bytes of lines that an update holds in memory. More lines go into several segments.
const UPDATE: usize = 16 * 1024 * 1024;

/// Adds lines to the index, which is created if missing. All lines of an archive file must be in one
/// call: afterwards the file counts as indexed.
pub fn merge_into_index(dir: &Path, lines: &[CdxjLine]) -> Result<(), IndexError> {
    let mut update = IndexUpdate::new(dir);
    for line in lines {
        update.add(line)?;
        update.files.insert(line.filename.clone());
    }
    update.finish()
}

/// The lines of all records of an archive file, in the order of the file.
///
/// # Errors
/// When a capture in the file has no line, or when the file cannot be read.
pub fn index_lines_of(path: &Path, keys: &impl SortKeys) -> Result<Vec<CdxjLine>, IndexError> {
    let mut lines = Vec::new();
    let left_out = scan_file(path, &file_name_of(path), keys, |line| {
        lines.push(line);
        Ok(())
    })?;
    left_out.into_result(path)?;
    Ok(lines)
}

/// Collects lines for an index, and adds many at a time as a segment.
pub struct IndexUpdate {
    dir: PathBuf,
    lines: BTreeSet<Vec<u8>>,
    bytes: usize,
    pub(super) files: BTreeSet<String>,
    /// The segments that were added.
    written: Vec<Segment>,
}

impl IndexUpdate {
    /// An update of the index in the directory of an archive. The directory must exist; the index need
    /// not.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            lines: BTreeSet::new(),
            bytes: 0,
            files: BTreeSet::new(),
            written: Vec::new(),
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

    /// Adds the lines of a file that is going to have this name.
    fn add_file_as(
        &mut self,
        file: &Path,
        name: &str,
        keys: &impl SortKeys,
    ) -> Result<(), IndexError> {
        let left_out = scan_file(file, name, keys, |line| self.add(&line))?.into_result(file);
        if left_out.is_ok() {
            self.files.insert(name.to_owned());
        }
        left_out
    }

    fn add(&mut self, line: &CdxjLine) -> Result<(), IndexError> {
        self.add_rendered(render(&self.dir.join(INDEX_DIRECTORY), line)?)
    }

    pub(super) fn add_rendered(&mut self, line: Vec<u8>) -> Result<(), IndexError> {
        self.bytes += line.len();
        self.lines.insert(line);
        if self.bytes >= UPDATE {
            self.write()?;
        }
        Ok(())
    }

    /// Adds the remaining lines, and merges segments if there are many.
    pub fn finish(mut self) -> Result<(), IndexError> {
        self.write()?;
        let index_dir = self.dir.join(INDEX_DIRECTORY);
        if !fs::index_root(&index_dir).is_folder() {
            return Ok(());
        }
        let lock = DirectoryLock::acquire(&self.dir).map_err(at(&self.dir))?;
        clean_up(&index_dir, MergeLock::NotHeld).map_err(at(&index_dir))?;
        drop(lock);
        merge_small_segments(&self.dir)
    }

    /// Adds the collected lines as a segment.
    fn write(&mut self) -> Result<(), IndexError> {
        if self.lines.is_empty() && self.files.is_empty() {
            return Ok(());
        }
        let index_dir = self.dir.join(INDEX_DIRECTORY);
        create_directory(&index_dir)?;
        let _lock = DirectoryLock::acquire(&self.dir).map_err(at(&self.dir))?;
        let lines = &self.lines;
        let draft = SegmentDraft::write(&index_dir, Purpose::Added, &self.files, |add| {
            let mut lines = lines.iter();
            Ok(lines
                .try_for_each(|line| add(line))
                .map_err(at(&index_dir))?)
        })?;
        if let Some(draft) = draft {
            self.written.push(draft.publish()?);
        }
        self.lines.clear();
        self.files.clear();
        self.bytes = 0;
        Ok(())
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
    update.write()?;
    Ok(update.written.iter().flat_map(Segment::paths).collect())
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

/// Bytes of compressed lines in memory. More lines go into a temporary file.
const IN_MEMORY: usize = 1024 * 1024;

/// The lines of records, which wait for the end of their archive files: an index refers to finished files
/// only. Memory does not grow with the number of lines. The lines are lost with the process; then
/// [`complete_index`](super::complete_index) reads the files.
pub struct PendingLines {
    dir: PathBuf,
    /// Buffered, since the encoder clears its own buffer at each write.
    lines: BufWriter<GzEncoder<SpooledTempFile>>,
    files: BTreeSet<String>,
}

impl PendingLines {
    /// No lines for the index in the directory of an archive. The directory must exist once there are many
    /// lines.
    pub fn new(dir: &Path) -> Self {
        let file = SpooledTempFile::new_in(IN_MEMORY, dir);
        Self {
            dir: dir.to_owned(),
            lines: BufWriter::new(GzEncoder::new(file, Compression::fast())),
            files: BTreeSet::new(),
        }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When the line cannot be in an index, or the temporary file cannot be written.
    pub fn add(&mut self, line: &CdxjLine) -> Result<(), IndexError> {
        let rendered = render(&self.dir.join(INDEX_DIRECTORY), line)?;
        write_line(&mut self.lines, &rendered).map_err(at(&self.dir))?;
        self.add_file(&line.filename);
        Ok(())
    }

    /// Makes an archive file count as indexed that has no lines, such as one with segments only.
    pub fn add_file(&mut self, name: &str) {
        if !self.files.contains(name) {
            self.files.insert(name.to_owned());
        }
    }

    /// Adds all lines to the index, which is created if missing. Afterwards their archive files count as
    /// indexed.
    ///
    /// # Errors
    /// When the temporary file cannot be read, or the index cannot be written.
    pub fn merge_into_index(self) -> Result<(), IndexError> {
        let mut update = IndexUpdate::new(&self.dir);
        let lines = self.lines.into_inner();
        let lines = lines.map_err(IntoInnerError::into_error);
        let mut file = lines.and_then(GzEncoder::finish).map_err(at(&self.dir))?;
        file.seek(SeekFrom::Start(0)).map_err(at(&self.dir))?;
        let mut lines = BufReader::new(GzDecoder::new(BufReader::new(file)));
        let mut line = Vec::new();
        while read_line(&mut lines, &mut line).map_err(at(&self.dir))? > 0 {
            update.add_rendered(std::mem::take(&mut line))?;
        }
        update.files = self.files;
        update.finish()
    }
}

impl fmt::Debug for PendingLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingLines")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
