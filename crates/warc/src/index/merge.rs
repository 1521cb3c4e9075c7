//! Merges segments of an index, and removes lines.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::cursor::{LineCursor, MergedLines, SeekCursor};
use super::error::IndexError;
use super::lines::file_name_in;
use super::segment::{Segment, list};
use super::segment_cursor::SegmentCursor;
use super::segment_draft::{MergeLock, Purpose, SegmentDraft, clean_up};
use crate::files::names::{INDEX_DIRECTORY, file_name_of};
use crate::fs::{self, DirectoryLock, at};

/// Number of segments from which an update merges the small ones.
const MAX_SEGMENTS: usize = 16;

/// Creates the directory of an index if it is missing.
pub(super) fn create_directory(index_dir: &Path) -> Result<(), IndexError> {
    let root = fs::index_root(index_dir);
    if !root.is_folder() {
        root.make().map_err(at(index_dir))?;
        fs::sync_directory_of(index_dir).map_err(at(index_dir))?;
    }
    Ok(())
}

/// The lock for merges, in the directory of the index, which is created if missing.
pub(super) fn lock_index(index_dir: &Path) -> Result<DirectoryLock, IndexError> {
    create_directory(index_dir)?;
    Ok(DirectoryLock::acquire(index_dir).map_err(at(index_dir))?)
}

/// Merges all segments into one, and returns their number before.
///
/// # Errors
/// When a segment is damaged ([`IndexError::is_damaged_index`]) or a file operation failed.
pub fn merge_index(dir: &Path) -> Result<usize, IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let _merging = lock_index(&index_dir)?;
    let segments = list(&index_dir).map_err(at(&index_dir))?;
    if segments.len() > 1 {
        merge_segments(dir, &segments)?;
    }
    Ok(segments.len())
}

/// Merges small segments if there are many, unless another process does so.
pub(super) fn merge_small_segments(dir: &Path) -> Result<(), IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let segments = || list(&index_dir).map_err(at(&index_dir));
    if segments()?.len() <= MAX_SEGMENTS {
        return Ok(());
    }
    let Some(_merging) = DirectoryLock::try_acquire(&index_dir).map_err(at(&index_dir))? else {
        return Ok(());
    };
    let mut segments = segments()?;
    segments.sort_by_key(Segment::length);
    let lengths: Vec<u64> = segments.iter().map(Segment::length).collect();
    let merged = number_to_merge(&lengths);
    if segments.len() > MAX_SEGMENTS {
        merge_segments(dir, &segments[..merged])?;
    }
    Ok(())
}

/// The number of the smallest segments to merge, by their ascending lengths: at least two, and each next one
/// that is not longer than those before together. So a segment is merged again only after it has
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
        cursor.seek(b"", false)?;
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
    let draft = write_merged(&index_dir, Purpose::Merged, &files, &mut lines, |_| true)?;
    replace(dir, segments, draft)
}

/// Removes the lines of a file from the index. Other lines of the same segments may go with them: the
/// next update finds their files not indexed. The caller holds the lock of the directory.
pub(crate) fn forget_file(dir: &Path, file: &Path) -> io::Result<()> {
    let name = file_name_of(file);
    for segment in list(&dir.join(INDEX_DIRECTORY))? {
        if segment.files().is_ok_and(|files| !files.contains(&name)) {
            continue;
        }
        segment.remove()?;
    }
    Ok(())
}

/// Removes the lines of files that are gone. Segments without such lines stay as they are.
pub(crate) fn forget_files(dir: &Path, names: &BTreeSet<String>) -> Result<(), IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    if names.is_empty() || !fs::index_root(&index_dir).is_folder() {
        return Ok(());
    }
    let _merging = lock_index(&index_dir)?;
    let (mut old, mut files, mut cursors) = (Vec::new(), BTreeSet::new(), Vec::new());
    for segment in list(&index_dir).map_err(at(&index_dir))? {
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
    let is_kept = |line: &[u8]| file_name_in(line).is_none_or(|name| !names.contains(&name));
    let mut lines = MergedLines::new(cursors);
    let draft = write_merged(&index_dir, Purpose::Merged, &files, &mut lines, is_kept)?;
    replace(dir, &old, draft)
}

/// Writes the merged lines that `is_kept`.
pub(super) fn write_merged<C: LineCursor>(
    index_dir: &Path,
    purpose: Purpose,
    files: &BTreeSet<String>,
    lines: &mut MergedLines<C>,
    is_kept: impl Fn(&[u8]) -> bool,
) -> Result<Option<SegmentDraft>, IndexError> {
    SegmentDraft::write(index_dir, purpose, files, |add| {
        while let Some((line, _)) = lines.next()? {
            if is_kept(line) {
                add(line).map_err(at(index_dir))?;
            }
        }
        Ok(())
    })
}

/// Publishes a segment in the place of others. The caller holds the lock of the index.
pub(super) fn replace(
    dir: &Path,
    old: &[Segment],
    draft: Option<SegmentDraft>,
) -> Result<(), IndexError> {
    let index_dir = dir.join(INDEX_DIRECTORY);
    let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
    let new = draft.map(SegmentDraft::publish).transpose()?;
    // Until they are removed, lookups get the same lines from both.
    for segment in old.iter().filter(|segment| Some(*segment) != new.as_ref()) {
        segment.remove().map_err(at(&index_dir))?;
    }
    Ok(clean_up(&index_dir, MergeLock::Held).map_err(at(&index_dir))?)
}
