//! Finds lines by their key, by binary search in the file: no more of it is read than is needed.
//!
//! The index has to be in order. One that a merge in git has put out of order is put in order by the
//! next [`merge`](super::merge); until then a lookup may miss lines.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::IndexError;
use super::lines::read_line;
use crate::cdxj::CdxjLine;

/// An index that is looked things up in.
pub struct Index {
    path: PathBuf,
    input: BufReader<File>,
    length: u64,
}

impl Index {
    /// Opens the file.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        let failed = |source| IndexError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(Self {
            path: path.to_owned(),
            input: BufReader::new(file),
            length,
        })
    }

    /// All lines with that key, oldest first.
    pub fn captures(&mut self, key: &str) -> Result<Found<'_>, IndexError> {
        self.beginning_with(&format!("{key} "))
    }

    /// All lines that begin with that text, such as all of a host: `org,example,data)/`.
    pub fn beginning_with(&mut self, prefix: &str) -> Result<Found<'_>, IndexError> {
        self.seek_to(prefix.as_bytes())
            .map_err(|source| self.failed(source))?;
        Ok(Found {
            index: self,
            prefix: prefix.to_owned(),
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

/// Lines that were found, read one by one.
pub struct Found<'a> {
    index: &'a mut Index,
    prefix: String,
    line: Vec<u8>,
}

impl Iterator for Found<'_> {
    type Item = Result<CdxjLine, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match read_line(&mut self.index.input, &mut self.line) {
                Err(error) => return Some(Err(self.index.failed(error))),
                Ok(0) => return None,
                Ok(_) if self.line.is_empty() => {}
                Ok(_) if !self.line.starts_with(self.prefix.as_bytes()) => return None,
                Ok(_) => break,
            }
        }
        let line = CdxjLine::parse(&String::from_utf8_lossy(&self.line));
        Some(line.map_err(|source| IndexError::Line {
            path: self.index.path.clone(),
            source,
        }))
    }
}
