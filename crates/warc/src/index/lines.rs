//! Reads and writes the lines of an index file.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use super::error::IndexError;
use crate::cdxj::CdxjLine;
use crate::fs::at;

/// Length limit of an index line, in bytes. The line of a 64 KiB URL is shorter, even with every byte
/// escaped in key and JSON.
pub(super) const MAX_LINE: u64 = 1024 * 1024;

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

/// The text of a line for the index in this directory.
pub(super) fn render(index_dir: &Path, line: &CdxjLine) -> Result<Vec<u8>, IndexError> {
    Ok(line.render().map_err(at(index_dir))?.into_bytes())
}

/// The archive file that an index line names; `None` for an invalid line.
pub(super) fn file_name_in(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    CdxjLine::parse(line).ok().map(|line| line.filename)
}

pub(super) fn write_line(output: &mut impl Write, line: &[u8]) -> io::Result<()> {
    output.write_all(line)?;
    output.write_all(b"\n")
}
