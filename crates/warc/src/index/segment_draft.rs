//! Writes a segment under temporary names, and then gives it its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::IndexError;
use super::segment::{PART, Segment, list};
use super::zipnum::{IdxDialect, ZipNumWriter, key_and_timestamp};
use crate::digest::{DigestHasher, HashingOutput};
use crate::files::names::{DATA_SUFFIX, LOC_SUFFIX, PUBLICATION};
use crate::fs::{self, DirectoryLock, at, remove_if_there, sync_directory_of};

pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";

/// The purpose of a new segment. The temporary files of different purposes have different names.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// New lines, under the lock of the archive's directory.
    Added,
    /// The lines of other segments or of all files, under the lock of the index.
    Merged,
}

impl Purpose {
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Merged => "merged",
        }
    }
}

/// A complete segment under temporary names, which are removed when it is dropped.
pub(super) struct SegmentDraft {
    segment: Segment,
    /// Temporary and final paths, in the order of publication.
    files: Vec<(PathBuf, PathBuf)>,
}

impl SegmentDraft {
    /// Writes a segment with the lines that `lines` passes on in order, and with the names of the
    /// archive files that they are about. `None` if there are neither.
    pub(super) fn write(
        dir: &Path,
        purpose: Purpose,
        files: &BTreeSet<String>,
        lines: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), IndexError>,
    ) -> Result<Option<Self>, IndexError> {
        let [data, loc, idx] = PUBLICATION
            .map(|suffix| dir.join(format!("{}{suffix}{TEMPORARY_SUFFIX}", purpose.prefix())));
        let mut draft = Self {
            segment: Segment {
                dir: dir.to_owned(),
                name: String::new(),
                has_lines: false,
            },
            files: [&data, &loc, &idx]
                .map(|path| (path.clone(), PathBuf::new()))
                .into(),
        };
        let blocks = Blocks::write(&data, &idx, lines)?;
        let mut list = list_of(files);
        let has_lines = blocks.data.length > 0;
        if !has_lines && list.is_empty() {
            return Ok(None);
        }
        let (data_output, hasher) = blocks.data.into_parts();
        let latest = has_lines.then(|| String::from_utf8_lossy(&blocks.latest));
        draft.segment.name = name_of(latest.as_deref(), hasher, &list);
        draft.segment.has_lines = has_lines;
        if has_lines {
            let name = &draft.segment.name;
            list.insert_str(0, &format!("{PART}\t{name}{DATA_SUFFIX}\n"));
        }
        let mut loc_output = create(&loc)?;
        loc_output.write_all(list.as_bytes()).map_err(at(&loc))?;
        sync(data_output, &data)?;
        sync(blocks.idx, &idx)?;
        sync(loc_output, &loc)?;
        for ((_, path), suffix) in draft.files.iter_mut().zip(PUBLICATION) {
            *path = draft.segment.path(suffix);
        }
        Ok(Some(draft))
    }

    /// Gives the files their final names. The caller holds the lock of the archive's directory.
    pub(super) fn publish(mut self) -> Result<Segment, IndexError> {
        let loc = self.segment.path(LOC_SUFFIX);
        for (temporary, path) in &self.files {
            if self.segment.has_lines || *path == loc {
                fs::file(temporary)
                    .rename(&fs::file(path))
                    .map_err(at(path))?;
            } else {
                remove_if_there(temporary).map_err(at(temporary))?;
            }
        }
        self.files.clear();
        sync_directory_of(&loc).map_err(at(&self.segment.dir))?;
        Ok(self.segment.clone())
    }
}

impl Drop for SegmentDraft {
    fn drop(&mut self) {
        for (temporary, _) in &self.files {
            // The next update removes what stays.
            let _ = remove_if_there(temporary);
        }
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, IndexError> {
    Ok(fs::create(path).map(BufWriter::new).map_err(at(path))?)
}

fn sync(output: BufWriter<File>, path: &Path) -> Result<(), IndexError> {
    let written = output.into_inner().map_err(io::IntoInnerError::into_error);
    Ok(written.and_then(|file| file.sync_all()).map_err(at(path))?)
}

/// The lines of a `.loc` file about these archive files.
fn list_of(files: &BTreeSet<String>) -> String {
    let mut list = String::new();
    for name in files.iter().filter(|name| !name.contains(char::is_control)) {
        let _ = writeln!(list, "{name}\t../{name}");
    }
    list
}

/// The name of a segment, by the latest timestamp of its lines, if it has lines, by their hash and by its list
/// of archive files.
fn name_of(latest: Option<&str>, mut hasher: DigestHasher, list: &str) -> String {
    hasher.update(list.as_bytes());
    let digest = hasher.finish().to_string();
    let digest = digest.split(':').next_back().unwrap_or_default();
    let latest = latest.unwrap_or("files");
    format!("{latest}-{}", &digest[..16.min(digest.len())])
}

/// The files with the lines of a segment, which are complete and not synced.
struct Blocks {
    data: HashingOutput<BufWriter<File>>,
    idx: BufWriter<File>,
    /// The latest timestamp of the lines.
    latest: Vec<u8>,
}

impl Blocks {
    fn write(
        data: &Path,
        idx: &Path,
        lines: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), IndexError>,
    ) -> Result<Self, IndexError> {
        let output = HashingOutput::new(create(data)?);
        let part = PART.to_owned();
        let mut writer =
            ZipNumWriter::new(output, create(idx)?, IdxDialect::Tab { part }).map_err(at(idx))?;
        let mut latest = Vec::new();
        lines(&mut |line| {
            writer.add(line)?;
            let timestamp =
                key_and_timestamp(line).and_then(|key| key.rsplit(|b| *b == b' ').next());
            if let Some(timestamp) = timestamp.filter(|it| *it > latest.as_slice()) {
                timestamp.clone_into(&mut latest);
            }
            Ok(())
        })?;
        let (output, idx_output) = writer.finish().map_err(at(data))?;
        Ok(Self {
            data: output,
            idx: idx_output,
            latest,
        })
    }
}

/// Whether the caller holds the lock for merges.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeLock {
    Held,
    NotHeld,
}

/// Removes the files that killed processes have left. The caller holds the lock of the archive's
/// directory, so all files of a segment that is being published are there.
pub(super) fn clean_up(dir: &Path, merge: MergeLock) -> io::Result<()> {
    let complete: BTreeSet<String> = list(dir)?.into_iter().map(|it| it.name).collect();
    let names = fs::names(&fs::index_root(dir))?;
    let is_of_merge =
        |name: &str| name.ends_with(TEMPORARY_SUFFIX) && name.starts_with(Purpose::Merged.prefix());
    // The files of a merge that is running are not left over.
    let mut lock = None;
    if merge == MergeLock::NotHeld && names.iter().any(|name| is_of_merge(name)) {
        lock = DirectoryLock::try_acquire(dir)?;
    }
    let no_merge_runs = merge == MergeLock::Held || lock.is_some();
    for name in names {
        let is_left = match name.strip_suffix(TEMPORARY_SUFFIX) {
            Some(_) if is_of_merge(&name) => no_merge_runs,
            Some(_) => name.starts_with(Purpose::Added.prefix()),
            None => [DATA_SUFFIX, LOC_SUFFIX]
                .iter()
                .filter_map(|suffix| name.strip_suffix(suffix))
                .any(|name| !complete.contains(name)),
        };
        if is_left {
            remove_if_there(&dir.join(name))?;
        }
    }
    Ok(())
}
