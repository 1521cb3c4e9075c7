//! Finds lines by their key, with a binary search in the file.
//!
//! The search needs an index in order, and a merge in git can leave it out of order. The valid
//! [file list](super::file_list) beside an index shows that the index is in order. Without a valid list
//! the lines are compared once, when the index is opened. Lines out of order are sorted in memory. So a
//! lookup misses no line, and is only slower until the next [`merge_into_index`](super::merge_into_index).

use std::borrow::BorrowMut;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::error::IndexError;
use super::file_list;
use super::lines::{IndexLines, are_in_order, read_line, write_line};
use crate::cdxj::CdxjLine;

/// An index for lookups, as it was when it was opened.
pub struct CdxjIndex {
    path: PathBuf,
    input: Box<dyn SortedInput + Send>,
    length: u64,
}

/// The lines in order: the file, or a sorted copy in memory.
trait SortedInput: BufRead + Seek {}

impl<T: BufRead + Seek> SortedInput for T {}

impl CdxjIndex {
    /// Opens an index. An index out of order takes as much memory as its length.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        open(path).map_err(|source| IndexError::Io {
            path: path.to_owned(),
            source,
        })
    }

    /// All lines with this key, oldest first.
    pub fn captures(&mut self, key: &str) -> Result<CdxjLines<&mut Self>, IndexError> {
        self.lines_with_prefix(&format!("{key} "))
    }

    /// All lines that begin with this text, such as all lines of a host: `org,example,data)/`.
    pub fn lines_with_prefix(&mut self, prefix: &str) -> Result<CdxjLines<&mut Self>, IndexError> {
        self.seek_to(prefix.as_bytes())
            .map_err(|source| self.failed(source))?;
        Ok(CdxjLines {
            index: self,
            prefix: prefix.to_owned(),
            line: Vec::new(),
        })
    }

    /// All lines, in order.
    pub fn into_lines(mut self) -> Result<CdxjLines<Self>, IndexError> {
        self.input.rewind().map_err(|source| self.failed(source))?;
        Ok(CdxjLines {
            index: self,
            prefix: String::new(),
            line: Vec::new(),
        })
    }

    /// Moves to the first line that is not less than `target`.
    fn seek_to(&mut self, target: &[u8]) -> io::Result<()> {
        let mut line = Vec::new();
        // The target line begins at `low` or later, and no later than the first line from `high` on.
        let (mut low, mut high) = (0, self.length);
        while low < high {
            let middle = low.midpoint(high);
            let begin = self.seek_to_line_from(middle, &mut line)?;
            let taken = read_line(&mut self.input, &mut line)?;
            if taken == 0 || line.as_slice() >= target {
                high = middle;
            } else {
                low = begin + taken;
            }
        }
        self.seek_to_line_from(low, &mut line).map(drop)
    }

    /// Moves to the first line that begins at `offset` or later, and returns its offset.
    fn seek_to_line_from(&mut self, offset: u64, scratch: &mut Vec<u8>) -> io::Result<u64> {
        // A line begins at `offset` if the byte before is a line end.
        let Some(before) = offset.checked_sub(1) else {
            return self.input.seek(SeekFrom::Start(0));
        };
        self.input.seek(SeekFrom::Start(before))?;
        Ok(before + read_line(&mut self.input, scratch)?)
    }

    fn failed(&self, source: io::Error) -> IndexError {
        IndexError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

fn open(path: &Path) -> io::Result<CdxjIndex> {
    let is_sorted = file_list::is_current(path)?;
    let mut file = File::open(path)?;
    let input: Box<dyn SortedInput + Send> =
        if is_sorted || are_in_order(BufReader::with_capacity(CHUNK, &file))? {
            file.rewind()?;
            Box::new(BufReader::new(file))
        } else {
            Box::new(Cursor::new(read_sorted(path)?))
        };
    let mut index = CdxjIndex {
        path: path.to_owned(),
        input,
        length: 0,
    };
    index.length = index.input.seek(SeekFrom::End(0))?;
    Ok(index)
}

/// Buffer size for reading an index from beginning to end, in bytes.
const CHUNK: usize = 64 * 1024;

fn read_sorted(path: &Path) -> io::Result<Vec<u8>> {
    let mut lines = IndexLines::open(path)?.collect::<io::Result<Vec<_>>>()?;
    lines.sort_unstable();
    lines.dedup();
    let mut text = Vec::new();
    lines
        .iter()
        .try_for_each(|line| write_line(&mut text, line))?;
    Ok(text)
}

impl fmt::Debug for CdxjIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CdxjIndex")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The lines of a lookup, read one by one.
pub struct CdxjLines<I> {
    index: I,
    prefix: String,
    line: Vec<u8>,
}

impl<I: BorrowMut<CdxjIndex>> Iterator for CdxjLines<I> {
    type Item = Result<CdxjLine, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.index.borrow_mut();
        loop {
            match read_line(&mut index.input, &mut self.line) {
                Err(error) => return Some(Err(index.failed(error))),
                Ok(0) => return None,
                Ok(_) if self.line.is_empty() => {}
                Ok(_) if !self.line.starts_with(self.prefix.as_bytes()) => return None,
                Ok(_) => break,
            }
        }
        let line = CdxjLine::parse(&String::from_utf8_lossy(&self.line));
        Some(line.map_err(|source| IndexError::Line {
            path: index.path.clone(),
            source,
        }))
    }
}
