//! Sorts lines in bounded memory.

use std::collections::BTreeSet;
use std::io::{self, BufReader, BufWriter, IntoInnerError, Seek};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use tempfile::SpooledTempFile;

use super::cursor::{LineCursor, MergedLines};
use super::error::IndexError;
use super::lines::{read_line, write_line};
use crate::fs::at;

/// Bytes of lines in memory. More lines go into sorted temporary files without a name.
pub(super) const RUN: usize = 16 * 1024 * 1024;

/// Lines in any order, which come back sorted.
pub(super) struct LineSorter {
    dir: PathBuf,
    run_size: usize,
    lines: BTreeSet<Vec<u8>>,
    bytes: usize,
    runs: Vec<SpooledTempFile>,
}

impl LineSorter {
    /// A sorter with temporary files in this directory, which must exist once there are many lines.
    pub(super) fn new(dir: &Path, run_size: usize) -> Self {
        Self {
            dir: dir.to_owned(),
            run_size,
            lines: BTreeSet::new(),
            bytes: 0,
            runs: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.runs.is_empty()
    }

    pub(super) fn add(&mut self, line: Vec<u8>) -> Result<(), IndexError> {
        self.bytes += line.len();
        self.lines.insert(line);
        if self.bytes >= self.run_size {
            self.end_run(0)?;
        }
        Ok(())
    }

    /// Ends the lines in memory. A run of at most so many bytes stays there, compressed.
    fn end_run(&mut self, in_memory: usize) -> Result<(), IndexError> {
        let write = || -> io::Result<SpooledTempFile> {
            let file = SpooledTempFile::new_in(in_memory, &self.dir);
            // Buffered, since the encoder clears its own buffer at each write.
            let mut output = BufWriter::new(GzEncoder::new(file, Compression::fast()));
            for line in &self.lines {
                write_line(&mut output, line)?;
            }
            let mut file = output
                .into_inner()
                .map_err(IntoInnerError::into_error)?
                .finish()?;
            file.rewind()?;
            Ok(file)
        };
        self.runs.push(write().map_err(at(&self.dir))?);
        self.lines.clear();
        self.bytes = 0;
        Ok(())
    }

    /// All lines in order.
    pub(super) fn finish(mut self) -> Result<MergedLines<RunCursor>, IndexError> {
        self.end_run(self.run_size)?;
        let mut cursors = Vec::new();
        for run in self.runs {
            let mut cursor = RunCursor {
                dir: self.dir.clone(),
                input: BufReader::new(GzDecoder::new(BufReader::new(run))),
                line: Vec::new(),
                has_line: false,
            };
            cursor.advance()?;
            cursors.push(cursor);
        }
        Ok(MergedLines::new(cursors))
    }
}

/// A cursor over the lines of a temporary file.
pub(super) struct RunCursor {
    dir: PathBuf,
    input: BufReader<GzDecoder<BufReader<SpooledTempFile>>>,
    line: Vec<u8>,
    has_line: bool,
}

impl LineCursor for RunCursor {
    fn line(&self) -> Option<&[u8]> {
        self.has_line.then_some(&self.line)
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        let read = read_line(&mut self.input, &mut self.line).map_err(at(&self.dir))?;
        self.has_line = read > 0;
        Ok(())
    }

    fn position(&self) -> (&Path, u64) {
        (&self.dir, 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_come_back_sorted(lines in prop::collection::vec("[a-c]{1,4}", 0..60), size in 1..40usize) {
            let dir = tempfile::tempdir().expect("a directory");
            let mut sorter = LineSorter::new(dir.path(), size);
            for line in &lines {
                sorter.add(line.clone().into_bytes()).expect("added");
            }
            prop_assert_eq!(sorter.is_empty(), lines.is_empty());
            let mut merged = sorter.finish().expect("sorted");
            let mut found = Vec::new();
            while let Some((line, _)) = merged.next().expect("read") {
                found.push(String::from_utf8(line.to_vec()).expect("text"));
            }
            let expected: BTreeSet<String> = lines.into_iter().collect();
            prop_assert_eq!(found, Vec::from_iter(expected));
            prop_assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 0);
        }
    }
}
