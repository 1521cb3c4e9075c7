//! The index of an archive: CDXJ lines, sorted as bytes (`LC_ALL=C sort`), in compressed segments.
//!
//! Several processes may write archive files at once. Each writes files of its own, and adds their lines
//! as a segment of its own. A segment never changes. Lookups merge the answers of all segments. When
//! there are many segments, an update merges the small ones, so their number stays small and each line
//! is written a few times only.
//!
//! | lock | held |
//! |---|---|
//! | of the archive's directory | while a segment is added, and while one replaces others |
//! | of the index's directory | while segments are merged or the index is rebuilt |

mod cursor;
mod error;
mod lines;
mod lookup;
mod pending;
mod request_matcher;
mod scan;
mod segment;
mod sorter;
mod statuses;
mod zipnum;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use self::cursor::BoxedCursor;
pub(crate) use self::cursor::{LineCursor, MergedLines, SeekCursor};
use self::error::at;
pub use self::error::{IndexError, LeftOutCause, LeftOutRecords};
pub use self::lookup::{CdxjIndex, CdxjLines};
pub use self::pending::PendingLines;
pub(crate) use self::request_matcher::RequestMatcher;
pub use self::segment::{INDEX_DIRECTORY, LARGEST_LIST, files_of_segment};
use self::segment::{MergeLock, Purpose, Segment, SegmentCursor, SegmentDraft};
pub(crate) use self::segment::{cursors as segment_cursors, is_segment_name};
use self::sorter::LineSorter;
pub use self::zipnum::{IdxDialect, ZipNumWriter};
use crate::cdxj::{CdxjLine, SortKeys};
use crate::file::{ARCHIVE_SUFFIX, archive_files, file_name_of};
use crate::fs::{DirectoryLock, file, index_root};
use crate::replacement::finish_replacements;
use crate::source::FileSource;

/// Number of segments from which an update merges the small ones.
const MAX_SEGMENTS: usize = 16;

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
    scan::scan_file(path, &file_name_of(path), keys, |line| lines.push(line))?.into_result(path)?;
    Ok(lines)
}

/// The finished files of an archive whose lines are not in its index, sorted. Such files are left over
/// from a process that died before it indexed them, or the segment with their lines is damaged.
pub fn unindexed_files(dir: &Path) -> Result<Vec<PathBuf>, IndexError> {
    let names = dir.names().map_err(at(dir))?.into_iter();
    let archive_names: BTreeSet<String> = names
        .filter(|name| name.ends_with(ARCHIVE_SUFFIX))
        .collect();
    let index_dir = dir.join(INDEX_DIRECTORY);
    let mut indexed = BTreeSet::new();
    for segment in segment::list(&index_dir).map_err(at(&index_dir))? {
        if segment.is_complete() {
            indexed.append(&mut segment.files().map_err(at(&index_dir))?);
        }
    }
    Ok(archive_names
        .difference(&indexed)
        .map(|name| dir.join(name))
        .collect())
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
    let segments = segment::list(&index_dir).map_err(at(&index_dir))?;
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
    rebuild_with(dir, keys, files_in(dir)?, sorter::CHUNK)
}

/// Rebuilds the index in this directory from these files: their names, and paths with their bytes.
pub fn rebuild_index_from<P: AsRef<Path>>(
    dir: &Path,
    keys: &impl SortKeys,
    files: impl IntoIterator<Item = io::Result<(String, P)>>,
) -> Result<IndexRebuild, IndexError> {
    rebuild_with(dir, keys, files, sorter::CHUNK)
}

/// The names and paths of the archive files in a directory.
fn files_in(dir: &Path) -> Result<Vec<io::Result<(String, PathBuf)>>, IndexError> {
    let files = archive_files(dir).map_err(at(dir))?.into_iter();
    Ok(files.map(|path| Ok((file_name_of(&path), path))).collect())
}

fn rebuild_with<P: AsRef<Path>>(
    dir: &Path,
    keys: &impl SortKeys,
    sources: impl IntoIterator<Item = io::Result<(String, P)>>,
    chunk_size: usize,
) -> Result<IndexRebuild, IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let merging = lock_index(&index_dir)?;
    let old = segment::list(&index_dir).map_err(at(&index_dir))?;
    let mut sorter = LineSorter::new(&index_dir, chunk_size);
    let mut files = BTreeSet::new();
    let mut rebuilt = IndexRebuild::default();
    for source in sources {
        let (name, path) = source.map_err(at(dir))?;
        let mut added = Ok(());
        let scanned = scan::scan_file(path.as_ref(), &name, keys, |line| {
            if added.is_ok() {
                added = render(&index_dir, &line).and_then(|line| sorter.add(line));
            }
        });
        added?;
        // The bytes may be those of a copy elsewhere.
        let left_out = scanned?.into_result(&dir.join(&name));
        if left_out.is_ok() {
            files.insert(name);
        }
        rebuilt.add_file(left_out)?;
    }
    let (mut lines, _temporary) = sorter.finish()?;
    let draft = write_merged(&index_dir, &files, &mut lines, &|_| true)?;
    replace(dir, &old, draft)?;
    drop(merging);
    finish_replacements(dir)?;
    Ok(rebuilt)
}

/// Removes the lines of a file from the index. Other lines of the same segments may go with them: the
/// next update finds their files not indexed. The caller holds the lock of the directory.
pub(crate) fn forget_file(dir: &Path, file: &Path) -> io::Result<()> {
    let name = file_name_of(file);
    for segment in segment::list(&dir.join(INDEX_DIRECTORY))? {
        if segment.files().is_ok_and(|files| !files.contains(&name)) {
            continue;
        }
        segment.remove()?;
    }
    Ok(())
}

/// Collects lines for an index, and adds many at a time as a segment.
pub struct IndexUpdate {
    dir: PathBuf,
    lines: BTreeSet<Vec<u8>>,
    bytes: usize,
    files: BTreeSet<String>,
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
        let mut added = Ok(());
        let scanned = scan::scan_file(file, name, keys, |line| {
            if added.is_ok() {
                added = self.add(&line);
            }
        });
        added?;
        let left_out = scanned?.into_result(file);
        if left_out.is_ok() {
            self.files.insert(name.to_owned());
        }
        left_out
    }

    fn add(&mut self, line: &CdxjLine) -> Result<(), IndexError> {
        self.add_rendered(render(&self.dir.join(INDEX_DIRECTORY), line)?)
    }

    fn add_rendered(&mut self, line: Vec<u8>) -> Result<(), IndexError> {
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
        if !index_root(&index_dir).is_folder() {
            return Ok(());
        }
        let lock = DirectoryLock::acquire(&self.dir).map_err(at(&self.dir))?;
        segment::clean_up(&index_dir, MergeLock::NotHeld).map_err(at(&index_dir))?;
        drop(lock);
        merge_small_segments(&self.dir)
    }

    /// Adds the collected lines as a segment.
    fn write(&mut self) -> Result<(), IndexError> {
        if self.lines.is_empty() && self.files.is_empty() {
            return Ok(());
        }
        let index_dir = self.dir.join(INDEX_DIRECTORY);
        create(&index_dir)?;
        self.fill_statuses()?;
        let _lock = DirectoryLock::acquire(&self.dir).map_err(at(&self.dir))?;
        let lines = &self.lines;
        let draft = SegmentDraft::write(&index_dir, Purpose::Added, &self.files, |add| {
            let mut lines = lines.iter();
            lines.try_for_each(|line| add(line)).map_err(at(&index_dir))
        })?;
        if let Some(draft) = draft {
            self.written.push(draft.publish()?);
        }
        self.lines.clear();
        self.files.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Looks the statuses of revisits up in the index.
    fn fill_statuses(&mut self) -> Result<(), IndexError> {
        let dir = self.dir.as_path();
        let names = dir.names().map_err(at(dir))?;
        // Another process may have merged a segment since the files were listed.
        let is_gone = |error: &IndexError| matches!(error, IndexError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound);
        statuses::fill(&mut self.lines, || {
            let segments = segment_cursors(&dir, &names);
            let segments = segments.filter(|cursor| !cursor.as_ref().is_err_and(is_gone));
            segments.map(|cursor| Ok(Box::new(cursor?) as BoxedCursor))
        })
    }
}

/// The text of a line for the index in this directory.
fn render(index_dir: &Path, line: &CdxjLine) -> Result<Vec<u8>, IndexError> {
    let rendered = line.render().map_err(|source| IndexError::Line {
        path: index_dir.to_owned(),
        source,
    });
    rendered.map(String::into_bytes)
}

fn create(index_dir: &Path) -> Result<(), IndexError> {
    let root = index_root(index_dir);
    if !root.is_folder() {
        root.make().map_err(at(index_dir))?;
        crate::fs::sync_directory_of(index_dir).map_err(at(index_dir))?;
    }
    Ok(())
}

/// The lock for merges, in the directory of the index, which is created if missing.
fn lock_index(index_dir: &Path) -> Result<DirectoryLock, IndexError> {
    create(index_dir)?;
    DirectoryLock::acquire(index_dir).map_err(at(index_dir))
}

/// Merges all segments into one, and returns their number before.
///
/// # Errors
/// When a segment is damaged ([`IndexError::is_damaged_index`]) or a file operation failed.
pub fn merge_index(dir: &Path) -> Result<usize, IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let _merging = lock_index(&index_dir)?;
    let segments = segment::list(&index_dir).map_err(at(&index_dir))?;
    if segments.len() > 1 {
        merge_segments(dir, &segments)?;
    }
    Ok(segments.len())
}

/// Merges small segments if there are many, unless another process does so.
fn merge_small_segments(dir: &Path) -> Result<(), IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let list = || segment::list(&index_dir).map_err(at(&index_dir));
    if list()?.len() <= MAX_SEGMENTS {
        return Ok(());
    }
    let Some(_merging) = DirectoryLock::try_acquire(&index_dir).map_err(at(&index_dir))? else {
        return Ok(());
    };
    let mut segments = list()?;
    segments.sort_by_key(Segment::length);
    let lengths: Vec<u64> = segments.iter().map(Segment::length).collect();
    let merged = number_to_merge(&lengths);
    if segments.len() > MAX_SEGMENTS {
        merge_segments(dir, &segments[..merged])?;
    }
    Ok(())
}

/// How many of the smallest segments to merge, by their ascending lengths: at least two, and each next
/// one that is not longer than those before together. So a segment is merged again only after it has
/// about doubled, and the merges of N lines write each line about log N times.
fn number_to_merge(lengths: &[u64]) -> usize {
    let mut total: u64 = lengths.iter().take(2).sum();
    let mut number = lengths.len().min(2);
    while let Some(next) = lengths.get(number).filter(|next| **next <= total) {
        total += next;
        number += 1;
    }
    number
}

/// A cursor at the first line of a segment, if it has lines.
fn first_line_of(segment: &Segment) -> Result<Option<SegmentCursor>, IndexError> {
    let mut cursor = segment.open()?;
    if let Some(cursor) = &mut cursor {
        cursor.seek(b"")?;
    }
    Ok(cursor)
}

/// Replaces segments by one. The caller holds the lock of the index.
fn merge_segments(dir: &Path, segments: &[Segment]) -> Result<(), IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let mut files = BTreeSet::new();
    let mut cursors = Vec::new();
    for segment in segments {
        files.append(&mut segment.files().map_err(at(&index_dir))?);
        cursors.extend(first_line_of(segment)?);
    }
    let mut lines = MergedLines::new(cursors);
    let draft = write_merged(&index_dir, &files, &mut lines, &|_| true)?;
    replace(dir, segments, draft)
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
    create(&index_dir)?;
    let mut copies: Vec<&PathBuf> = copies.iter().collect();
    copies.sort_by_key(|path| segment::place_in_publication(path));
    let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
    for copy in copies {
        let path = index_dir.join(copy.file_name().unwrap_or_default());
        let copy = file(copy);
        copy.open()
            .and_then(|open| open.sync_all())
            .and_then(|()| copy.rename(&file(&path)))
            .map_err(at(&path))?;
    }
    crate::fs::sync_directory_of(&index_dir.join("any")).map_err(at(&index_dir))
}

/// Removes the lines of files that are gone. Segments without such lines stay as they are.
pub(crate) fn forget_files(dir: &Path, names: &BTreeSet<String>) -> Result<(), IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    if names.is_empty() || !index_root(&index_dir).is_folder() {
        return Ok(());
    }
    let _merging = lock_index(&index_dir)?;
    let (mut old, mut files, mut cursors) = (Vec::new(), BTreeSet::new(), Vec::new());
    for segment in segment::list(&index_dir).map_err(at(&index_dir))? {
        let of_segment = segment.files().map_err(at(&index_dir))?;
        if !of_segment.is_disjoint(names) || segment.may_have_other_files() {
            files.extend(of_segment.difference(names).cloned());
            cursors.extend(first_line_of(&segment)?);
            old.push(segment);
        }
    }
    if old.is_empty() {
        return Ok(());
    }
    let is_kept = |line: &[u8]| lines::file_name_in(line).is_none_or(|name| !names.contains(&name));
    let mut lines = MergedLines::new(cursors);
    let draft = write_merged(&index_dir, &files, &mut lines, &is_kept)?;
    replace(dir, &old, draft)
}

fn write_merged<C: LineCursor>(
    index_dir: &Path,
    files: &BTreeSet<String>,
    lines: &mut MergedLines<C>,
    is_kept: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<SegmentDraft>, IndexError> {
    SegmentDraft::write(index_dir, Purpose::Merged, files, |add| {
        statuses::pass_on_filled(lines, &mut |line| {
            if is_kept(line) {
                add(line).map_err(at(index_dir))
            } else {
                Ok(())
            }
        })
    })
}

/// Publishes a segment in the place of others. The caller holds the lock of the index.
fn replace(dir: &Path, old: &[Segment], draft: Option<SegmentDraft>) -> Result<(), IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
    let new = draft.map(SegmentDraft::publish).transpose()?;
    // Until they are removed, lookups get the same lines from both.
    for segment in old.iter().filter(|segment| Some(*segment) != new.as_ref()) {
        segment.remove().map_err(at(&index_dir))?;
    }
    segment::clean_up(&index_dir, MergeLock::Held).map_err(at(&index_dir))
}
