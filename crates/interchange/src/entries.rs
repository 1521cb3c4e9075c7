//! The entries of a JSON document with a long list, one entry at a time, each with the lines of its values.
//!
//! Memory holds one entry, so the length of the document has no limit.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::controls::TextReader;
use crate::input::line_after;
use crate::model::{ListItem, Location, Notice, ReadError};

/// The size limit of an entry. Real ones have at most some ten thousand bytes. The values of an entry take up to
/// forty times its size in memory.
const MAX_ENTRY: usize = 1 << 20;

/// The position of the list in its document.
#[derive(Debug, Clone, Copy)]
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

/// A value of an entry.
#[derive(Debug)]
pub(crate) struct Value {
    /// The line in the file, from 1.
    line: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Null,
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
    /// A number or a boolean.
    Other,
}

impl Value {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Value]> {
        match &self.content {
            Content::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn object(&self) -> Option<&[(String, Value)]> {
        match &self.content {
            Content::Object(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn location(&self, file: &Arc<str>) -> Location {
        Location::line(file, self.line)
    }

    /// The item of a URL.
    pub(crate) fn item(&self, file: &Arc<str>) -> Result<ListItem, Notice> {
        let location = self.location(file);
        match self.text() {
            Some(url) => ListItem::new(location, url),
            None => Err(Notice::refused(location, "bad-value", "the URL is no text")),
        }
    }

    /// The value of a key of an object, unless it is null. The last of several counts.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        let mut fields = self.object()?.iter().rev();
        let (_, value) = fields.find(|(name, _)| name == key)?;
        (!matches!(value.content, Content::Null)).then_some(value)
    }
}

/// Passes each entry to `take`.
///
/// # Errors
/// [`ReadError::Malformed`] if the document is no JSON or has no list there, [`ReadError::Input`] if an entry is larger
/// than 1 MiB, and the errors of `take`.
pub(crate) fn read(
    mut input: impl BufRead,
    file: &Arc<str>,
    position: ListPosition,
    take: &mut dyn FnMut(&Value) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    // Some editors on Windows write a byte order mark.
    let start = input.fill_buf().map_err(ReadError::input(file))?;
    if start.starts_with("\u{feff}".as_bytes()) {
        input.consume("\u{feff}".len());
    }
    let progress = Progress {
        line: Cell::new(1),
        left: Cell::new(MAX_ENTRY),
    };
    let mut failure = None;
    let mut json = serde_json::Deserializer::from_reader(MeasuredReader {
        inner: TextReader::new(input),
        progress: &progress,
    });
    let document = Document {
        position,
        list: List {
            progress: &progress,
            take,
            failure: &mut failure,
        },
    };
    let read = json.deserialize_any(document).and_then(|()| json.end());
    match (failure, read) {
        (Some(failure), _) => Err(failure),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) if error.is_io() => Err(ReadError::input(file)(error.into())),
        (None, Err(error)) => Err(ReadError::Malformed {
            location: Location::line(file, error.line() as u64),
            message: error.to_string(),
        }),
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

/// The document, whose list is read entry by entry.
struct Document<'a> {
    position: ListPosition,
    list: List<'a>,
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.position)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, entries: A) -> Result<(), A::Error> {
        match self.position {
            ListPosition::Key(_) => Err(A::Error::custom(format!(
                "the file is not {}",
                self.position
            ))),
            ListPosition::Document => self.list.take_all(entries),
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let ListPosition::Key(wanted) = self.position else {
            let seed = ValueSeed(self.list.progress);
            let entry = seed.visit_map(fields)?;
            return self.list.take_one(&entry);
        };
        let mut is_found = false;
        while let Some(key) = fields.next_key::<String>()? {
            if key == wanted {
                is_found = true;
                fields.next_value_seed(&mut self.list)?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        if is_found {
            Ok(())
        } else {
            Err(A::Error::custom(format!(
                "the file is not {}",
                self.position
            )))
        }
    }
}

/// The list of entries.
struct List<'a> {
    progress: &'a Progress,
    take: &'a mut dyn FnMut(&Value) -> Result<(), ReadError>,
    /// The error of `take`, which a JSON error cannot hold.
    failure: &'a mut Option<ReadError>,
}

impl List<'_> {
    fn take_all<'de, A: SeqAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        loop {
            self.progress.left.set(MAX_ENTRY);
            let Some(entry) = entries.next_element_seed(ValueSeed(self.progress))? else {
                return Ok(());
            };
            self.take_one(&entry)?;
        }
    }

    fn take_one<E: serde::de::Error>(&mut self, entry: &Value) -> Result<(), E> {
        (self.take)(entry).map_err(|error| {
            *self.failure = Some(error);
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
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<(), A::Error> {
        self.take_all(entries)
    }
}

/// Reads a value with its line.
#[derive(Clone, Copy)]
struct ValueSeed<'a>(&'a Progress);

impl ValueSeed<'_> {
    /// The value at the byte that is read last: the first of a list or an object, the last of any other value.
    fn value(self, content: Content) -> Value {
        Value {
            line: self.0.line.get(),
            content,
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(self.value(Content::Null))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(self.value(Content::Other))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(self.value(Content::Other))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
        Ok(self.value(Content::Other))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(self.value(Content::Other))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(self.value(Content::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let list = self.value(Content::Null);
        let mut read = vec![];
        while let Some(item) = items.next_element_seed(self)? {
            read.push(item);
        }
        Ok(Value {
            content: Content::List(read),
            ..list
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let object = self.value(Content::Null);
        let mut read = vec![];
        while let Some(key) = fields.next_key()? {
            read.push((key, fields.next_value_seed(self)?));
        }
        Ok(Value {
            content: Content::Object(read),
            ..object
        })
    }
}
