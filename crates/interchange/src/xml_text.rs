//! The texts of an XML document, element by element, within limits. A document type is refused, and so are all entities
//! but the five of XML.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};

use crate::input::{LineBreaks, read_document};
use crate::model::ReadError;

/// The depth limit of elements; the formats need four levels, their extensions a few more.
const MAX_DEPTH: usize = 32;

/// The length limit of the text of an element, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// An element.
pub(crate) struct Element {
    /// The name without its prefix.
    pub(crate) name: String,
    pub(crate) tag: BytesStart<'static>,
    /// The line of its start, from 1.
    pub(crate) line: u64,
    /// The text, without blanks around it and without that of inner elements.
    pub(crate) text: String,
    /// The bytes of the text in the file, if they are the text.
    pub(crate) place: Option<Range<u64>>,
}

impl Element {
    fn new(tag: &BytesStart<'_>, line: u64) -> Self {
        Self {
            name: tag.local_name().as_ref().to_owned(),
            tag: tag.to_owned(),
            line,
            text: String::new(),
            place: None,
        }
    }

    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let found = self.tag.try_get_attribute(name).ok()?;
        Some(found?.value.into_owned())
    }

    /// Takes the text of an event at an offset; false for an entity that is not one of XML's own.
    fn take(&mut self, event: &Event<'_>, offset: u64) -> bool {
        match event {
            Event::Text(text) => self.add(&text.xml10_content(), Some((offset, text))),
            Event::CData(text) => self.add(&text.xml10_content(), None),
            Event::GeneralRef(reference) => {
                let text = reference
                    .resolve_char_ref()
                    .ok()
                    .flatten()
                    .map(String::from)
                    .or_else(|| resolve_xml_entity(reference).map(str::to_owned));
                let Some(text) = text else {
                    return false;
                };
                self.add(&text, None);
            }
            _ => {}
        }
        true
    }

    /// Adds text. `piece` is a piece of the file and its offset, unless its bytes are others.
    fn add(&mut self, text: &str, piece: Option<(u64, &str)>) {
        let whole = text.trim();
        self.place = piece
            .filter(|(_, piece)| self.text.is_empty() && piece.trim() == whole)
            .map(|(offset, piece)| {
                let blanks = piece.len() - piece.trim_start().len();
                let start = offset + blanks as u64;
                start..start + whole.len() as u64
            });
        // A control character in place of too long text is no URL, no number and no digest.
        let is_long = self.text.len() + text.len() > MAX_TEXT;
        self.text.push_str(if is_long { "\u{7f}" } else { text });
    }
}

/// Receives the elements around an element whose end is read, the root first, and the element.
type Take<'a> = dyn FnMut(&[Element], Element) -> Result<(), ReadError> + 'a;

/// Reads a document of at most `most` bytes; `kind` is its name in messages, such as `sitemap`.
///
/// # Errors
/// [`ReadError::Malformed`] with the line of the first mistake, also if `input` fails; and the errors of `take`.
pub(crate) fn read(
    input: impl Read,
    most: u64,
    file: &Arc<str>,
    kind: &str,
    take: &mut Take<'_>,
) -> Result<(), ReadError> {
    let text = read_document(input, most, file)?;
    let breaks = LineBreaks::of(text.as_bytes());
    let content = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mark = text.len() - content.len();
    let mut reader = Reader::from_str(content);
    let (mut open, mut has_root): (Vec<Element>, bool) = (vec![], false);
    loop {
        let start = mark as u64 + reader.buffer_position();
        let line = breaks.line(usize::try_from(start).unwrap_or(usize::MAX));
        let malformed = |message: String| ReadError::malformed(file, line, message);
        let event = reader
            .read_event()
            .map_err(|error| malformed(format!("this is not XML as a {kind} has it: {error}")))?;
        let refused = |why: &str| Err(malformed(why.to_owned()));
        if let Event::Start(tag) | Event::Empty(tag) = &event {
            if has_root && open.is_empty() {
                return refused("there is more than one root element");
            } else if open.len() + 1 >= MAX_DEPTH {
                return refused("elements are nested too deeply");
            }
            has_root = true;
            open.push(Element::new(tag, line));
        }
        if let Event::End(_) | Event::Empty(_) = &event
            && let Some(mut element) = open.pop()
        {
            element.text = element.text.trim().into();
            take(&open, element)?;
            continue;
        }
        match (&event, open.last_mut()) {
            (Event::DocType(_), _) => {
                let why = "has no document type; entities are not expanded";
                return Err(malformed(format!("a {kind} {why}")));
            }
            (Event::Eof, Some(_)) => return refused("the file ends before its elements do"),
            (Event::Eof, None) if has_root => return Ok(()),
            (Event::Eof, None) => {
                return Err(malformed(format!("this is no {kind}: it has no element")));
            }
            (event, Some(element)) => {
                if !element.take(event, start) {
                    return refused("the entity is not one of XML's own");
                }
            }
            (_, None) => {}
        }
    }
}
