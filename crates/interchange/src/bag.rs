//! `BagIt` bags (RFC 8493): `manifest-ALGORITHM.txt` has the digests of the files, and `fetch.txt` has the
//! URLs of some of them.
//!
//! The entries of `fetch.txt` are kept in memory by file name, because the files are in different
//! orders.

use std::collections::BTreeMap;
use std::io::{self, BufRead, ErrorKind};
use std::sync::Arc;

use urldb_files::Root;
use urldb_format::Algorithm;

use crate::budget::Budget;
use crate::digest;
use crate::file_events::FileEvents;
use crate::input;
use crate::model::{FilePromise, ListItem, Location, Notice, ReadError, Sink};
use crate::sums;

const FETCH: &str = "fetch.txt";

/// Reads a bag. A file in `fetch.txt` becomes an item with each URL there. Every other file becomes an
/// item below the base URL, if there is one: one for each manifest.
///
/// # Errors
/// [`ReadError::Input`] if no manifest has an algorithm that records hold.
pub fn read(
    folder: &Root,
    shown: &str,
    base: Option<&str>,
    budget: &Budget,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut bag = Bag {
        folder,
        shown,
        base,
        budget,
        fetched: BTreeMap::new(),
        without_url: 0,
    };
    bag.fetch(sink)?;
    let manifests: Vec<_> = Algorithm::ALL
        .into_iter()
        .filter_map(|algorithm| {
            let name = format!("manifest-{}.txt", algorithm.name());
            let opened = bag.open(&name).transpose()?;
            Some(opened.map(|opened| (algorithm, opened)))
        })
        .collect::<Result<_, _>>()?;
    let Some((_, (first, _))) = manifests.first() else {
        let message = "a bag is imported by its manifest, such as a SHA-256 manifest (manifest-sha256.txt), and this bag has none for MD5, SHA-1, SHA-256, SHA-384 or SHA-512";
        return Err(ReadError::input(&shown.into())(io::Error::other(message)));
    };
    let first = Location::line(first, 1);
    let mut manifests = manifests.into_iter().peekable();
    while let Some((algorithm, opened)) = manifests.next() {
        bag.manifest(algorithm, opened, manifests.peek().is_none(), sink)?;
    }
    // Files that the last manifest does not list.
    for file in bag.fetched.values_mut() {
        file.pass(sink)?;
    }
    if bag.without_url > 0 {
        let number = bag.without_url;
        let message = format!(
            "{number} files of the bag have no URL in {FETCH}; --base URL says where they are served"
        );
        sink(Notice::left_out(first, "no-url", message).into())?;
    }
    Ok(())
}

struct Bag<'a> {
    folder: &'a Root,
    shown: &'a str,
    base: Option<&'a str>,
    budget: &'a Budget,
    /// The files of `fetch.txt` by their names.
    fetched: BTreeMap<String, FetchedFile>,
    /// The largest number of files of a manifest that have no URL.
    without_url: u64,
}

/// A file of `fetch.txt`.
#[derive(Default)]
struct FetchedFile {
    /// An item for each URL, until they are passed on.
    items: Vec<ListItem>,
    promise: FilePromise,
}

impl Bag<'_> {
    /// Opens a file of the bag; `None` if it is not there.
    fn open(&self, name: &str) -> Result<Option<OpenFile>, ReadError> {
        let file: Arc<str> = format!("{}/{name}", self.shown).into();
        match input::open(&self.folder.file(name), self.budget) {
            Ok(input) => Ok(Some((file, input))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ReadError::input(&file)(error)),
        }
    }

    /// Reads `fetch.txt`. A file may have several URLs.
    fn fetch(&mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let Some((file, input)) = self.open(FETCH)? else {
            return Ok(());
        };
        FileEvents { file: &file, sink }.each_line(input, &mut |line, events| {
            if line.text.trim().is_empty() {
                return Ok(());
            }
            match parse_fetch_line(line.text, events.at(line.number)) {
                Ok((name, item)) => self.fetched.entry(name).or_default().items.push(item),
                Err(notice) => events.pass(notice)?,
            }
            Ok(())
        })
    }

    /// Reads the manifest of an algorithm. The last one passes on the items of `fetch.txt`.
    fn manifest(
        &mut self,
        algorithm: Algorithm,
        (file, input): OpenFile,
        is_last: bool,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        let mut without_url = 0;
        FileEvents { file: &file, sink }.each_line(input, &mut |line, events| {
            if line.text.trim().is_empty() {
                return Ok(());
            }
            let entry = line.text.split_once([' ', '\t']);
            let parsed = |sum: &str| digest::parse(sum, Some(algorithm)).ok();
            let Some((digest, name)) = entry.and_then(|(sum, name)| Some((parsed(sum)?, name)))
            else {
                let why = format!("the line is not DIGEST, blanks, NAME, with a {algorithm}");
                return events.refuse(line.number, "bad-line", &why);
            };
            let name = decode_name(name.trim_start_matches([' ', '\t', '*']));
            if let Some(fetched) = self.fetched.get_mut(&name) {
                if let Err(algorithm) = fetched.promise.add(digest, None) {
                    fetched.items.clear();
                    let why = format!("a line before has another {algorithm} of {name}");
                    events.refuse(line.number, "contradiction", &why)?;
                } else if is_last {
                    fetched.pass(events.sink)?;
                }
            } else if let Some(base) = self.base {
                let item = sums::item_below(base, &name, events.at(line.number));
                events.promise(item, &FilePromise::of(None, Some(digest)))?;
            } else {
                without_url += 1;
            }
            Ok(())
        })?;
        self.without_url = self.without_url.max(without_url);
        Ok(())
    }
}

impl FetchedFile {
    /// Passes the items on.
    fn pass(&mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let mut items = self.items.drain(..);
        Ok(items.try_for_each(|item| sink(item.promising(&self.promise).into()))?)
    }
}

/// The name of a file in messages, and its text.
type OpenFile = (Arc<str>, Box<dyn BufRead>);

/// Parses a line of `fetch.txt`: `URL LENGTH NAME`, with `-` for an unknown length.
fn parse_fetch_line(line: &str, location: Location) -> Result<(String, ListItem), Notice> {
    let blanks = [' ', '\t'];
    let parts = line.split_once(blanks).and_then(|(url, rest)| {
        let (length, name) = rest.trim_start_matches(blanks).split_once(blanks)?;
        Some((url, length, name.trim_start_matches(blanks)))
    });
    let Some((url, length, name)) = parts else {
        let message = "the line is not URL, length, file name";
        return Err(Notice::refused(location, "bad-line", message));
    };
    let mut item = ListItem::new(location.clone(), url)?;
    if length != "-" {
        let number = length.parse().map_err(|_| {
            let message = format!("the length is neither a number nor `-`: {length}");
            Notice::refused(location, "bad-line", message)
        })?;
        item.record.content_length = Some(number);
    }
    Ok((decode_name(name), item))
}

/// Undoes the escapes of a file name: only line breaks and `%` are escaped (RFC 8493, 2.1.3).
fn decode_name(name: &str) -> String {
    let mut name = name
        .replace("%0A", "\n")
        .replace("%0a", "\n")
        .replace("%0D", "\r")
        .replace("%0d", "\r");
    name = name.replace("%25", "%");
    name.strip_prefix("./").unwrap_or(&name).to_owned()
}
