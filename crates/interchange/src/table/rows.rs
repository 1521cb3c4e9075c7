//! The rows of a table, with the places of their cells.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};

use crate::input::line_after;

/// The size limit of a row, in bytes: a quote that is never closed would extend to the end of file.
const MAX_ROW: usize = 1 << 24;

/// The most cells of a row. A cell takes several times its size in memory.
const MAX_CELLS: usize = 1 << 16;

/// A cell.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) text: String,
    /// The bytes of the text in the file, if they are the text.
    range: Option<Range<u64>>,
}

impl Cell {
    /// The bytes of the text in the file.
    pub(super) fn span(&self) -> Option<Range<u64>> {
        self.range.clone()
    }

    /// The text without blanks around it, and its bytes; `None` if only blanks are there.
    pub(super) fn trimmed(&self) -> Option<(&str, Option<Range<u64>>)> {
        let text = self.text.trim();
        let before = self.text.len() - self.text.trim_start().len();
        let span = self.range.as_ref().map(|range| {
            let start = range.start + before as u64;
            start..start + text.len() as u64
        });
        (!text.is_empty()).then_some((text, span))
    }
}

/// A row.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The line in the file, from 1.
    pub(super) line: u64,
    pub(super) cells: Vec<Cell>,
}

/// Reads the rows of a table.
pub(super) struct Rows<R> {
    input: R,
    csv: Reader,
    /// The offset of the next byte.
    offset: u64,
    /// The line of the next byte.
    line: u64,
    is_end: bool,
}

impl<R: BufRead> Rows<R> {
    pub(super) fn new(input: R, delimiter: u8) -> Self {
        Self {
            input,
            // Rows end in LF only: CR before it is removed here.
            csv: ReaderBuilder::new()
                .delimiter(delimiter)
                .terminator(Terminator::Any(b'\n'))
                .build(),
            offset: 0,
            line: 1,
            is_end: false,
        }
    }

    /// Reads the next row that is not empty; false at the end.
    ///
    /// # Errors
    /// If the input fails, a row is too long, or its text is not UTF-8.
    pub(super) fn next(&mut self, row: &mut Row) -> io::Result<bool> {
        row.cells.clear();
        row.line = self.line;
        let mut length = 0;
        while !self.is_end {
            let mut field = Field::default();
            let is_row_end = self.field(&mut field, &mut length)?;
            let Some(is_row_end) = is_row_end else {
                break;
            };
            if row.cells.is_empty() {
                // Empty lines before the row.
                let empty = field.raw.iter().take_while(|byte| **byte == b'\n').count();
                row.line += empty as u64;
            }
            if row.cells.len() == MAX_CELLS {
                return Err(io::Error::other(format!(
                    "the row has more than {MAX_CELLS} cells"
                )));
            }
            row.cells.push(field.cell(is_row_end)?);
            if is_row_end {
                return Ok(true);
            }
        }
        Ok(!row.cells.is_empty())
    }

    /// Reads a field. Returns whether it ends a row; `None` at the end of the input.
    fn field(&mut self, field: &mut Field, length: &mut usize) -> io::Result<Option<bool>> {
        field.offset = self.offset;
        let mut buffer = [0; 4096];
        loop {
            let chunk = self.input.fill_buf()?;
            let (result, read, written) = self.csv.read_field(chunk, &mut buffer);
            let consumed = chunk.get(..read).unwrap_or_default();
            field.raw.extend(consumed);
            field.text.extend(buffer.iter().take(written));
            self.line += line_after(consumed.iter()) - 1;
            self.offset += read as u64;
            self.input.consume(read);
            *length += read;
            if *length > MAX_ROW {
                let most = MAX_ROW >> 20;
                return Err(io::Error::other(format!(
                    "the row has more than {most} MiB"
                )));
            }
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end } => return Ok(Some(record_end)),
                ReadFieldResult::End => {
                    self.is_end = true;
                    return Ok(None);
                }
            }
        }
    }
}

/// A field in the file.
#[derive(Default)]
struct Field {
    offset: u64,
    /// Its bytes with quotes and the separator.
    raw: Vec<u8>,
    text: Vec<u8>,
}

impl Field {
    fn cell(self, is_row_end: bool) -> io::Result<Cell> {
        let mut text =
            String::from_utf8(self.text).map_err(|_| io::Error::other("the row is not UTF-8"))?;
        if is_row_end && text.ends_with('\r') {
            text.pop();
        }
        let empty = self.raw.iter().take_while(|byte| **byte == b'\n').count();
        let raw = self.raw.get(empty..).unwrap_or_default();
        let mark: &[u8] = if self.offset == 0 {
            "\u{feff}".as_bytes()
        } else {
            b""
        };
        let raw = raw.strip_prefix(mark).unwrap_or(raw);
        let quoted = raw.strip_prefix(b"\"");
        let inner = quoted.unwrap_or(raw);
        let start = self.offset + (self.raw.len() - inner.len()) as u64;
        let behind = inner.strip_prefix(text.as_bytes());
        // A quote in quotes is written twice.
        let range = behind
            .is_some_and(|behind| match quoted {
                Some(_) => behind.starts_with(b"\"") && !text.contains('"'),
                None => true,
            })
            .then(|| start..start + text.len() as u64);
        Ok(Cell { text, range })
    }
}

/// Reads the first line that is not empty, to its end or up to the size of a row.
pub(super) fn first_line(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = vec![];
    let mut limited = input.take(MAX_ROW as u64);
    while limited.read_until(b'\n', &mut line)? > 0 {
        if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
            break;
        }
    }
    Ok(line)
}
