//! The entries of a JSON document with a long list, one entry at a time.
//!
//! Memory holds the text of one entry, so the length of the document has no limit.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde::Deserialize as _;
use serde::de::{
    DeserializeSeed, Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::controls::TextReader;
use crate::input::line_after;
use crate::json_text::{JsonText, Value, malformed};
use crate::model::ReadError;

/// The size limit of an entry. Real ones have at most some ten thousand bytes.
const MAX_ENTRY: usize = 1 << 20;

/// The position of the list in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListPosition {
    /// The list is the value of this key of the document.
    Key(&'static str),
    /// The list is the document. A document that is an object is the only entry.
    Document,
}

impl fmt::Display for ListPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "an object with the list `{key}`"),
            Self::Document => f.write_str("a list of objects"),
        }
    }
}

/// Receives entries.
type Take<'a> = dyn FnMut(Value<'_>) -> Result<(), ReadError> + 'a;

/// Passes each entry to `take`.
///
/// # Errors
/// [`ReadError::Malformed`] if the document is no JSON or has no list there, [`ReadError::Input`] if an entry is larger
/// than 1 MiB, and the errors of `take`.
pub(crate) fn read(
    mut input: impl BufRead,
    file: &Arc<str>,
    position: ListPosition,
    take: &mut Take<'_>,
) -> Result<(), ReadError> {
    let start = input.fill_buf().map_err(ReadError::input(file))?;
    if start.starts_with("\u{feff}".as_bytes()) {
        input.consume("\u{feff}".len());
    }
    let start = input.fill_buf().map_err(ReadError::input(file))?;
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_entry = position == ListPosition::Document && first == Some(&b'{');
    let progress = Progress {
        line: Cell::new(1),
        left: Cell::new(MAX_ENTRY),
    };
    let mut json = serde_json::Deserializer::from_reader(MeasuredReader {
        inner: TextReader::new(input),
        progress: &progress,
    });
    let mut list = List {
        position,
        progress: &progress,
        take,
        failure: None,
    };
    let read = if is_entry {
        Box::deserialize(&mut json).and_then(|entry: Box<RawValue>| list.take_one(&entry))
    } else {
        json.deserialize_any(&mut list)
    };
    let read = read.and_then(|()| json.end());
    match (list.failure, read) {
        (Some(failure), _) => Err(failure),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) if error.is_io() => Err(ReadError::input(file)(error.into())),
        (None, Err(error)) => Err(malformed(file, &error)),
    }
}

/// The progress of a reader.
struct Progress {
    /// The line of the last byte, from 1.
    line: Cell<u64>,
    /// The bytes that the entry may still have.
    left: Cell<usize>,
}

/// Counts lines, and fails when an entry is too large.
struct MeasuredReader<'a, R> {
    inner: R,
    progress: &'a Progress,
}

impl<R: Read> Read for MeasuredReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.progress.left.get();
        if left == 0 {
            let limit = MAX_ENTRY >> 20;
            return Err(io::Error::other(format!(
                "an entry has more than {limit} MiB, which is the limit"
            )));
        }
        let length = buffer.len().min(left);
        let read = self.inner.read(&mut buffer[..length])?;
        self.progress.left.set(left - read);
        let breaks = line_after(buffer[..read].iter()) - 1;
        self.progress.line.set(self.progress.line.get() + breaks);
        Ok(read)
    }
}

/// The list of entries, or the document around it.
struct List<'a> {
    position: ListPosition,
    progress: &'a Progress,
    take: &'a mut Take<'a>,
    /// The error of `take`, which a JSON error cannot hold.
    failure: Option<ReadError>,
}

impl List<'_> {
    /// Takes an entry that ends at the byte that is read last.
    fn take_one<E: serde::de::Error>(&mut self, entry: &RawValue) -> Result<(), E> {
        let breaks = line_after(entry.get().as_bytes().iter()) - 1;
        let line = self.progress.line.get().saturating_sub(breaks);
        let text = JsonText::of_part(entry.get(), line);
        (self.take)(text.whole()).map_err(|error| {
            self.failure = Some(error);
            E::custom("the entry is not taken")
        })
    }
}

impl<'de> DeserializeSeed<'de> for &mut List<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.position)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        if let ListPosition::Key(_) = self.position {
            let message = format!("the file is not {}", self.position);
            return Err(A::Error::custom(message));
        }
        loop {
            self.progress.left.set(MAX_ENTRY);
            let Some(entry) = entries.next_element::<Box<RawValue>>()? else {
                return Ok(());
            };
            self.take_one(&entry)?;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let position = std::mem::replace(&mut self.position, ListPosition::Document);
        let mut is_found = false;
        while let Some(key) = fields.next_key::<String>()? {
            if matches!(position, ListPosition::Key(wanted) if wanted == key) {
                is_found = true;
                fields.next_value_seed(&mut *self)?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        if is_found {
            return Ok(());
        }
        let message = format!("the file is not {position}");
        Err(A::Error::custom(message))
    }
}
