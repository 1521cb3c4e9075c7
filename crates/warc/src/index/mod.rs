//! The index of an archive: CDXJ lines, sorted as bytes (`LC_ALL=C sort`), without duplicates.
//!
//! Several processes may write archive files at once. Each writes files of its own, and merges its lines
//! into the shared index under the lock of the directory.

mod error;
mod file_list;
mod lines;
mod lookup;
mod request_matcher;
mod scan;
mod statuses;
mod zipnum;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use self::error::at;
pub use self::error::{IndexError, LeftOutCause, LeftOutRecords};
pub(crate) use self::lines::IndexLines;
use self::lines::write_line;
pub use self::lookup::{CdxjIndex, CdxjLines};
pub(crate) use self::request_matcher::RequestMatcher;
pub use self::zipnum::{IdxDialect, ZipNumWriter};
use crate::cdxj::{CdxjLine, SortKeys};
use crate::file::{ARCHIVE_SUFFIX, archive_files, file_name_of};
use crate::fs::{DirectoryLock, remove_if_there, replace, sync_directory_of};

/// The name of the index in the directory of an archive.
pub const INDEX_FILE_NAME: &str = "index.cdxj";

/// The name of the new index during a rebuild.
const NEW_INDEX_FILE_NAME: &str = "index.cdxj.new";

/// Bytes of lines that are collected before they are merged.
const MERGE_SIZE: usize = 64 * 1024 * 1024;

/// Merges lines into the index, which is created if missing. The index is streamed and replaced as a
/// whole, under the lock of its directory. An index that is out of order, for example after a merge in
/// git, is sorted. All lines of an archive file must be in one call: afterwards the file counts as
/// indexed.
pub fn merge_into_index(path: &Path, lines: &[CdxjLine]) -> Result<(), IndexError> {
    let mut update = IndexUpdate::new(path);
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
    scan::scan_file(path, keys, |line| lines.push(line))?.into_result(path)?;
    Ok(lines)
}

/// The finished files of an archive whose lines are not in its index, sorted. Such files are left over
/// from a process that died before it indexed them.
pub fn unindexed_files(dir: &Path) -> Result<Vec<PathBuf>, IndexError> {
    let mut archive_names = BTreeSet::new();
    for entry in std::fs::read_dir(dir).map_err(at(dir))? {
        let name = entry.map_err(at(dir))?.file_name();
        archive_names.extend(
            name.into_string()
                .ok()
                .filter(|name| name.ends_with(ARCHIVE_SUFFIX)),
        );
    }
    let index = dir.join(INDEX_FILE_NAME);
    let listed = file_list::read(&index).map_err(at(&index))?;
    Ok(archive_names
        .difference(&listed)
        .map(|name| dir.join(name))
        .collect())
}

/// The outcome of a rebuild.
#[derive(Debug, Default)]
pub struct IndexRebuild {
    /// The number of archive files.
    pub files: u64,
    /// The files with records that the index lacks ([`IndexError::LeftOut`]). The index has the lines of
    /// all their other records.
    pub damaged: Vec<IndexError>,
}

/// Rebuilds the index of an archive from its files alone.
pub fn rebuild_index(dir: &Path, keys: &impl SortKeys) -> Result<IndexRebuild, IndexError> {
    let (path, new) = (dir.join(INDEX_FILE_NAME), dir.join(NEW_INDEX_FILE_NAME));
    remove_if_there(&new).map_err(at(&new))?;
    let mut update = IndexUpdate::new(&new);
    let mut rebuilt = IndexRebuild::default();
    for file in archive_files(dir).map_err(at(dir))? {
        rebuilt.files += 1;
        match update.add_file(&file, keys) {
            Err(error) if error.is_damage() => rebuilt.damaged.push(error),
            other => other?,
        }
    }
    update.finish()?;
    let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
    if new.exists() {
        std::fs::rename(&new, &path).map_err(at(&path))?;
    } else {
        replace(&path, |_| Ok(())).map_err(at(&path))?;
    }
    sync_directory_of(&path).map_err(at(&path))?;
    Ok(rebuilt)
}

/// Removes the lines of a file from the index, if the index exists. The caller holds the lock of the
/// directory.
pub(crate) fn remove_file_lines(index: &Path, file: &Path) -> io::Result<()> {
    if !index.exists() {
        return Ok(());
    }
    let name = file_name_of(file);
    replace(index, |output| {
        for line in IndexLines::open(index)? {
            let line = line?;
            let parsed = CdxjLine::parse(&String::from_utf8_lossy(&line));
            if parsed.is_ok_and(|parsed| parsed.filename == name) {
                continue;
            }
            write_line(output, &line)?;
        }
        Ok(())
    })
}

/// Collects lines for an index and merges many at a time, because each merge rewrites the index.
pub struct IndexUpdate {
    path: PathBuf,
    lines: BTreeSet<Vec<u8>>,
    bytes: usize,
    files: BTreeSet<String>,
}

impl IndexUpdate {
    /// An update of the index at this path. The directory must exist; the index need not.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            lines: BTreeSet::new(),
            bytes: 0,
            files: BTreeSet::new(),
        }
    }

    /// Adds the lines of all records of an archive file.
    ///
    /// # Errors
    /// When the file is damaged or a record in it has no date or URI, after the lines of all others were
    /// added; or when it cannot be read.
    pub fn add_file(&mut self, file: &Path, keys: &impl SortKeys) -> Result<(), IndexError> {
        let mut added = Ok(());
        let scanned = scan::scan_file(file, keys, |line| {
            let rendered = self.add(&line);
            if added.is_ok() {
                added = rendered;
            }
        });
        added?;
        let left_out = scanned?.into_result(file);
        if left_out.is_ok() {
            self.files.insert(file_name_of(file));
        }
        if self.bytes >= MERGE_SIZE {
            self.merge()?;
        }
        left_out
    }

    fn add(&mut self, line: &CdxjLine) -> Result<(), IndexError> {
        let line = line.render().map_err(|source| IndexError::Line {
            path: self.path.clone(),
            source,
        })?;
        self.bytes += line.len();
        self.lines.insert(line.into_bytes());
        Ok(())
    }

    /// Merges the remaining lines.
    pub fn finish(mut self) -> Result<(), IndexError> {
        self.merge()
    }

    fn merge(&mut self) -> Result<(), IndexError> {
        if self.lines.is_empty() && self.files.is_empty() {
            return Ok(());
        }
        let dir = self
            .path
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
        let mut listed = file_list::read(&self.path).map_err(at(&self.path))?;
        let needs_sorting = || {
            let is_current = file_list::is_current(&self.path).map_err(at(&self.path))?;
            Ok::<_, IndexError>(self.path.exists() && !is_current)
        };
        statuses::fill(&self.path, &mut self.lines).map_err(at(&self.path))?;
        if !self.lines.is_empty() || needs_sorting()? {
            write_merged(&self.path, &self.lines).map_err(at(&self.path))?;
        }
        listed.append(&mut self.files);
        file_list::write(&self.path, &listed).map_err(at(&self.path))?;
        self.lines.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Merges new lines into the index by streaming. An index out of order is sorted in memory instead.
fn write_merged(path: &Path, new: &BTreeSet<Vec<u8>>) -> io::Result<()> {
    let in_order = Cell::new(true);
    let merged = replace(path, |output| {
        in_order.set(merge_sorted(IndexLines::open(path)?, new, output)?);
        if in_order.get() {
            Ok(())
        } else {
            Err(io::Error::other("the index is out of order"))
        }
    });
    if in_order.get() {
        return merged;
    }
    let mut all: BTreeSet<Vec<u8>> = IndexLines::open(path)?.collect::<io::Result<_>>()?;
    all.extend(new.iter().cloned());
    replace(path, |output| {
        all.iter().try_for_each(|line| write_line(output, line))
    })
}

/// Writes the merged lines. False if the old lines are out of order; the output is then useless.
fn merge_sorted(
    old: IndexLines,
    new: &BTreeSet<Vec<u8>>,
    output: &mut impl Write,
) -> io::Result<bool> {
    let mut new = new.iter().peekable();
    let mut last = Vec::new();
    for line in old {
        let line = line?;
        if line < last {
            return Ok(false);
        }
        while let Some(first) = new.next_if(|first| **first < line) {
            write_line(output, first)?;
        }
        new.next_if(|first| **first == line);
        if line != last {
            write_line(output, &line)?;
        }
        last = line;
    }
    new.try_for_each(|line| write_line(output, line))?;
    Ok(true)
}
