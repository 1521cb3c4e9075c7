//! Finds lines by their key, with a binary search in each segment.

use std::borrow::BorrowMut;
use std::collections::BTreeSet;
use std::{fmt, io};

use super::cursor::{LineCursor, MergedLines};
use super::error::IndexError;
use super::lines::file_name_in;
use super::segment_cursor::{SegmentCursor, cursors};
use crate::cdxj::{CONTINUATION_KEY, CdxjLine};
use crate::files::names::INDEX_DIRECTORY;
use crate::files::{FileSource, is_index_file};
use crate::fs::{FileError, at};

/// Attempts at listing the segments, which another process may merge meanwhile.
const ATTEMPTS: usize = 5;

/// An index for lookups, as it was when it was opened: the merged lines of all its segments.
pub struct CdxjIndex {
    lines: MergedLines<SegmentCursor>,
    /// The files whose lines do not count.
    hidden: BTreeSet<String>,
}

impl CdxjIndex {
    /// Opens the index of an archive.
    ///
    /// # Errors
    /// When there is no index, or when a segment is damaged.
    pub fn open(source: &dyn FileSource) -> Result<Self, IndexError> {
        let path = source.path_of(INDEX_DIRECTORY);
        let mut attempts = 1;
        loop {
            match open_all(source) {
                Err(IndexError::Io(FileError { source, .. }))
                    if source.kind() == io::ErrorKind::NotFound && attempts < ATTEMPTS =>
                {
                    attempts += 1;
                }
                other => {
                    return Ok(Self {
                        lines: MergedLines::new(other?),
                        hidden: source.hidden().map_err(at(&path))?,
                    });
                }
            }
        }
    }

    /// Whether the archive has an index.
    ///
    /// # Errors
    /// When the files cannot be listed.
    pub fn exists(source: &dyn FileSource) -> io::Result<bool> {
        Ok(has_index(&source.names()?))
    }

    /// All lines with this key, oldest first.
    pub fn captures(&mut self, key: &str) -> Result<CdxjLines<&mut Self>, IndexError> {
        self.lines_with_prefix(&format!("{key} "))
    }

    /// All lines that begin with this text, such as all lines of a host: `org,example,data)/`.
    pub fn lines_with_prefix(&mut self, prefix: &str) -> Result<CdxjLines<&mut Self>, IndexError> {
        self.lines.seek(prefix.as_bytes())?;
        Ok(CdxjLines {
            index: self,
            prefix: prefix.to_owned(),
        })
    }

    /// All lines, in order.
    pub fn into_lines(mut self) -> Result<CdxjLines<Self>, IndexError> {
        self.lines.seek(b"")?;
        Ok(CdxjLines {
            index: self,
            prefix: String::new(),
        })
    }
}

/// Cursors over all segments of an index.
fn open_all(source: &dyn FileSource) -> Result<Vec<SegmentCursor>, IndexError> {
    let path = source.path_of(INDEX_DIRECTORY);
    let names = source.names().map_err(at(&path))?;
    if !has_index(&names) {
        let absent = io::Error::new(io::ErrorKind::NotFound, "there is no index");
        return Err(at(&path)(absent).into());
    }
    cursors(source, &names).collect()
}

/// Whether these files of an archive have an index among them, which may be an empty folder.
fn has_index(names: &[String]) -> bool {
    let is_of_index = |name: &String| name == INDEX_DIRECTORY || is_index_file(name);
    names.iter().any(is_of_index)
}

impl fmt::Debug for CdxjIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CdxjIndex").finish_non_exhaustive()
    }
}

/// The lines of a lookup, read one by one.
pub struct CdxjLines<I> {
    index: I,
    prefix: String,
}

/// Whether a line is about a file that counts, and about a capture, unless a continuation is looked up.
fn counts(line: &[u8], prefix: &[u8], hidden: &BTreeSet<String>) -> bool {
    let is_continuation = |text: &[u8]| text.starts_with(CONTINUATION_KEY.as_bytes());
    (is_continuation(prefix) || !is_continuation(line))
        && (hidden.is_empty() || file_name_in(line).is_none_or(|name| !hidden.contains(&name)))
}

impl<I: BorrowMut<CdxjIndex>> Iterator for CdxjLines<I> {
    type Item = Result<CdxjLine, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        let prefix = self.prefix.as_bytes();
        let CdxjIndex { lines, hidden } = self.index.borrow_mut();
        let (line, number) = loop {
            match lines.next_with_prefix(prefix) {
                Err(error) => return Some(Err(error)),
                Ok(None) => return None,
                Ok(Some((line, number))) if counts(line, prefix, hidden) => {
                    break (CdxjLine::parse(&String::from_utf8_lossy(line)), number);
                }
                Ok(Some(_)) => {}
            }
        };
        Some(line.map_err(|error| at(lines.cursor(number).position().0)(error).into()))
    }
}
