//! Metalink 4 (RFC 5854): files with their mirrors, lengths and digests.

use std::io::BufRead;
use std::ops::Range;
use std::sync::Arc;

use quick_xml::events::BytesStart;
use urldb_format::Algorithm;

use crate::digest::{self, Unknown, notice};
use crate::file_events::{Digests, FileEvents};
use crate::model::{ListItem, Location, Notice, NoticeSeverity, ReadError, Sink};
use crate::xml_text::{self, Element, ElementText, Elements};

/// The size limit of a file, which can describe some 50,000 files.
const MAX_FILE: u64 = 16 << 20;

/// Most URLs of one `file`, which are in memory until its end.
const MAX_MIRRORS: usize = 100_000;

/// The namespace of version 3.
const OLD_NAMESPACE: &str = "http://www.metalinker.org/";

/// Reads each `url` of each `file`, with its `size` and the digests of its `hash` elements (RFC 5854, sections 4.1.2 and
/// 4.2).
///
/// Left out are links to other descriptions of a file (`metaurl`), and digests of other algorithms (`algorithm`). Those of
/// pieces are not digests of the file, and are ignored.
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no XML, has a document type, is no Metalink, is one of version 3, is larger than
/// 16 MiB, or has more than 100,000 URLs of one `file`.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut metalink = Metalink {
        events: FileEvents { file, sink },
        file: None,
        open: (Kind::Url, 1),
    };
    xml_text::read(input, MAX_FILE, file, &mut metalink)
}

/// The meaning of an element of a file.
enum Kind {
    Url,
    Size,
    /// The digest of this algorithm.
    Hash(String),
}

/// A `file` whose end is not read yet.
#[derive(Default)]
struct OpenFile {
    /// The line of each URL, and the URL.
    urls: Vec<(u64, String)>,
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
    events: FileEvents<'a, 'b>,
    file: Option<OpenFile>,
    /// The meaning and the line of the last element of a file.
    open: (Kind, u64),
}

impl Elements for Metalink<'_, '_> {
    const NAME: &'static str = "a Metalink";
    const EMPTY: &'static str = "this is no Metalink: it has no element";

    fn enter(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        let kind = match (element.depth, element.name) {
            (1, _) => {
                self.check_root(element)?;
                return Ok(false);
            }
            (2, "file") => {
                self.file = Some(OpenFile::default());
                return Ok(false);
            }
            (3, "url") => Kind::Url,
            (3, "size") => Kind::Size,
            (3, "hash") => Kind::Hash(attribute(element.tag, "type").unwrap_or_default()),
            (3, "metaurl") if self.file.is_some() => {
                let why = "the link leads to another description of the file";
                self.events.skip(element.line, "metaurl", why)?;
                return Ok(false);
            }
            _ => return Ok(false),
        };
        self.open = (kind, element.line);
        Ok(self.file.is_some())
    }

    fn leave(&mut self, depth: usize, text: Option<ElementText>) -> Result<(), ReadError> {
        if let Some(text) = text {
            return self.value(text);
        }
        match self.file.take_if(|_| depth == 2) {
            Some(file) if !file.is_refused => self.file(file),
            _ => Ok(()),
        }
    }
}

impl Metalink<'_, '_> {
    fn check_root(&self, element: &Element<'_>) -> Result<(), ReadError> {
        let version = attribute(element.tag, "version");
        let is_old = version.is_some_and(|version| version.starts_with('3'))
            || (**element.tag).contains(OLD_NAMESPACE);
        let message = if element.name != "metalink" {
            "this is no Metalink: its root is no `metalink`"
        } else if is_old {
            "this is a Metalink of version 3; convert it to version 4 (RFC 5854)"
        } else {
            return Ok(());
        };
        Err(ReadError::malformed(
            self.events.file,
            element.line,
            message,
        ))
    }

    /// The value of the last element of a file.
    fn value(&mut self, element: ElementText) -> Result<(), ReadError> {
        let (kind, line) = &self.open;
        let location = self.events.at(*line);
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if file.urls.len() == MAX_MIRRORS {
            let message = format!("a file has more than {MAX_MIRRORS} URLs");
            return Err(ReadError::malformed(self.events.file, *line, message));
        }
        let ElementText { text, place } = element;
        let refused = match kind {
            Kind::Url => {
                file.urls.push((*line, text));
                None
            }
            Kind::Size => file.set_length(&text, place, location).err(),
            Kind::Hash(name) => file.add_digest(name, &text, place, location).err(),
        };
        if let Some(notice) = refused {
            file.is_refused |= notice.severity == NoticeSeverity::Refused;
            self.events.pass(notice)?;
        }
        Ok(())
    }

    /// The items of a file.
    fn file(&mut self, file: OpenFile) -> Result<(), ReadError> {
        for (line, url) in file.urls {
            let item = ListItem::new(self.events.at(line), &url);
            let length = file.length.clone();
            self.events
                .pass(item.map(|it| it.with_length(length).with_digests(&file.digests)))?;
        }
        Ok(())
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
