//! Sorts the lines of many archive files in bounded memory.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use super::cursor::{LineCursor, MemoryCursor, MergedLines};
use super::error::IndexError;
use super::lines::{read_line, write_line};
use super::segment_draft::{Purpose, TEMPORARY_SUFFIX};
use crate::fs::{at, create, file, remove_if_there};

/// Bytes of lines in memory. More lines go into sorted temporary files.
pub(super) const CHUNK: usize = 32 * 1024 * 1024;

/// Lines in any order, which come back sorted.
pub(super) struct LineSorter {
    dir: PathBuf,
    chunk_size: usize,
    lines: BTreeSet<Vec<u8>>,
    bytes: usize,
    files: TemporaryFiles,
}

impl LineSorter {
    /// A sorter with temporary files in this directory, which has the lock of the index.
    pub(super) fn new(dir: &Path, chunk_size: usize) -> Self {
        Self {
            dir: dir.to_owned(),
            chunk_size,
            lines: BTreeSet::new(),
            bytes: 0,
            files: TemporaryFiles::default(),
        }
    }

    pub(super) fn add(&mut self, line: Vec<u8>) -> Result<(), IndexError> {
        self.bytes += line.len();
        self.lines.insert(line);
        if self.bytes >= self.chunk_size {
            self.end_chunk()?;
        }
        Ok(())
    }

    fn end_chunk(&mut self) -> Result<(), IndexError> {
        let number = self.files.0.len();
        let prefix = Purpose::Merged.prefix();
        let path = self
            .dir
            .join(format!("{prefix}-{number}{TEMPORARY_SUFFIX}"));
        self.files.0.push(path.clone());
        write_chunk(&path, &self.lines).map_err(at(&path))?;
        self.lines.clear();
        self.bytes = 0;
        Ok(())
    }

    /// All lines in order, and the temporary files, which must be kept until the lines are read.
    pub(super) fn finish(
        self,
    ) -> Result<(MergedLines<Box<dyn LineCursor>>, TemporaryFiles), IndexError> {
        let mut cursors: Vec<Box<dyn LineCursor>> = Vec::new();
        for path in &self.files.0 {
            cursors.push(Box::new(ChunkCursor::open(path)?));
        }
        cursors.push(Box::new(MemoryCursor::new(self.lines)));
        Ok((MergedLines::new(cursors), self.files))
    }
}

/// Temporary files, which are removed when the list is dropped.
#[derive(Default)]
pub(super) struct TemporaryFiles(Vec<PathBuf>);

impl Drop for TemporaryFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // The next update of the index removes what stays.
            let _ = remove_if_there(path);
        }
    }
}

fn write_chunk(path: &Path, lines: &BTreeSet<Vec<u8>>) -> io::Result<()> {
    let output = BufWriter::new(create(path)?);
    let mut output = BufWriter::new(GzEncoder::new(output, Compression::fast()));
    for line in lines {
        write_line(&mut output, line)?;
    }
    output.into_inner()?.finish()?.flush()
}

/// A cursor over the lines of a temporary file.
struct ChunkCursor {
    path: PathBuf,
    input: BufReader<GzDecoder<BufReader<File>>>,
    line: Vec<u8>,
    has_line: bool,
}

impl ChunkCursor {
    fn open(path: &Path) -> Result<Self, IndexError> {
        let file = file(path).open().map_err(at(path))?;
        let input = BufReader::new(GzDecoder::new(BufReader::new(file)));
        let mut cursor = Self {
            path: path.to_owned(),
            input,
            line: Vec::new(),
            has_line: false,
        };
        cursor.advance()?;
        Ok(cursor)
    }
}

impl LineCursor for ChunkCursor {
    fn line(&self) -> Option<&[u8]> {
        self.has_line.then_some(&self.line)
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        let read = read_line(&mut self.input, &mut self.line).map_err(at(&self.path))?;
        self.has_line = read > 0;
        Ok(())
    }

    fn position(&self) -> (&Path, u64) {
        (&self.path, 0)
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
            let (mut merged, files) = sorter.finish().expect("sorted");
            let mut found = Vec::new();
            while let Some((line, _)) = merged.next().expect("read") {
                found.push(String::from_utf8(line.to_vec()).expect("text"));
            }
            let expected: BTreeSet<String> = lines.into_iter().collect();
            prop_assert_eq!(found, Vec::from_iter(expected));
            drop(files);
            prop_assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 0);
        }
    }
}
