//! Opens files for the readers: decompresses gzip and xz within a [`Budget`], and splits the text into lines.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use urldb_files::RootFile;

use crate::budget::Budget;
use crate::controls::control_in;
use crate::model::ReadError;

/// The size limit of a decompressed capture, in bytes.
pub(crate) const MAX_UNPACKED: u64 = 4 << 30;

/// The limit of the memory that xz takes, in KiB: `xz -9` needs 64 MiB for what it may repeat, and little more.
const MAX_XZ_MEMORY: u32 = 65 << 10;

/// The first bytes of gzip and of xz.
const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = b"\xfd7zXZ\0";

/// The length limit of a line, in bytes. Index lines with long URLs are shorter.
pub const MAX_LINE: usize = 1 << 20;

/// Opens a regular file, and decompresses it if it is gzip or xz.
///
/// # Errors
/// If the file is not a regular file or cannot be read. Reading fails as that of [`unpacked`].
pub fn open(file: &RootFile, budget: &Budget) -> io::Result<Box<dyn BufRead>> {
    unpacked(BufReader::new(file.open()?), budget)
}

/// Decompresses `input` if it is gzip or xz.
///
/// # Errors
/// If `input` fails. Reading fails once the budget is spent, and if xz needs more than 65 MiB.
pub fn unpacked(
    mut input: impl BufRead + 'static,
    budget: &Budget,
) -> io::Result<Box<dyn BufRead>> {
    let start = input.fill_buf()?;
    let unpacked: Box<dyn Read> = if start.starts_with(GZIP) {
        Box::new(MultiGzDecoder::new(input))
    } else if start.starts_with(XZ) {
        Box::new(XzReader::new_mem_limit(input, true, MAX_XZ_MEMORY))
    } else {
        Box::new(input)
    };
    let unpacked = budget.reader(unpacked);
    Ok(Box::new(BufReader::with_capacity(64 * 1024, unpacked)))
}

/// Whether `input` is compressed. Consumes nothing.
///
/// # Errors
/// If `input` fails.
pub fn is_packed(input: &mut impl BufRead) -> io::Result<bool> {
    let start = input.fill_buf()?;
    Ok(start.starts_with(GZIP) || start.starts_with(XZ))
}

/// Reads a document of at most `most` bytes to its end.
pub(crate) fn read_document(
    input: impl Read,
    most: u64,
    file: &Arc<str>,
) -> Result<String, ReadError> {
    let mut bytes = vec![];
    LimitedReader::new(input, most)
        .read_to_end(&mut bytes)
        .map_err(ReadError::input(file))?;
    if let Some(found) = control_in(&bytes) {
        return Err(ReadError::malformed(file, found.line, found.message()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let start = error
            .as_bytes()
            .iter()
            .take(error.utf8_error().valid_up_to());
        ReadError::malformed(file, line_after(start), "the file is not UTF-8")
    })
}

/// The number of the line after these bytes of a file.
pub(crate) fn line_after<'a>(bytes: impl Iterator<Item = &'a u8>) -> u64 {
    let breaks = bytes.filter(|byte| **byte == b'\n').count();
    1 + breaks as u64
}

/// The bytes of a block of [`LineBreaks`].
const BLOCK: usize = 256;

/// The line breaks of a text. Memory holds a number for each block.
pub(crate) struct LineBreaks<'a> {
    text: &'a [u8],
    /// The number of breaks before each block.
    before: Vec<u64>,
}

impl<'a> LineBreaks<'a> {
    pub(crate) fn of(text: &'a [u8]) -> Self {
        let mut all = 0;
        let before = text.chunks(BLOCK).map(|block| {
            let before = all;
            all += line_after(block.iter()) - 1;
            before
        });
        Self {
            before: before.collect(),
            text,
        }
    }

    /// The line of the byte at this offset, from 1.
    pub(crate) fn line(&self, offset: usize) -> u64 {
        let block = offset.min(self.text.len().saturating_sub(1)) / BLOCK;
        let before = self.before.get(block).copied().unwrap_or_default();
        let rest = self.text.iter().take(offset).skip(block * BLOCK);
        before + line_after(rest)
    }
}

/// A reader that fails after a number of bytes.
#[derive(Debug)]
pub(crate) struct LimitedReader<R> {
    inner: R,
    left: u64,
    most: u64,
}

impl<R> LimitedReader<R> {
    pub(crate) fn new(inner: R, most: u64) -> Self {
        Self {
            inner,
            left: most,
            most,
        }
    }
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let (most, unit) = match self.most {
                most if most < 1 << 20 => (most >> 10, "KiB"),
                most => (most >> 20, "MiB"),
            };
            io::Error::other(format!(
                "it has more than {most} {unit} in one piece, which is the limit"
            ))
        })?;
        Ok(read)
    }
}

/// Reads the lines of an input, one at a time.
#[derive(Debug)]
pub struct LineReader<R> {
    input: R,
    number: u64,
    /// The bytes that are consumed.
    consumed: u64,
    bytes: Vec<u8>,
}

/// A line without its line break.
#[derive(Debug)]
pub struct InputLine<'a> {
    /// The line number, from 1.
    pub number: u64,
    /// The offset of its first byte.
    pub offset: u64,
    /// The text; `Err` says why the line cannot be read.
    pub text: Result<&'a str, &'static str>,
}

impl<R: BufRead> LineReader<R> {
    /// A reader before the first line.
    pub fn new(input: R) -> Self {
        Self {
            input,
            number: 0,
            consumed: 0,
            bytes: vec![],
        }
    }

    /// The next line. Lines beyond [`MAX_LINE`] are skipped without being kept in memory.
    ///
    /// # Errors
    /// If the input fails.
    pub fn next_line(&mut self) -> io::Result<Option<InputLine<'_>>> {
        self.bytes.clear();
        let mut is_long = false;
        let mut has_begun = false;
        let offset = self.consumed;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            has_begun = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(chunk.len());
            is_long |= self.bytes.len() + length > MAX_LINE;
            if !is_long {
                self.bytes.extend(chunk.iter().take(length));
            }
            let consumed = length + usize::from(end.is_some());
            self.input.consume(consumed);
            self.consumed += consumed as u64;
            if end.is_some() {
                break;
            }
        }
        if !has_begun {
            return Ok(None);
        }
        self.number += 1;
        self.bytes.pop_if(|last| *last == b'\r');
        let text = if is_long {
            Err("the line is longer than a mebibyte")
        } else if let Some(found) = control_in(&self.bytes) {
            Err(found.message())
        } else {
            std::str::from_utf8(&self.bytes).map_err(|_| "the line is not UTF-8")
        };
        Ok(Some(InputLine {
            number: self.number,
            offset,
            text,
        }))
    }
}
