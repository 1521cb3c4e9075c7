//! Reads the lines of a segment, one block at a time.

use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

use super::cursor::{LineCursor, SeekCursor, seek_after};
use super::error::IndexError;
use super::lines::{MAX_LINE, read_line};
use super::zipnum::{BlockPosition, invalid};
use crate::files::names::{DATA_SUFFIX, IDX_SUFFIX};
use crate::files::{ArchiveInput, FileSource, is_index_file};
use crate::fs::at;

/// Limit of the compressed length of a block, in bytes.
const MAX_BLOCK: u64 = 16 * 1024 * 1024;

/// Bytes at the end of an `.idx` file that have its last line.
const MAX_IDX_LINE: u64 = MAX_LINE + 1024;

/// Cursors over the segments with lines among these files of an archive, the latest first. The cursors
/// must be moved before they are used. The errors are those of damaged segments.
pub(crate) fn cursors(
    source: &dyn FileSource,
    names: &[String],
) -> impl Iterator<Item = Result<SegmentCursor, IndexError>> {
    names
        .iter()
        .rev()
        .filter(|name| is_index_file(name))
        .filter_map(|name| name.strip_suffix(IDX_SUFFIX))
        .map(|name| {
            let [data, idx] = [DATA_SUFFIX, IDX_SUFFIX].map(|suffix| format!("{name}{suffix}"));
            let open = |name: &str| source.open_file(name).map_err(at(&source.path_of(name)));
            SegmentCursor::new(source.path_of(&data), open(&data)?, open(&idx)?)
        })
}

/// The lines of the block that is being read.
type BlockLines = BufReader<GzDecoder<Cursor<Vec<u8>>>>;

/// A cursor over the lines of a segment, which reads one block at a time.
pub(crate) struct SegmentCursor {
    path: PathBuf,
    data: Box<dyn ArchiveInput>,
    data_length: u64,
    /// The lines of `.idx`, from that of the next block on.
    idx: BufReader<Box<dyn ArchiveInput>>,
    idx_length: u64,
    block: Option<BlockLines>,
    /// The key of the block after the current one, and its position; `None` at the end.
    next_block: Option<(Vec<u8>, BlockPosition)>,
    block_offset: u64,
    line: Vec<u8>,
    has_line: bool,
}

impl SegmentCursor {
    /// A cursor, which must be moved before it is used. `path` is the data file, for messages.
    ///
    /// # Errors
    /// When a file cannot be read, or when the blocks do not end where the data ends.
    pub(crate) fn new(
        path: PathBuf,
        data: Box<dyn ArchiveInput>,
        idx: Box<dyn ArchiveInput>,
    ) -> Result<Self, IndexError> {
        let mut cursor = Self {
            path,
            data,
            data_length: 0,
            idx: BufReader::new(idx),
            idx_length: 0,
            block: None,
            next_block: None,
            block_offset: 0,
            line: Vec::new(),
            has_line: false,
        };
        cursor.compare_lengths().map_err(at(&cursor.path))?;
        Ok(cursor)
    }

    /// Whether the blocks end where the data ends.
    fn compare_lengths(&mut self) -> io::Result<()> {
        self.data_length = self.data.seek(SeekFrom::End(0))?;
        self.idx_length = self.idx.seek(SeekFrom::End(0))?;
        let tail = self.idx_length.saturating_sub(MAX_IDX_LINE.min(4096));
        if self.end_of_blocks(tail)? != Some(self.data_length) {
            let tail = self.idx_length.saturating_sub(MAX_IDX_LINE);
            if self.end_of_blocks(tail)? != Some(self.data_length) {
                return Err(invalid("its blocks do not end where the file ends"));
            }
        }
        Ok(())
    }

    /// The end of the last block, according to the end of `.idx` from this offset on.
    fn end_of_blocks(&mut self, from: u64) -> io::Result<Option<u64>> {
        self.idx.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        self.idx.read_to_end(&mut text)?;
        let Some(text) = text.strip_suffix(b"\n") else {
            return Ok(None);
        };
        let line = text
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        Ok(BlockPosition::parse(line).map(|(_, position)| position.offset + position.length))
    }

    /// Reads the next line of `.idx`.
    fn read_position(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        self.next_block = None;
        if read_line(&mut self.idx, &mut line)? > 0 {
            let (key, position) = BlockPosition::parse(&line)
                .ok_or_else(|| invalid("a line of its .idx file is damaged"))?;
            self.next_block = Some((key.to_owned(), position));
        }
        Ok(())
    }

    /// Begins the next block; false at the end.
    fn begin_block(&mut self) -> io::Result<bool> {
        let Some((_, position)) = &self.next_block else {
            return Ok(false);
        };
        let (offset, length) = (position.offset, position.length);
        if length > MAX_BLOCK || offset + length > self.data_length {
            return Err(invalid(
                "a block is longer than the file, or than is allowed",
            ));
        }
        self.data.seek(SeekFrom::Start(offset))?;
        let mut member = vec![0; usize::try_from(length).unwrap_or_default()];
        self.data.read_exact(&mut member)?;
        self.block = Some(BufReader::new(GzDecoder::new(Cursor::new(member))));
        self.block_offset = offset;
        Ok(true)
    }

    fn next_line(&mut self) -> io::Result<()> {
        loop {
            if let Some(block) = &mut self.block {
                let read = read_line(block, &mut self.line).map_err(damaged)?;
                if read > 0 && !self.line.is_empty() {
                    self.has_line = true;
                    return Ok(());
                } else if read > 0 {
                    continue;
                }
                self.block = None;
            }
            if !self.begin_block()? {
                self.has_line = false;
                return Ok(());
            }
            self.begin_lines()?;
            self.read_position()?;
        }
    }

    /// Compares the first line of the new block with its key.
    fn begin_lines(&mut self) -> io::Result<()> {
        let (Some(block), Some((key, _))) = (&mut self.block, &self.next_block) else {
            return Ok(());
        };
        let first = block.fill_buf().map_err(damaged)?;
        let first = &first[..first.len().min(key.len())];
        if key.starts_with(first) && !first.is_empty() {
            return Ok(());
        }
        Err(invalid("a block does not begin with its key"))
    }

    fn skip_lines_before(&mut self, target: &[u8]) -> io::Result<()> {
        while self.has_line && self.line.as_slice() < target {
            self.next_line()?;
        }
        Ok(())
    }

    fn seek_to(&mut self, target: &[u8]) -> io::Result<()> {
        // A key that begins the target may be that of a block with the target.
        let is_before = |line: &[u8]| {
            let key = line.split(|byte| *byte == b'\t').next().unwrap_or_default();
            key < target && !target.starts_with(key)
        };
        let last_before = seek_after(&mut self.idx, self.idx_length, is_before)?;
        self.idx.seek(SeekFrom::Start(last_before.unwrap_or(0)))?;
        self.block = None;
        self.read_position()?;
        self.next_line()?;
        self.skip_lines_before(target)
    }
}

/// An error of a block: bytes that are not gzip are damage too.
fn damaged(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            invalid(format!("a block is damaged: {error}"))
        }
        _ => error,
    }
}

impl LineCursor for SegmentCursor {
    fn line(&self) -> Option<&[u8]> {
        self.has_line.then_some(&self.line)
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        Ok(self.next_line().map_err(at(&self.path))?)
    }

    fn position(&self) -> (&Path, u64) {
        (&self.path, self.block_offset)
    }
}

impl SeekCursor for SegmentCursor {
    fn seek(&mut self, target: &[u8], is_forward: bool) -> Result<(), IndexError> {
        let next_key = self.next_block.as_ref().map(|(key, _)| key.as_slice());
        let moved = if is_forward && next_key.is_none_or(|key| key >= target) {
            self.skip_lines_before(target)
        } else {
            self.seek_to(target)
        };
        Ok(moved.map_err(at(&self.path))?)
    }
}
