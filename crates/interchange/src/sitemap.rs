//! Sitemaps and sitemap indexes (sitemaps.org, protocol 0.9), plain or gzip.
//!
//! The reader takes the `loc` of each `url` and ignores dates, frequencies and priorities. An index
//! names its sitemaps by URL. The reader fetches nothing: it looks for the sitemaps beside the index,
//! under host and path, the path, or the last component of the path. It refuses a document type, and
//! so all entities except the five of XML.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::Event;
use urldb_canon::identify;
use urldb_files::{Kind, Root, RootFile};

use crate::budget::Budget;
use crate::controls::{ControlCharacter, TextReader};
use crate::input::{self, LimitedReader};
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};

/// The size limit of one decompressed file, in bytes; the protocol says 50 MiB.
const MAX_SIZE: u64 = 64 << 20;

/// The most URLs that the protocol allows in one file.
pub const MAX_URLS: usize = 50_000;

/// The depth limit of elements; the protocol needs three levels, its extensions a few more.
const MAX_DEPTH: usize = 32;

/// The length limit of a `loc`, in bytes.
const MAX_LOC: usize = 64 * 1024;

/// The kind of document that a `loc` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocTarget {
    /// A page, in a sitemap.
    Url,
    /// A sitemap, in an index.
    Sitemap,
}

/// Called for each `loc`, with its kind, its location and its text.
pub type OnLoc<'a> = dyn FnMut(LocTarget, Location, &str) -> Result<(), ReadError> + 'a;

/// Reads a sitemap, or an index and the sitemaps beside it, which are in `folder`.
pub fn read(
    input: impl BufRead,
    folder: &Root,
    shown: &Arc<str>,
    budget: &Budget,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut children = Vec::new();
    parse(input, shown, &mut |kind, location, loc| match kind {
        LocTarget::Url => Ok(sink(ListItem::new(location, loc).into())?),
        LocTarget::Sitemap => {
            children.push((location, loc.to_owned()));
            Ok(())
        }
    })?;
    let mut seen = HashSet::new();
    for (location, loc) in children {
        let Some(child) = find(folder, &loc).map_err(ReadError::input(shown))? else {
            let message =
                format!("the sitemap {loc} was not found beside the index; nothing is fetched");
            sink(Notice::refused(location, "sitemap-not-found", message).into())?;
            continue;
        };
        if seen.insert(child.path()) {
            read_child(&child, budget, sink)?;
        }
    }
    Ok(())
}

fn read_child(file: &RootFile, budget: &Budget, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let shown: Arc<str> = file.to_string().into();
    let input = input::open(file, budget).map_err(ReadError::input(&shown))?;
    parse(input, &shown, &mut |kind, location, loc| {
        let found = match kind {
            LocTarget::Url => ListItem::new(location, loc).into(),
            LocTarget::Sitemap => {
                let message = format!("an index names no other index, so {loc} is not looked for");
                Notice::refused(location, "index-in-index", message).into()
            }
        };
        Ok(sink(found)?)
    })
}

/// The file in `folder` with the sitemap of the URL `loc`, if there is one.
///
/// # Errors
/// When the file is none to be read, such as a link out of the folder.
fn find(folder: &Root, loc: &str) -> io::Result<Option<RootFile>> {
    let Ok(identity) = identify(loc) else {
        return Ok(None);
    };
    let path = identity.path.split('?').next().unwrap_or_default();
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let Some(last) = names.last() else {
        return Ok(None);
    };
    // A canonical path has no dot segments, and escapes are not decoded here.
    let whole: PathBuf = [identity.host.as_str()].iter().chain(&names).collect();
    let candidates = [whole, names.iter().collect(), last.into()];
    let candidates = candidates.iter().flat_map(|name| {
        let text = name.to_string_lossy();
        let other = match text.strip_suffix(".gz") {
            Some(unpacked) => unpacked.to_owned(),
            None => format!("{text}.gz"),
        };
        [folder.file(name), folder.file(other)]
    });
    let mut refused = None;
    let may_be_file = |file: &RootFile| matches!(file.kind(), None | Some(Kind::File));
    for file in candidates.filter(may_be_file) {
        match file.metadata() {
            Ok(_) => return Ok(Some(file)),
            Err(error) if is_absent(&error) => {}
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Whether no file can have the path.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// Parses one sitemap or index, and calls `on_loc` for each `loc`.
///
/// # Errors
/// [`ReadError::Malformed`] with the line of the first mistake, also if `input` fails; and the errors
/// of `on_loc`.
pub fn parse(
    input: impl BufRead,
    file: &Arc<str>,
    on_loc: &mut OnLoc<'_>,
) -> Result<(), ReadError> {
    let input = LineCounter {
        inner: BufReader::new(TextReader::new(LimitedReader::new(input, MAX_SIZE))),
        line: 1,
    };
    let mut reader = Reader::from_reader(input);
    let mut buffer = Vec::new();
    let mut open = OpenElements::default();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        let line = reader.get_ref().line;
        let malformed = |message: String| ReadError::Malformed {
            location: Location::line(file, line),
            message,
        };
        let event = event.map_err(|error| match control_in(&error) {
            Some(found) => ReadError::input(file)(io::Error::other(found)),
            None => malformed(explain(&error)),
        })?;
        if matches!(event, Event::Eof) {
            return open.finish().map_err(|why| malformed(why.to_owned()));
        }
        let closed = open.take(&event, line);
        let closed = closed.map_err(|why| malformed(why.to_owned()))?;
        if let Some((target, line, loc)) = closed {
            on_loc(target, Location::line(file, line), loc.trim())?;
        }
    }
}

fn control_in(error: &quick_xml::Error) -> Option<ControlCharacter> {
    match error {
        quick_xml::Error::Io(error) => ControlCharacter::of(error),
        _ => None,
    }
}

fn explain(error: &quick_xml::Error) -> String {
    format!("this is not XML as a sitemap has it: {error}")
}

/// The open elements of a document, as far as they matter.
#[derive(Default)]
struct OpenElements {
    depth: usize,
    kind: Option<LocTarget>,
    /// Whether the element on the second level is a `url` or `sitemap`, which has a `loc`.
    is_entry: bool,
    /// The line and the text of the open `loc`.
    loc: Option<(u64, String)>,
}

impl OpenElements {
    /// Follows one event, and returns the `loc` that it closes. `line` is the line of the event.
    fn take(
        &mut self,
        event: &Event,
        line: u64,
    ) -> Result<Option<(LocTarget, u64, String)>, &'static str> {
        match event {
            Event::DocType(_) => {
                return Err("a sitemap has no document type; entities are not expanded");
            }
            Event::Start(element) => self.enter(element.local_name().as_ref(), line)?,
            Event::Empty(element) => {
                self.enter(element.local_name().as_ref(), line)?;
                // An empty `loc` names nothing, so it is closed without a result.
                self.leave();
            }
            Event::End(_) => return Ok(self.leave()),
            Event::Text(text) => self.add(&text.xml10_content()),
            Event::CData(text) => self.add(&text.xml10_content()),
            Event::GeneralRef(reference) if self.loc.is_some() => {
                let char = reference.resolve_char_ref().ok().flatten();
                let named = quick_xml::escape::resolve_xml_entity(reference);
                match (char, named) {
                    (Some(char), _) => self.add(char.encode_utf8(&mut [0; 4])),
                    (None, Some(text)) => self.add(text),
                    (None, None) => return Err("the entity in `loc` is not one of XML's own"),
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Checks that the document is complete.
    fn finish(&self) -> Result<(), &'static str> {
        if self.kind.is_none() {
            Err("there is no sitemap in it: no `urlset` and no `sitemapindex`")
        } else if self.depth > 0 {
            Err("the file ends before its elements do")
        } else {
            Ok(())
        }
    }

    fn enter(&mut self, name: &str, line: u64) -> Result<(), &'static str> {
        self.depth += 1;
        match (self.depth, self.kind) {
            (1, None) => {
                self.kind = Some(match name {
                    "urlset" => LocTarget::Url,
                    "sitemapindex" => LocTarget::Sitemap,
                    _ => {
                        return Err(
                            "this is no sitemap: its root is neither `urlset` nor `sitemapindex`",
                        );
                    }
                });
            }
            (1, Some(_)) => return Err("there is more than one root element"),
            (2, Some(LocTarget::Url)) => self.is_entry = name == "url",
            (2, Some(LocTarget::Sitemap)) => self.is_entry = name == "sitemap",
            (3, _) if self.is_entry && name == "loc" => self.loc = Some((line, String::new())),
            (MAX_DEPTH.., _) => return Err("elements are nested too deeply"),
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, text: &str) {
        if let Some((_, loc)) = &mut self.loc {
            let room = MAX_LOC.saturating_sub(loc.len());
            // A control character in place of too long text makes the URL invalid.
            loc.push_str(if text.len() > room { "\u{7f}" } else { text });
        }
    }

    /// Closes an element, and returns the `loc` if the element was one.
    fn leave(&mut self) -> Option<(LocTarget, u64, String)> {
        let is_loc = self.depth == 3;
        self.depth = self.depth.saturating_sub(1);
        let (line, loc) = self.loc.take_if(|_| is_loc)?;
        Some((self.kind?, line, loc))
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

/// Whether XML can hold a text that has no line breaks.
pub(crate) fn is_xml(text: &str) -> bool {
    !text.contains(|char: char| char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}'))
}

/// Writes one sitemap.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    urls: usize,
}

impl<W: Write> Writer<W> {
    /// Starts a sitemap.
    pub fn new(mut output: W) -> io::Result<Self> {
        output.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")?;
        Ok(Self { output, urls: 0 })
    }

    /// Writes a URL; false if it has a control character, which XML cannot hold.
    ///
    /// # Errors
    /// If the output fails, or the sitemap already has [`MAX_URLS`].
    pub fn write(&mut self, domain_record: &DomainRecord<'_>) -> io::Result<bool> {
        let url = domain_record.url();
        if !is_xml(url) {
            return Ok(false);
        }
        if self.urls == MAX_URLS {
            let message =
                "a sitemap has 50,000 URLs at most; select fewer, for example a domain with -d";
            return Err(io::Error::other(message));
        }
        self.urls += 1;
        writeln!(
            self.output,
            "<url><loc>{}</loc></url>",
            quick_xml::escape::escape(url)
        )?;
        Ok(true)
    }

    /// Ends the sitemap and flushes the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.output.write_all(b"</urlset>\n")?;
        self.output.flush()
    }
}
