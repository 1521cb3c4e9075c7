//! The index in one plain file, `index.cdxj`, as older versions wrote it.
//!
//! A merge in git can leave such a file out of order. Its lines are then sorted in memory for lookups.
//! The next update converts the file into a segment.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Cursor, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use urldb_files::Limit;

use super::cursor::{LineCursor, SeekCursor, seek_after};
use super::error::{IndexError, at};
use super::lines::{IndexLines, are_in_order, read_line, write_line};
use crate::cdxj::CdxjLine;
use crate::file::file_name_of;
use crate::fs::{file, replace};
use crate::source::FileSource;

/// The name of a plain index in the directory of an archive.
pub const INDEX_FILE_NAME: &str = "index.cdxj";

/// The list of indexed files beside a plain index, of older versions.
pub(super) const LIST_FILE_NAME: &str = ".indexed";

/// The largest index out of order that is read: its lines are in memory.
const LARGEST_UNSORTED: Limit = Limit::mib(256);

/// Buffer size for reading an index from beginning to end, in bytes.
const CHUNK: usize = 64 * 1024;

/// The lines in order: the file, or a sorted copy in memory.
trait SortedInput: BufRead + Seek {}

impl<T: BufRead + Seek> SortedInput for T {}

/// A cursor over a plain index.
pub(super) struct PlainCursor {
    path: PathBuf,
    input: Box<dyn SortedInput + Send>,
    length: u64,
    line: Vec<u8>,
    has_line: bool,
}

impl PlainCursor {
    /// A cursor at the first line. An index out of order takes as much memory as its length, and has a
    /// limit.
    pub(super) fn open(source: &dyn FileSource) -> Result<Self, IndexError> {
        let path = source.path_of(INDEX_FILE_NAME);
        let (input, length) = open_sorted(source).map_err(at(&path))?;
        let mut cursor = Self {
            path,
            input,
            length,
            line: Vec::new(),
            has_line: false,
        };
        cursor.seek(b"")?;
        Ok(cursor)
    }
}

impl LineCursor for PlainCursor {
    fn line(&self) -> Option<&[u8]> {
        self.has_line.then_some(&self.line)
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        loop {
            let read = read_line(&mut self.input, &mut self.line).map_err(at(&self.path))?;
            self.has_line = read > 0;
            if read == 0 || !self.line.is_empty() {
                return Ok(());
            }
        }
    }

    fn position(&self) -> (&Path, u64) {
        (&self.path, 0)
    }
}

impl SeekCursor for PlainCursor {
    fn seek(&mut self, target: &[u8]) -> Result<(), IndexError> {
        seek_after(&mut self.input, self.length, |line| line < target).map_err(at(&self.path))?;
        self.advance()
    }
}

fn open_sorted(source: &dyn FileSource) -> io::Result<(Box<dyn SortedInput + Send>, u64)> {
    let open = || source.open_file(INDEX_FILE_NAME);
    let mut file = BufReader::with_capacity(CHUNK, open()?);
    let is_sorted = are_in_order(&mut file)?;
    let mut input: Box<dyn SortedInput + Send> = if is_sorted {
        Box::new(file)
    } else {
        LARGEST_UNSORTED.check(file.seek(SeekFrom::End(0))?)?;
        Box::new(Cursor::new(read_sorted(IndexLines::new(open()?))?))
    };
    let length = input.seek(SeekFrom::End(0))?;
    Ok((input, length))
}

fn read_sorted(lines: IndexLines) -> io::Result<Vec<u8>> {
    let mut lines = lines.collect::<io::Result<Vec<_>>>()?;
    lines.sort_unstable();
    lines.dedup();
    let mut text = Vec::new();
    lines
        .iter()
        .try_for_each(|line| write_line(&mut text, line))?;
    Ok(text)
}

/// The files that the lines of a plain index name. Empty if there is no index.
pub(super) fn file_names(index: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for line in IndexLines::open(index)? {
        if let Some(name) = file_name_in(&line?)
            && !names.contains(&name)
        {
            names.insert(name);
        }
    }
    Ok(names)
}

/// The archive file that an index line names; `None` for an invalid line.
pub(super) fn file_name_in(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    CdxjLine::parse(line).ok().map(|line| line.filename)
}

/// Removes the lines of a file from a plain index, if the index exists. The caller holds the lock of the
/// directory.
pub(super) fn remove_file_lines(index: &Path, removed: &Path) -> io::Result<()> {
    if file(index).kind().is_none() {
        return Ok(());
    }
    let name = file_name_of(removed);
    replace(index, |output| {
        for line in IndexLines::open(index)? {
            let line = line?;
            if file_name_in(&line).as_ref() != Some(&name) {
                write_line(output, &line)?;
            }
        }
        Ok(())
    })
}
