//! Finds lines by their key, by binary search in the file: no more of it is read than is needed.
//!
//! For that the index has to be in order, and a merge in git leaves it out of order. What says that it
//! is in order is the list that we put beside it whenever we have sorted it. Where that is missing or
//! is one for another index, the lines are compared once, when the index is opened; and if they are
//! out of order, they are sorted in memory. So no line is missed, and only speed is lost until the
//! next [`merge`](super::merge).

use std::borrow::BorrowMut;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::lines::{Lines, are_in_order, read_line, write_line};
use super::{IndexError, listed};
use crate::cdxj::CdxjLine;

/// An index that is looked things up in, as it was when it was opened.
pub struct Index {
    path: PathBuf,
    input: Box<dyn Input + Send>,
    length: u64,
}

/// Lines in order: the file, or a copy of it in memory.
trait Input: BufRead + Seek {}

impl<T: BufRead + Seek> Input for T {}

impl Index {
    /// Opens the file. One that is out of order takes as much memory as it is long.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        open(path).map_err(|source| IndexError::Io {
            path: path.to_owned(),
            source,
        })
    }

    /// All lines with that key, oldest first.
    pub fn captures(&mut self, key: &str) -> Result<Found<&mut Self>, IndexError> {
        self.beginning_with(&format!("{key} "))
    }

    /// All lines that begin with that text, such as all of a host: `org,example,data)/`.
    pub fn beginning_with(&mut self, prefix: &str) -> Result<Found<&mut Self>, IndexError> {
        self.seek_to(prefix.as_bytes())
            .map_err(|source| self.failed(source))?;
        Ok(Found {
            index: self,
            prefix: prefix.to_owned(),
            line: Vec::new(),
        })
    }

    /// All lines, in order.
    pub fn into_lines(mut self) -> Result<Found<Self>, IndexError> {
        self.input.rewind().map_err(|source| self.failed(source))?;
        Ok(Found {
            index: self,
            prefix: String::new(),
            line: Vec::new(),
        })
    }

    /// Goes to the first line that is not less than `target`.
    fn seek_to(&mut self, target: &[u8]) -> io::Result<()> {
        let mut line = Vec::new();
        // The line sought begins at `low` or later, and no later than the first line from `high` on.
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

    /// Goes to the first line that begins at `offset` or later, and returns where that is.
    fn seek_to_line_from(&mut self, offset: u64, scratch: &mut Vec<u8>) -> io::Result<u64> {
        // A line begins at `offset` if the byte before ends one.
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

fn open(path: &Path) -> io::Result<Index> {
    let is_sorted = listed::is_current(path)?;
    let mut file = File::open(path)?;
    let input: Box<dyn Input + Send> =
        if is_sorted || are_in_order(BufReader::with_capacity(CHUNK, &file))? {
            file.rewind()?;
            Box::new(BufReader::new(file))
        } else {
            Box::new(Cursor::new(sorted(path)?))
        };
    let mut index = Index {
        path: path.to_owned(),
        input,
        length: 0,
    };
    index.length = index.input.seek(SeekFrom::End(0))?;
    Ok(index)
}

/// What is read at a time of an index that is read from its beginning to its end, in bytes.
const CHUNK: usize = 64 * 1024;

fn sorted(path: &Path) -> io::Result<Vec<u8>> {
    let mut lines = Lines::open(path)?.collect::<io::Result<Vec<_>>>()?;
    lines.sort_unstable();
    lines.dedup();
    let mut text = Vec::new();
    lines
        .iter()
        .try_for_each(|line| write_line(&mut text, line))?;
    Ok(text)
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Lines that were found, read one by one.
pub struct Found<I> {
    index: I,
    prefix: String,
    line: Vec<u8>,
}

impl<I: BorrowMut<Index>> Iterator for Found<I> {
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
