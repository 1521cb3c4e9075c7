//! The lines of an index on disk, one after another.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// The longest line that is taken from an index, in bytes. A URL of 64 KiB, every byte of it escaped
/// in key and JSON, is shorter.
pub(super) const MAX_LINE: u64 = 1024 * 1024;

/// The lines of an index that may not exist, without line ends and without empty ones.
pub(crate) struct Lines(Option<BufReader<File>>);

impl Lines {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match File::open(path) {
            Ok(file) => Ok(Self(Some(BufReader::with_capacity(64 * 1024, file)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self(None)),
            Err(error) => Err(error),
        }
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

impl Iterator for Lines {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose()
    }
}

/// Reads a line into `line`, without its end, and returns how many bytes it took; 0 at the end.
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

/// Whether the lines are sorted as bytes, and none is there twice.
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
