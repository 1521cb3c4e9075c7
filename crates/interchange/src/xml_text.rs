//! The texts of an XML document, element by element, within limits. A document type is refused, and so are all entities
//! but the five of XML.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::controls::{ControlCharacter, TextReader};
use crate::input::LimitedReader;
use crate::model::ReadError;

/// The depth limit of elements; the formats need four levels, their extensions a few more.
const MAX_DEPTH: usize = 32;

/// The length limit of the text of an element, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Receives the elements of a document.
pub(crate) trait Elements {
    /// The document in messages: `a sitemap`.
    const NAME: &'static str;

    /// The message about a document without an element.
    const EMPTY: &'static str;

    /// Begins an element, and returns whether its text is wanted.
    fn enter(&mut self, element: &Element<'_>) -> Result<bool, ReadError>;

    /// Ends an element of this depth, whose text was wanted or not.
    fn leave(&mut self, depth: usize, text: Option<ElementText>) -> Result<(), ReadError>;
}

/// The start of an element.
pub(crate) struct Element<'e> {
    /// The number of open elements, with this one.
    pub(crate) depth: usize,
    /// The name without its prefix.
    pub(crate) name: &'e str,
    pub(crate) tag: &'e BytesStart<'e>,
    /// The line, from 1.
    pub(crate) line: u64,
    /// Whether the element is written as one tag.
    pub(crate) is_empty: bool,
}

/// The text of an element, without blanks around it.
#[derive(Default)]
pub(crate) struct ElementText {
    pub(crate) text: String,
    /// The bytes in the file, if they are the text.
    pub(crate) place: Option<Range<u64>>,
}

/// Reads a document of at most `most` bytes.
///
/// # Errors
/// [`ReadError::Malformed`] with the line of the first mistake, also if `input` fails; and the errors of `elements`.
pub(crate) fn read<E: Elements>(
    mut input: impl BufRead,
    most: u64,
    file: &Arc<str>,
    elements: &mut E,
) -> Result<(), ReadError> {
    let start = input.fill_buf().map_err(ReadError::input(file))?;
    let mark = "\u{feff}".len() * usize::from(start.starts_with("\u{feff}".as_bytes()));
    input.consume(mark);
    let mut reader = Reader::from_reader(LineCounter {
        inner: BufReader::new(TextReader::new(LimitedReader::new(input, most))),
        line: 1,
    });
    let mut buffer = vec![];
    let mut document = Document {
        elements,
        depth: 0,
        has_root: false,
        text: None,
    };
    loop {
        buffer.clear();
        let (line, start) = (reader.get_ref().line, reader.buffer_position());
        let event = reader.read_event_into(&mut buffer).map_err(|error| {
            if let quick_xml::Error::Io(error) = &error
                && let Some(found) = ControlCharacter::of(error)
            {
                return ReadError::input(file)(io::Error::other(found));
            }
            let message = format!("this is not XML as {} has it: {error}", E::NAME);
            ReadError::malformed(file, line, message)
        })?;
        let is_end = matches!(event, Event::Eof);
        let taken = if is_end {
            document.finish()
        } else {
            document.take(&event, line, mark as u64 + start)
        };
        taken.map_err(|failure| match failure {
            Failure::Malformed(message) => ReadError::malformed(file, line, message),
            Failure::Read(error) => error,
        })?;
        if is_end {
            return Ok(());
        }
    }
}

/// The reason why a document is not read on.
enum Failure {
    Malformed(String),
    Read(ReadError),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::Malformed(message.to_owned())
    }
}

/// The state of a document.
struct Document<'a, E> {
    elements: &'a mut E,
    /// The number of open elements.
    depth: usize,
    has_root: bool,
    /// The depth and the text of the open element whose text is wanted.
    text: Option<(usize, ElementText)>,
}

impl<E: Elements> Document<'_, E> {
    /// Follows an event, which begins at this line and offset.
    fn take(&mut self, event: &Event<'_>, line: u64, offset: u64) -> Result<(), Failure> {
        match event {
            Event::DocType(_) => {
                let name = E::NAME;
                let message = format!("{name} has no document type; entities are not expanded");
                return Err(Failure::Malformed(message));
            }
            Event::Start(tag) => self.enter(tag, line, false)?,
            Event::Empty(tag) => {
                self.enter(tag, line, true)?;
                self.leave()?;
            }
            Event::End(_) => self.leave()?,
            Event::Text(text) => self.add(&text.xml10_content(), Some((offset, text))),
            Event::CData(text) => self.add(&text.xml10_content(), None),
            Event::GeneralRef(reference) if self.text.is_some() => {
                let char = reference.resolve_char_ref().ok().flatten();
                let named = quick_xml::escape::resolve_xml_entity(reference);
                match (char, named) {
                    (Some(char), _) => self.add(char.encode_utf8(&mut [0; 4]), None),
                    (None, Some(text)) => self.add(text, None),
                    (None, None) => return Err("the entity is not one of XML's own".into()),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn enter(&mut self, tag: &BytesStart<'_>, line: u64, is_empty: bool) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth == 1 && self.has_root {
            return Err("there is more than one root element".into());
        }
        if self.depth >= MAX_DEPTH {
            return Err("elements are nested too deeply".into());
        }
        self.has_root = true;
        let is_wanted = self.elements.enter(&Element {
            depth: self.depth,
            name: tag.local_name().as_ref(),
            tag,
            line,
            is_empty,
        })?;
        if is_wanted {
            self.text = Some((self.depth, ElementText::default()));
        }
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Failure> {
        let depth = self.depth;
        self.depth = depth.saturating_sub(1);
        let text = self.text.take_if(|(start, _)| *start == depth);
        let text = text.map(|(_, text)| ElementText {
            text: text.text.trim().to_owned(),
            ..text
        });
        Ok(self.elements.leave(depth, text)?)
    }

    /// Adds text to the open element. `piece` is a piece of the file and its offset, unless its bytes are others.
    fn add(&mut self, text: &str, piece: Option<(u64, &str)>) {
        let Some((_, open)) = &mut self.text else {
            return;
        };
        let whole = text.trim();
        open.place = piece
            .filter(|(_, piece)| open.text.is_empty() && piece.trim() == whole)
            .map(|(offset, piece)| {
                let blanks = piece.len() - piece.trim_start().len();
                let start = offset + blanks as u64;
                start..start + whole.len() as u64
            });
        // A control character in place of too long text is no URL, no number and no digest.
        let is_long = open.text.len() + text.len() > MAX_TEXT;
        let text = match is_long {
            true if open.text.ends_with('\u{7f}') => "",
            true => "\u{7f}",
            false => text,
        };
        open.text.push_str(text);
    }

    fn finish(&self) -> Result<(), Failure> {
        if !self.has_root {
            Err(E::EMPTY.into())
        } else if self.depth > 0 {
            Err("the file ends before its elements do".into())
        } else {
            Ok(())
        }
    }
}

/// Counts the lines of the consumed input.
struct LineCounter<R> {
    inner: R,
    line: u64,
}

impl<R: BufRead> Read for LineCounter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for LineCounter<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        // The buffer is still filled, so this call reads nothing.
        if let Ok(chunk) = self.inner.fill_buf() {
            let breaks = chunk.iter().take(amount).filter(|byte| **byte == b'\n');
            self.line += breaks.count() as u64;
        }
        self.inner.consume(amount);
    }
}
