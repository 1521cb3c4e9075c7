//! Sitemaps and sitemap indexes (sitemaps.org, protocol 0.9), plain or gzip.
//!
//! The reader takes the `loc` of each `url` and ignores dates, frequencies and priorities. An index
//! names its sitemaps by URL. The reader fetches nothing: it looks for the sitemaps beside the index,
//! under host and path, the path, or the last component of the path.

use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;

use urldb_canon::identify;
use urldb_files::{Kind, Root, RootFile};

use crate::budget::Budget;
use crate::input;
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};
use crate::xml_text;

/// The size limit of one decompressed file, in bytes; the protocol says 50 MiB.
const MAX_SIZE: u64 = 64 << 20;

/// The most URLs that the protocol allows in one file.
pub const MAX_URLS: usize = 50_000;

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
    read_one(input, shown, Some(&mut children), sink)?;
    let mut seen = HashSet::new();
    for (location, loc) in children {
        let Some(child) = find(folder, &loc).map_err(ReadError::input(shown))? else {
            let message =
                format!("the sitemap {loc} was not found beside the index; nothing is fetched");
            sink(Notice::refused(location, "sitemap-not-found", message).into())?;
            continue;
        };
        if seen.insert(child.path()) {
            let shown: Arc<str> = child.to_string().into();
            let input = input::open(&child, budget).map_err(ReadError::input(&shown))?;
            read_one(input, &shown, None, sink)?;
        }
    }
    Ok(())
}

/// Reads a sitemap, or the places and URLs of the sitemaps of an index into `children`.
fn read_one(
    input: impl BufRead,
    shown: &Arc<str>,
    mut children: Option<&mut Vec<(Location, String)>>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    parse(input, shown, &mut |kind, location, loc| {
        let event = match (kind, &mut children) {
            (LocTarget::Url, _) => ListItem::new(location, loc).into(),
            (LocTarget::Sitemap, Some(children)) => {
                children.push((location, loc.to_owned()));
                return Ok(());
            }
            (LocTarget::Sitemap, None) => {
                let message = format!("an index names no other index, so {loc} is not looked for");
                Notice::refused(location, "index-in-index", message).into()
            }
        };
        Ok(sink(event)?)
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
    let names: Vec<&str> = identity
        .path
        .split('?')
        .next()
        .unwrap_or_default()
        .split('/')
        .filter(|name| !name.is_empty())
        .collect();
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
    xml_text::read(input, MAX_SIZE, file, "sitemap", &mut |around, element| {
        let root = around.first().unwrap_or(&element);
        let (kind, entry) = match &*root.name {
            "urlset" => (LocTarget::Url, "url"),
            "sitemapindex" => (LocTarget::Sitemap, "sitemap"),
            _ => {
                let message = "this is no sitemap: its root is neither `urlset` nor `sitemapindex`";
                return Err(ReadError::malformed(file, root.line, message));
            }
        };
        let is_entry = matches!(around, [_, parent] if parent.name == entry);
        // An empty `loc` names nothing.
        if is_entry && element.name == "loc" && !element.text.is_empty() {
            on_loc(kind, Location::line(file, element.line), &element.text)?;
        }
        Ok(())
    })
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
