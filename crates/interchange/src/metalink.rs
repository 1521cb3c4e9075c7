//! Metalink 4 (RFC 5854): files with their mirrors, lengths and digests.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use urldb_format::Algorithm;

use crate::digest::{self, Unknown};
use crate::file_events::Digests;
use crate::input::{LineBreaks, read_document};
use crate::model::{ListItem, Location, Notice, NoticeSeverity, ReadError, Sink};
use crate::sums::notice;

mod writer;

pub use writer::Writer;

/// The size limit of a file, in which an export describes some 50,000 files.
const MAX_FILE: u64 = 16 << 20;

/// The length limit of the text of an element, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Most URLs of one `file`, which are in memory until its end.
const MAX_MIRRORS: usize = 100_000;

/// The depth limit of elements; the format needs four levels, its extensions a few more.
const MAX_DEPTH: usize = 32;

/// The namespace of version 3.
const OLD_NAMESPACE: &str = "http://www.metalinker.org/";

/// Reads each `url` of each `file`, with its `size` and the digests of its `hash` elements (RFC 5854, sections 4.1.2 and
/// 4.2).
///
/// Left out are links to other descriptions of a file (`metaurl`), and digests of other algorithms (`algorithm`). Those of
/// pieces are not digests of the file, and are ignored.
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no XML, has a document type, is no Metalink, is one of version 3, or
/// has more than 100,000 URLs of one `file`;
/// [`ReadError::Input`] if it is larger than 16 MiB.
pub fn read(input: impl Read, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let text = read_document(input, MAX_FILE, file)?;
    let xml = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut parser = Reader::from_str(xml);
    let mut metalink = Metalink {
        xml,
        start: text.len() - xml.len(),
        breaks: LineBreaks::of(xml),
        name: file,
        sink,
        depth: 0,
        has_root: false,
        file: None,
        open: None,
    };
    loop {
        let event = parser.read_event().map_err(|error| {
            let offset = usize::try_from(parser.error_position()).unwrap_or(usize::MAX);
            let message = format!("this is not XML as a Metalink has it: {error}");
            metalink.malformed(offset, message)
        })?;
        if matches!(event, Event::Eof) {
            return metalink.finish();
        }
        metalink.take(&event)?;
    }
}

/// The meaning of an element of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Url,
    Size,
    /// The digest of this algorithm.
    Hash(String),
}

/// An element whose end is not read yet.
struct OpenElement {
    kind: Kind,
    /// The offset of the element.
    offset: usize,
    text: String,
    /// The place of the text, if it is one piece of the file.
    place: Option<Range<usize>>,
}

/// A `file` whose end is not read yet.
#[derive(Default)]
struct OpenFile {
    /// The offset of each URL, and the URL.
    urls: Vec<(usize, String)>,
    length: Option<(u64, Option<Range<u64>>)>,
    digests: Digests,
    is_refused: bool,
}

impl OpenFile {
    fn set_length(
        &mut self,
        text: &str,
        place: Option<Range<u64>>,
        location: Location,
    ) -> Result<(), Notice> {
        let length = text.parse().map_err(|_| {
            let message = "the size is no number of bytes";
            Notice::refused(location, "bad-length", message)
        })?;
        self.length = Some((length, place));
        Ok(())
    }

    /// Adds the digest of an algorithm, which has its name in the registry of IANA, such as `sha-256`.
    fn add_digest(
        &mut self,
        name: &str,
        text: &str,
        place: Option<Range<u64>>,
        location: Location,
    ) -> Result<(), Notice> {
        let algorithm = Algorithm::from_name(name);
        let algorithm = algorithm.ok_or_else(|| Unknown::Algorithm(name.to_owned()));
        let found = algorithm.and_then(|algorithm| digest::parse(text, Some(algorithm)));
        let digest = found.map_err(|unknown| notice(location.clone(), &unknown))?;
        let algorithm = digest.algorithm();
        let mut known = self.digests.iter();
        match known.find(|(known, _)| known.algorithm() == algorithm) {
            Some((known, _)) if *known != digest => {
                let message = format!("the file has two values for {algorithm}");
                return Err(Notice::refused(location, "contradiction", message));
            }
            Some(_) => {}
            None => self.digests.push((digest, place)),
        }
        Ok(())
    }
}

struct Metalink<'a, 'b> {
    xml: &'a str,
    /// The length of the byte order mark before `xml`.
    start: usize,
    breaks: LineBreaks<'a>,
    name: &'a Arc<str>,
    sink: &'a mut Sink<'b>,
    depth: usize,
    has_root: bool,
    file: Option<OpenFile>,
    open: Option<OpenElement>,
}

impl Metalink<'_, '_> {
    fn take(&mut self, event: &Event<'_>) -> Result<(), ReadError> {
        match event {
            Event::DocType(kind) => {
                let message = "a Metalink has no document type; entities are not expanded";
                return Err(self.malformed(self.offset(kind), message));
            }
            Event::Start(element) => self.enter(element)?,
            Event::Empty(element) => {
                self.enter(element)?;
                self.leave()?;
            }
            Event::End(_) => self.leave()?,
            Event::Text(text) => {
                let offset = self.offset(text);
                let place = offset..offset + text.len();
                self.add(&text.xml10_content(), Some(place));
            }
            Event::CData(text) => self.add(&text.xml10_content(), None),
            Event::GeneralRef(reference) if self.open.is_some() => {
                let char = reference.resolve_char_ref().ok().flatten();
                let named = quick_xml::escape::resolve_xml_entity(reference);
                match (char, named) {
                    (Some(char), _) => self.add(char.encode_utf8(&mut [0; 4]), None),
                    (None, Some(text)) => self.add(text, None),
                    (None, None) => {
                        let message = "the entity is not one of XML's own";
                        return Err(self.malformed(self.offset(reference), message));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn enter(&mut self, element: &BytesStart<'_>) -> Result<(), ReadError> {
        self.depth += 1;
        let offset = self.offset(element);
        let local = element.local_name();
        let name: &str = local.as_ref();
        match (self.depth, name) {
            (1, _) if self.has_root => {
                return Err(self.malformed(offset, "there is more than one root element"));
            }
            (1, _) => {
                self.has_root = true;
                self.check_root(element, offset)?;
            }
            (2, "file") => self.file = Some(OpenFile::default()),
            (3, "metaurl") if self.file.is_some() => {
                let message = "the link leads to another description of the file";
                let notice = Notice::left_out(self.location(offset), "metaurl", message);
                (self.sink)(notice.into())?;
            }
            (3, "url" | "size" | "hash") if self.file.is_some() => {
                let kind = match name {
                    "url" => Kind::Url,
                    "size" => Kind::Size,
                    _ => Kind::Hash(attribute(element, "type").unwrap_or_default()),
                };
                self.open = Some(OpenElement {
                    kind,
                    offset,
                    text: String::new(),
                    place: None,
                });
            }
            (MAX_DEPTH.., _) => {
                return Err(self.malformed(offset, "elements are nested too deeply"));
            }
            _ => {}
        }
        Ok(())
    }

    fn check_root(&self, element: &BytesStart<'_>, offset: usize) -> Result<(), ReadError> {
        let local = element.local_name();
        let name: &str = local.as_ref();
        if name != "metalink" {
            return Err(self.malformed(offset, "this is no Metalink: its root is no `metalink`"));
        }
        let is_old = attribute(element, "version").is_some_and(|it| it.starts_with('3'))
            || (**element).contains(OLD_NAMESPACE);
        if is_old {
            let message = "this is a Metalink of version 3; convert it to version 4 (RFC 5854)";
            return Err(self.malformed(offset, message));
        }
        Ok(())
    }

    /// Adds text to the open element. `place` is that of the text, if the file has it as it is.
    fn add(&mut self, text: &str, place: Option<Range<usize>>) {
        if let Some(open) = &mut self.open {
            // A control character in place of too long text is no URL, no number and no digest.
            let is_long = open.text.len() + text.len() > MAX_TEXT;
            let text = match is_long {
                true if open.text.ends_with('\u{7f}') => "",
                true => "\u{7f}",
                false => text,
            };
            open.place = place.filter(|_| open.text.is_empty());
            open.text.push_str(text);
        }
    }

    fn leave(&mut self) -> Result<(), ReadError> {
        let depth = self.depth;
        self.depth = depth.saturating_sub(1);
        if let Some(open) = self.open.take_if(|_| depth == 3) {
            self.value(open)?;
        }
        if depth == 2
            && let Some(file) = self.file.take()
        {
            self.file(file)?;
        }
        Ok(())
    }

    /// The value of an element of a file.
    fn value(&mut self, element: OpenElement) -> Result<(), ReadError> {
        let text = element.text.trim();
        let piece = element.place.and_then(|place| self.xml.get(place));
        let piece = piece.map(str::trim).filter(|piece| *piece == text);
        let place = piece.map(|piece| {
            let from = (self.start + self.offset(piece)) as u64;
            from..from + piece.len() as u64
        });
        let location = Location::line(self.name, self.breaks.line(element.offset));
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if file.urls.len() == MAX_MIRRORS {
            let message = format!("a file has more than {MAX_MIRRORS} URLs");
            return Err(self.malformed(element.offset, message));
        }
        let refused = match element.kind {
            Kind::Url => {
                file.urls.push((element.offset, text.to_owned()));
                None
            }
            Kind::Size => file.set_length(text, place, location).err(),
            Kind::Hash(name) => file.add_digest(&name, text, place, location).err(),
        };
        if let Some(notice) = refused {
            file.is_refused |= notice.severity == NoticeSeverity::Refused;
            (self.sink)(notice.into())?;
        }
        Ok(())
    }

    /// The items of a file.
    fn file(&mut self, file: OpenFile) -> Result<(), ReadError> {
        if file.is_refused {
            return Ok(());
        }
        for (offset, url) in file.urls {
            let item = ListItem::new(self.location(offset), &url).map(|mut item| {
                if let Some((length, place)) = &file.length {
                    item.set_length(*length, place.clone());
                }
                item.with_digests(&file.digests)
            });
            (self.sink)(item.into())?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), ReadError> {
        let end = self.xml.len();
        if self.depth > 0 {
            Err(self.malformed(end, "the file ends before its elements do"))
        } else if !self.has_root {
            Err(self.malformed(end, "this is no Metalink: it has no element"))
        } else {
            Ok(())
        }
    }

    /// The offset of a part of the XML.
    fn offset(&self, part: &str) -> usize {
        part.as_ptr().addr().wrapping_sub(self.xml.as_ptr().addr())
    }

    fn location(&self, offset: usize) -> Location {
        Location::line(self.name, self.breaks.line(offset))
    }

    fn malformed(&self, offset: usize, message: impl Into<String>) -> ReadError {
        ReadError::Malformed {
            location: self.location(offset),
            message: message.into(),
        }
    }
}

/// The value of an attribute.
fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = element.attributes().filter_map(Result::ok);
    let found = attributes.find(|attribute| {
        let key: &str = attribute.key.as_ref();
        key == name
    });
    Some(found?.value.into_owned())
}
