//! Compressed blocks of index lines (`ZipNum`), which a binary search can find.
//!
//! The sorted lines of an index are cut into blocks, and each block is a gzip member of the data file.
//! A second file (`.idx`) has one line for each block, with the key and timestamp of the block's first
//! line and the position of its gzip member. Programs that read such indexes know two forms of these
//! lines ([`IdxDialect`]).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::digest::{DigestAlgorithm, DigestHasher};

/// Lines of a block. More lines compress a little better; fewer lines make a lookup faster.
const BLOCK_LINES: usize = 300;

/// Length from which a block is full, in bytes before compression.
const BLOCK_BYTES: usize = 256 * 1024;

/// Limit of the number of blocks that are compressed at the same time, and so of the memory.
const MAX_THREADS: usize = 8;

/// The form of the lines of an `.idx` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdxDialect {
    /// `KEY TIMESTAMP⇥PART⇥OFFSET⇥LENGTH⇥NUMBER`, which pywb and the tools of Common Crawl read. A
    /// `.loc` file says which data file `PART` is.
    Tab {
        /// The name of the data file in the `.loc` file.
        part: String,
    },
    /// `KEY TIMESTAMP {"offset":…,"length":…,"digest":…}` after a line that names the data file, as in
    /// WACZ 1.1.1. The digest is that of the gzip member.
    Json {
        /// The name of the data file.
        filename: String,
    },
}

/// Writes sorted lines in compressed blocks. Each processor compresses a block.
///
/// ```
/// use urldb_warc::index::{IdxDialect, ZipNumWriter};
///
/// let dialect = IdxDialect::Tab { part: "cdxj".to_owned() };
/// let mut writer = ZipNumWriter::new(Vec::new(), Vec::new(), dialect)?;
/// writer.add(b"org,example)/ 20261120060000 {}")?;
/// let (data, idx) = writer.finish()?;
/// assert_eq!(idx, format!("org,example)/ 20261120060000\tcdxj\t0\t{}\t1\n", data.len()).into_bytes());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ZipNumWriter<D, I> {
    data: D,
    idx: I,
    dialect: IdxDialect,
    block: Vec<u8>,
    lines: usize,
    /// The blocks that are being compressed, in order, and the limit of their number.
    pending: VecDeque<PendingBlock>,
    max_pending: usize,
    /// The last line that was added.
    last: Vec<u8>,
    /// The number of finished blocks, and their length in bytes.
    blocks: u64,
    offset: u64,
}

impl<D: Write, I: Write> ZipNumWriter<D, I> {
    /// A writer of blocks to `data`, and of their positions to `idx`.
    ///
    /// # Errors
    /// Those of `idx`.
    pub fn new(data: D, mut idx: I, dialect: IdxDialect) -> io::Result<Self> {
        if let IdxDialect::Json { filename } = &dialect {
            let filename = serde_json::Value::from(filename.as_str());
            let format = r#""format":"cdxj-gzip-1.0""#;
            writeln!(idx, r#"!meta 0 {{{format},"filename":{filename}}}"#)?;
        }
        Ok(Self {
            data,
            idx,
            dialect,
            block: Vec::new(),
            lines: 0,
            pending: VecDeque::new(),
            max_pending: thread::available_parallelism()
                .map_or(1, NonZero::get)
                .min(MAX_THREADS),
            last: Vec::new(),
            blocks: 0,
            offset: 0,
        })
    }

    /// Adds a line, without a line end. A line that is equal to the last one is left out.
    ///
    /// # Errors
    /// Those of the outputs, and `InvalidData` for a line that is less than the last one or is not of the
    /// form `KEY TIMESTAMP …`.
    pub fn add(&mut self, line: &[u8]) -> io::Result<()> {
        if line <= self.last.as_slice() {
            if line == self.last {
                return Ok(());
            }
            return Err(invalid("the lines of an index are out of order"));
        }
        let key = key_and_timestamp(line);
        if !key.is_some_and(|key| key.iter().all(|byte| *byte >= b' ')) || line.contains(&b'\n') {
            return Err(invalid("a line of an index has no key and timestamp"));
        }
        if self.lines >= BLOCK_LINES || self.block.len() >= BLOCK_BYTES {
            self.end_block()?;
        }
        self.block.extend(line);
        self.block.push(b'\n');
        self.lines += 1;
        self.last.clear();
        self.last.extend(line);
        Ok(())
    }

    /// Writes the last block, and returns the outputs.
    ///
    /// # Errors
    /// Those of the outputs.
    pub fn finish(mut self) -> io::Result<(D, I)> {
        while let Some(pending) = self.pending.pop_front() {
            self.write_pending(pending)?;
        }
        let last = std::mem::take(&mut self.block);
        if !last.is_empty() {
            self.write_block(&last, &compress(&last)?)?;
        }
        self.data.flush()?;
        self.idx.flush()?;
        Ok((self.data, self.idx))
    }

    /// Begins to compress the current block.
    fn end_block(&mut self) -> io::Result<()> {
        let block = std::mem::take(&mut self.block);
        self.lines = 0;
        self.pending.push_back(PendingBlock::start(block));
        if self.pending.len() >= self.max_pending
            && let Some(pending) = self.pending.pop_front()
        {
            self.write_pending(pending)?;
        }
        Ok(())
    }

    fn write_pending(&mut self, pending: PendingBlock) -> io::Result<()> {
        let block = Arc::clone(&pending.block);
        self.write_block(&block, &pending.member()?)
    }

    /// Writes a block, compressed as `member`.
    fn write_block(&mut self, block: &[u8], member: &[u8]) -> io::Result<()> {
        let Some(key) = key_and_timestamp(block) else {
            return Ok(());
        };
        self.data.write_all(member)?;
        let (offset, length) = (self.offset, member.len() as u64);
        self.offset += length;
        self.blocks += 1;
        self.idx.write_all(key)?;
        match &self.dialect {
            IdxDialect::Tab { part } => {
                let number = self.blocks;
                writeln!(self.idx, "\t{part}\t{offset}\t{length}\t{number}")?;
            }
            IdxDialect::Json { .. } => {
                let mut hasher = DigestHasher::new(DigestAlgorithm::Sha256);
                hasher.update(member);
                let digest = hasher.finish();
                let position = format!(r#""offset":{offset},"length":{length}"#);
                writeln!(self.idx, r#" {{{position},"digest":"{digest}"}}"#)?;
            }
        }
        Ok(())
    }
}

/// A block that a thread compresses.
#[derive(Debug)]
struct PendingBlock {
    block: Arc<Vec<u8>>,
    /// `None` if the system has no thread left.
    thread: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl PendingBlock {
    fn start(block: Vec<u8>) -> Self {
        let block = Arc::new(block);
        let shared = Arc::clone(&block);
        let thread = thread::Builder::new().spawn(move || compress(&shared));
        Self {
            block,
            thread: thread.ok(),
        }
    }

    /// The compressed block.
    fn member(self) -> io::Result<Vec<u8>> {
        match self.thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => compress(&self.block),
        }
    }
}

fn compress(block: &[u8]) -> io::Result<Vec<u8>> {
    let mut member = GzEncoder::new(Vec::new(), Compression::default());
    member.write_all(block)?;
    member.finish()
}

pub(super) fn key_and_timestamp(line: &[u8]) -> Option<&[u8]> {
    let mut blanks = memchr::memchr_iter(b' ', line);
    let (key, end) = (blanks.next()?, blanks.next()?);
    (key > 0).then(|| &line[..end])
}

/// The position of a block, from a line of an `.idx` file in the tab dialect.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BlockPosition {
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl BlockPosition {
    /// Reads a line of an `.idx` file: the key with the timestamp, and the position.
    pub(super) fn parse(line: &[u8]) -> Option<(&[u8], Self)> {
        let mut fields = line.split(|byte| *byte == b'\t');
        let (key, _part) = (fields.next()?, fields.next()?);
        let mut number = || {
            std::str::from_utf8(fields.next()?)
                .ok()?
                .parse::<u64>()
                .ok()
        };
        let (offset, length) = (number()?, number()?);
        offset.checked_add(length)?;
        Some((key, Self { offset, length }))
    }
}

/// An error about the content of an index.
pub(super) fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}
