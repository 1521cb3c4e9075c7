//! The segments of an index, and the files of each.
//!
//! | file of a segment | content |
//! |---|---|
//! | `NAME.cdxj.gz` | the lines, in compressed blocks |
//! | `NAME.loc` | the name of the data file, and the archive files whose lines the segment has |
//! | `NAME.idx` | the key and the position of each block |
//!
//! `NAME` is the latest timestamp of the lines and a digest of the segment. So a segment never changes,
//! and an equal segment has the same name. The `.idx` file comes last: without it there is no segment.
//! A segment without lines is a `.loc` file only.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::error::IndexError;
use super::segment_cursor::SegmentCursor;
use super::zipnum::invalid;
use crate::files::names::{DATA_SUFFIX, IDX_SUFFIX, LARGEST_LIST, LOC_SUFFIX, PUBLICATION};
use crate::fs::{self, at, remove_if_there};

/// The name of the data file in `.loc` and `.idx`.
pub(super) const PART: &str = "cdxj";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    pub(super) dir: PathBuf,
    pub(super) name: String,
    /// Whether the segment has lines, or only names of files without lines.
    pub(super) has_lines: bool,
}

impl Segment {
    pub(super) fn data(&self) -> PathBuf {
        self.path(DATA_SUFFIX)
    }

    pub(super) fn path(&self, suffix: &str) -> PathBuf {
        self.dir.join(format!("{}{suffix}", self.name))
    }

    /// The paths of the files, in the order of publication.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let suffixes: &[&str] = if self.has_lines {
            &PUBLICATION
        } else {
            &[LOC_SUFFIX]
        };
        suffixes.iter().map(|suffix| self.path(suffix)).collect()
    }

    /// The length of the lines, compressed, in bytes.
    pub(super) fn length(&self) -> u64 {
        fs::file(&self.data())
            .metadata()
            .map_or(0, |known| known.len())
    }

    /// The archive files whose lines the segment has.
    ///
    /// # Errors
    /// When the list cannot be read, or is not that of the segment.
    pub(super) fn files(&self) -> io::Result<BTreeSet<String>> {
        let loc = fs::file(&self.path(LOC_SUFFIX)).read(LARGEST_LIST)?;
        let (names, has_part) = read_loc(&loc)?;
        if has_part != self.has_lines {
            return Err(invalid("the list of files is that of another segment"));
        }
        Ok(names)
    }

    /// Whether the segment may have lines of files that its list does not name: of damaged files.
    pub(super) fn may_have_other_files(&self) -> bool {
        self.has_lines && self.files().is_ok_and(|files| files.is_empty())
    }

    /// A cursor, which must be moved before it is used; `None` if the segment has no lines.
    pub(super) fn open(&self) -> Result<Option<SegmentCursor>, IndexError> {
        if !self.has_lines {
            return Ok(None);
        }
        let (data, idx) = (self.data(), self.path(IDX_SUFFIX));
        let open = |path: &Path| fs::file(path).open().map_err(at(path));
        let (data_input, idx_input) = (open(&data)?, open(&idx)?);
        SegmentCursor::new(data, Box::new(data_input), Box::new(idx_input)).map(Some)
    }

    /// Whether all files of the segment are there with the lengths that they should have.
    pub(super) fn is_complete(&self) -> bool {
        self.files().is_ok() && self.open().is_ok()
    }

    /// Removes the files, first the one that makes them a segment.
    pub(super) fn remove(&self) -> io::Result<()> {
        for suffix in [IDX_SUFFIX, LOC_SUFFIX, DATA_SUFFIX] {
            remove_if_there(&self.path(suffix))?;
        }
        Ok(())
    }
}

/// The archive files in a `.loc` file, and whether its segment has lines.
fn read_loc(loc: &[u8]) -> io::Result<(BTreeSet<String>, bool)> {
    let mut names = BTreeSet::new();
    let mut has_part = false;
    let loc = std::str::from_utf8(loc).map_err(|_| invalid("the list of files is not UTF-8"))?;
    for line in loc.lines() {
        match line.split_once('\t') {
            Some((PART, _)) => has_part = true,
            Some((name, _)) => drop(names.insert(name.to_owned())),
            None => return Err(invalid("the list of files is damaged")),
        }
    }
    Ok((names, has_part))
}

/// The archive files whose lines a segment of an index has, by the bytes of its `.loc` file.
///
/// # Errors
/// When the bytes are no such list.
pub fn files_of_segment(loc: &[u8]) -> io::Result<BTreeSet<String>> {
    read_loc(loc).map(|(names, _)| names)
}

/// The segments of the index in this directory, the latest first.
pub(super) fn list(dir: &Path) -> io::Result<Vec<Segment>> {
    let names = fs::names(&fs::index_root(dir))?;
    let mut segments = Vec::new();
    for name in &names {
        if let Some(name) = name.strip_suffix(IDX_SUFFIX) {
            segments.push(Segment {
                dir: dir.to_owned(),
                name: name.to_owned(),
                has_lines: true,
            });
        } else if let Some(name) = name.strip_suffix(LOC_SUFFIX)
            && !names.contains(&format!("{name}{IDX_SUFFIX}"))
        {
            let segment = Segment {
                dir: dir.to_owned(),
                name: name.to_owned(),
                has_lines: false,
            };
            // Otherwise the segment was not finished.
            if segment.files().is_ok() {
                segments.push(segment);
            }
        }
    }
    segments.sort_by(|a, b| b.cmp(a));
    Ok(segments)
}

/// The place of a file in the order in which the files of its segment appear.
pub(super) fn place_in_publication(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?;
    PUBLICATION.iter().position(|suffix| name.ends_with(suffix))
}
