//! Reads a catalogue record by record.
//!
//! The document is read twice. The first pass refuses a document with a forbidden character, and
//! learns whether all lines end in LF alone. Neither pass keeps more than one record in memory, except
//! the IDs, which must be unique.

use std::collections::HashSet;
use std::io::{self, BufRead, Seek, SeekFrom};

use urldb_text::sanitize;

use super::field::{self, StandardField, is_allowed, is_name};
use super::record::{CatalogueRecord, Fault};

/// The longest line that is read or written, in bytes.
pub const MAX_LINE: usize = 1024 * 1024;

/// A fault of a catalogue, with its location.
///
/// A fault is about a foreign file, which the user need not correct; a finding is about the user's file. The
/// codes are those of the specification, some with the name of a field. In place of a severity there is the
/// consequence that the specification demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineFault {
    /// The line, from 1.
    pub line: u64,
    /// The kind of fault.
    pub fault: Fault,
    /// The treatment of the item, for people.
    pub message: String,
}

/// The reason why a document cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input failed.
    #[error(transparent)]
    Input(#[from] io::Error),
    /// The document has a character that no catalogue may have.
    #[error(
        "line {line} has the forbidden character {code}: the document was damaged on its way, or is no catalogue (SSD3 2.1.1, 5.2)"
    )]
    Forbidden {
        /// The line, from 1.
        line: u64,
        /// The decimal code of the byte.
        code: u8,
    },
}

/// Reads the records of one document.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// Whether all lines end in LF alone.
    is_bare: bool,
    /// Whether `is_bare` has been reported.
    is_reported: bool,
    /// The next line, from 1.
    line: u64,
    ids: HashSet<Box<str>>,
}

/// A line without its line break.
struct CatalogueLine {
    number: u64,
    /// `None` if the line is longer than [`MAX_LINE`].
    text: Option<String>,
}

impl<R: BufRead + Seek> Reader<R> {
    /// Checks every character of the document, which begins at the current position of `input`.
    ///
    /// # Errors
    /// [`Error::Input`], or [`Error::Forbidden`] if no catalogue may have one of the characters.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let start = input.stream_position()?;
        let (mut line, mut has_cr, mut has_lf) = (1, false, false);
        loop {
            let chunk = input.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            for byte in chunk {
                if !is_allowed(*byte) {
                    return Err(Error::Forbidden { line, code: *byte });
                }
                has_cr |= *byte == b'\r';
                if *byte == b'\n' {
                    has_lf = true;
                    line += 1;
                }
            }
            let length = chunk.len();
            input.consume(length);
        }
        input.seek(SeekFrom::Start(start))?;
        Ok(Self {
            input,
            is_bare: has_lf && !has_cr,
            is_reported: false,
            line: 1,
            ids: HashSet::new(),
        })
    }

    /// The next valid record with its first line, from 1; `None` at the end. `tell` is called for each
    /// field and record that is discarded.
    ///
    /// # Errors
    /// If the input fails.
    pub fn next_record(
        &mut self,
        tell: &mut dyn FnMut(LineFault),
    ) -> io::Result<Option<(u64, CatalogueRecord)>> {
        if self.is_bare && !self.is_reported {
            let message = "lines end in LF, not CRLF; read as if they did".to_owned();
            tell(LineFault {
                line: 1,
                fault: Fault::BareLf,
                message,
            });
        }
        self.is_reported = true;
        let mut builder = RecordBuilder::default();
        loop {
            let line = self.next_line()?;
            let ends = line
                .as_ref()
                .is_none_or(|line| line.text.as_deref() == Some(""));
            match line {
                Some(line) if !ends => builder.take(&line, tell),
                _ if builder.start.is_some() => {
                    if let Some(done) = builder.finish(&mut self.ids, tell) {
                        return Ok(Some(done));
                    }
                    builder = RecordBuilder::default();
                }
                _ => {}
            }
            if ends && self.input.fill_buf()?.is_empty() {
                return Ok(None);
            }
        }
    }

    fn next_line(&mut self) -> io::Result<Option<CatalogueLine>> {
        let number = self.line;
        let (mut bytes, mut length, mut last) = (Vec::new(), 0, 0);
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk, |at| chunk.get(..=at).unwrap_or(chunk));
            let before = match taken {
                [.., before, b'\n'] => *before,
                _ => last,
            };
            last = taken.last().copied().unwrap_or(last);
            length += taken.len();
            let room = (MAX_LINE + 2).saturating_sub(bytes.len()).min(taken.len());
            bytes.extend_from_slice(taken.get(..room).unwrap_or_default());
            let consumed = taken.len();
            self.input.consume(consumed);
            if end.is_some() {
                self.line += 1;
                if self.is_bare || before == b'\r' {
                    break;
                }
            }
        }
        if length == 0 {
            return Ok(None);
        }
        let ending: &[u8] = if self.is_bare { b"\n" } else { b"\r\n" };
        let text = bytes.strip_suffix(ending).unwrap_or(&bytes);
        let is_whole = length == bytes.len() && text.len() <= MAX_LINE;
        let text = is_whole.then(|| String::from_utf8_lossy(text).into_owned());
        Ok(Some(CatalogueLine { number, text }))
    }
}

/// The part of a record that has been read so far.
#[derive(Default)]
struct RecordBuilder {
    record: CatalogueRecord,
    /// The first line of the record.
    start: Option<u64>,
    /// The name of a required field with two different values.
    conflicting: Option<String>,
}

impl RecordBuilder {
    fn take(&mut self, line: &CatalogueLine, tell: &mut dyn FnMut(LineFault)) {
        self.start.get_or_insert(line.number);
        let text = line.text.as_deref();
        if let Err(fault) = text.ok_or(Fault::TooLong).and_then(|text| self.field(text)) {
            let message = discarded(fault, text.unwrap_or_default());
            tell(LineFault {
                line: line.number,
                fault,
                message,
            });
        }
    }

    fn field(&mut self, text: &str) -> Result<(), Fault> {
        if text.contains(['\r', '\n']) {
            return Err(Fault::StrayBreak);
        }
        let (name, rest) = text
            .split_once(':')
            .map_or((text, None), |(name, rest)| (name, Some(rest)));
        if !is_name(name) {
            return Err(Fault::Name);
        }
        let value = rest
            .and_then(|rest| rest.strip_prefix(' '))
            .ok_or(Fault::Separator)?;
        let pushed = self.record.push(name, value);
        if pushed == Err(Fault::Duplicate) && self.record.get(name) != Some(value) {
            let is_required = StandardField::find(name).is_some_and(|field| field.is_required);
            if is_required {
                self.conflicting.get_or_insert_with(|| name.to_owned());
            }
        }
        pushed
    }

    fn finish(
        mut self,
        ids: &mut HashSet<Box<str>>,
        tell: &mut dyn FnMut(LineFault),
    ) -> Option<(u64, CatalogueRecord)> {
        let line = self.start?;
        let missing = self
            .record
            .missing()
            .map(|field| format!("it has no good {}", field.name));
        let conflicting = self
            .conflicting
            .map(|name| format!("it has two different values of {name}"));
        if let Some(why) = missing.or(conflicting) {
            let message = format!("the record is discarded: {why}");
            tell(LineFault {
                line,
                fault: Fault::RecordDiscarded,
                message,
            });
            return None;
        }
        let id = self.record.get("ID").and_then(field::number);
        if let Some(id) = id.map(Box::from)
            && !ids.insert(id)
        {
            let id = self.record.remove("ID").unwrap_or_default();
            let message = format!("the field is discarded: an earlier record has the ID {id}");
            tell(LineFault {
                line,
                fault: Fault::DuplicateId,
                message,
            });
        }
        if self.record.get("DESCRIPTION").is_none() {
            let message = "a description is recommended".to_owned();
            tell(LineFault {
                line,
                fault: Fault::RecommendedMissing,
                message,
            });
        }
        Some((line, self.record))
    }
}

/// The message for a discarded field.
fn discarded(fault: Fault, text: &str) -> String {
    let name = text.split(':').next().unwrap_or_default();
    let why = match fault {
        Fault::StrayBreak => "it has a CR or LF that is not part of a CRLF".to_owned(),
        Fault::Name => "its name has other characters than letters, digits, `-` and `_`".to_owned(),
        Fault::Separator => "a colon and a space must follow its name".to_owned(),
        Fault::Empty => format!("{name} has no value"),
        Fault::TooLong => format!("its line is longer than {MAX_LINE} bytes"),
        Fault::Value(field) => format!("{} must be {}", field.name, field.wanted),
        Fault::Unrecognised => {
            format!("there is no field {name}; extensions begin with X-")
        }
        Fault::Duplicate => format!("the record has a {name} already"),
        other => other.to_string(),
    };
    let why: String = sanitize(&why).chars().take(200).collect();
    format!("the field is discarded: {why}")
}
