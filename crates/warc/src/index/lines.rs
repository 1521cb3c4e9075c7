//! Reads and writes the lines of an index file.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use crate::fs::file;

/// Length limit of an index line, in bytes. The line of a 64 KiB URL is shorter, even with every byte
/// escaped in key and JSON.
pub(super) const MAX_LINE: u64 = 1024 * 1024;

/// The lines of an index, without line ends and without empty lines. A missing file has no lines.
pub(crate) struct IndexLines(Option<BufReader<Box<dyn Read>>>);

impl IndexLines {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match file(path).open() {
            Ok(file) => Ok(Self::new(Box::new(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn new(input: Box<dyn Read>) -> Self {
        Self(Some(BufReader::with_capacity(64 * 1024, input)))
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(input) = &mut self.0 else {
            return Ok(None);
        };
        let mut line = Vec::new();
        while read_line(input, &mut line)? > 0 {
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

impl Iterator for IndexLines {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose()
    }
}

/// Reads a line into `line`, without its end, and returns the number of bytes read; 0 at the end.
pub(super) fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let read = input.take(MAX_LINE).read_until(b'\n', line)? as u64;
    if line.pop_if(|last| *last == b'\n').is_none() && read >= MAX_LINE {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a line is too long for an index",
        ));
    }
    Ok(read)
}

/// Whether the lines are sorted as bytes and without duplicates.
pub(super) fn are_in_order(mut input: impl BufRead) -> io::Result<bool> {
    let (mut last, mut line) = (Vec::new(), Vec::new());
    while read_line(&mut input, &mut line)? > 0 {
        if line.is_empty() {
            continue;
        }
        if line <= last {
            return Ok(false);
        }
        std::mem::swap(&mut last, &mut line);
    }
    Ok(true)
}

pub(super) fn write_line(output: &mut impl Write, line: &[u8]) -> io::Result<()> {
    output.write_all(line)?;
    output.write_all(b"\n")
}
