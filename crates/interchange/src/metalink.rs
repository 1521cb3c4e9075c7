//! Metalink 4 (RFC 5854): files with their mirrors, lengths and digests.

use std::io::BufRead;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::digest::{self, Unknown, notice};
use crate::file_events::FileEvents;
use crate::model::{FilePromise, ListItem, Location, Notice, NoticeSeverity, ReadError, Sink};
use crate::xml_text::{self, Element};

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
    let mut events = FileEvents { file, sink };
    let (mut open, mut is_checked) = (OpenFile::default(), false);
    xml_text::read(input, MAX_FILE, file, "Metalink", &mut |around, element| {
        // Once: a root may have megabytes of attributes.
        if !std::mem::replace(&mut is_checked, true) {
            check_root(around.first().unwrap_or(&element), file)?;
        }
        match around {
            [_, parent] if parent.name == "file" => open.take(element, &mut events),
            [_] if element.name == "file" => std::mem::take(&mut open).pass(&mut events),
            _ => Ok(()),
        }
    })
}

/// A `file` whose end is not read yet.
#[derive(Default)]
struct OpenFile {
    /// The line of each URL, and the URL.
    urls: Vec<(u64, String)>,
    promise: FilePromise,
    is_refused: bool,
}

impl OpenFile {
    /// Takes an element of the file.
    fn take(&mut self, element: Element, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
        let line = element.line;
        let taken = match &*element.name {
            "url" if self.urls.len() == MAX_MIRRORS => {
                let message = format!("a file has more than {MAX_MIRRORS} URLs");
                return Err(ReadError::malformed(events.file, line, message));
            }
            "url" => {
                self.urls.push((line, element.text));
                Ok(())
            }
            "size" => self.set_length(element, events.at(line)),
            "hash" => self.add_digest(element, &events.at(line)),
            "metaurl" => {
                let why = "the link leads to another description of the file";
                return events.skip(line, "metaurl", why);
            }
            _ => Ok(()),
        };
        taken.or_else(|notice| {
            self.is_refused |= notice.severity == NoticeSeverity::Refused;
            events.pass(notice)
        })
    }

    fn set_length(&mut self, size: Element, location: Location) -> Result<(), Notice> {
        let length = size.text.parse().map_err(|_| {
            let message = "the size is no number of bytes";
            Notice::refused(location, "bad-length", message)
        })?;
        self.promise.length = Some((length, size.place));
        Ok(())
    }

    /// Adds the digest of an algorithm, which has its name in the registry of IANA, such as `sha-256`.
    fn add_digest(&mut self, hash: Element, location: &Location) -> Result<(), Notice> {
        let name = hash.attribute("type").unwrap_or_default();
        let algorithm = Algorithm::from_name(&name).ok_or(Unknown::Algorithm(name));
        let digest = algorithm
            .and_then(|algorithm| digest::parse(&hash.text, Some(algorithm)))
            .map_err(|unknown| notice(location.clone(), &unknown))?;
        self.promise.add(digest, hash.place).map_err(|algorithm| {
            let message = format!("the file has two values for {algorithm}");
            Notice::refused(location.clone(), "contradiction", message)
        })
    }

    /// Passes the items of the file on.
    fn pass(self, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
        self.urls
            .iter()
            .filter(|_| !self.is_refused)
            .try_for_each(|(line, url)| {
                let item = ListItem::new(events.at(*line), url);
                events.promise(item, &self.promise)
            })
    }
}

fn check_root(root: &Element, file: &Arc<str>) -> Result<(), ReadError> {
    let version = root.attribute("version");
    let is_old =
        version.is_some_and(|version| version.starts_with('3')) || root.tag.contains(OLD_NAMESPACE);
    let message = if root.name != "metalink" {
        "this is no Metalink: its root is no `metalink`"
    } else if is_old {
        "this is a Metalink of version 3; convert it to version 4 (RFC 5854)"
    } else {
        return Ok(());
    };
    Err(ReadError::malformed(file, root.line, message))
}
