//! `BagIt` bags (RFC 8493): `manifest-ALGORITHM.txt` has the digests of the files, and `fetch.txt` has the
//! URLs of some of them.
//!
//! The entries of `fetch.txt` are kept in memory by file name, because the files are in different
//! orders.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;

use urldb_files::Root;
use urldb_format::{Algorithm, Digest};

use crate::budget::Budget;
use crate::digest;
use crate::input::{self, LineReader};
use crate::model::{ListItem, Location, Notice, ReadError, Sink};
use crate::sums;

const FETCH: &str = "fetch.txt";

/// Reads a bag. A file in `fetch.txt` becomes an item with each URL there. Every other file becomes an
/// item below the base URL, if there is one: one for each manifest.
///
/// # Errors
/// [`ReadError::Input`] if no manifest has an algorithm that records hold, and [`ReadError::Malformed`] for a line that
/// cannot be read.
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
    let manifests = Algorithm::ALL.into_iter().filter_map(|algorithm| {
        let name = format!("manifest-{}.txt", algorithm.name());
        let input = bag.open(&name).transpose()?;
        Some(input.map(|input| (algorithm, input)))
    });
    let mut manifests: Vec<_> = manifests.collect::<Result<_, _>>()?;
    let Some((_, (first, _))) = manifests.first() else {
        let message = "a bag is imported by its manifest, such as a SHA-256 manifest (manifest-sha256.txt), and this bag has none for MD5, SHA-1, SHA-256, SHA-384 or SHA-512";
        return Err(ReadError::input(&shown.into())(io::Error::other(message)));
    };
    let first = Location::line(first, 1);
    let last = manifests.len() - 1;
    for (number, (algorithm, (file, lines))) in manifests.iter_mut().enumerate() {
        bag.manifest(*algorithm, file, lines, number == last, sink)?;
    }
    // Files that the last manifest does not list.
    for FetchedFile { items, digests } in bag.fetched.into_values() {
        for item in items {
            sink(item.with_digests(&digests).into())?;
        }
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
    digests: Vec<(Digest, Option<Range<u64>>)>,
}

impl Bag<'_> {
    /// Opens a file of the bag; `None` if it is not there.
    fn open(&self, name: &str) -> Result<Option<OpenFile>, ReadError> {
        let file: Arc<str> = format!("{}/{name}", self.shown).into();
        match input::open(&self.folder.file(name), self.budget) {
            Ok(input) => Ok(Some((file, LineReader::new(input)))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ReadError::input(&file)(error)),
        }
    }

    /// Reads `fetch.txt`. A file may have several URLs.
    fn fetch(&mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let Some((file, mut lines)) = self.open(FETCH)? else {
            return Ok(());
        };
        for_each_line(&mut lines, &file, &mut |location, text| {
            match parse_fetch_line(text, location) {
                Ok((name, item)) => self.fetched.entry(name).or_default().items.push(item),
                Err(notice) => sink(notice.into())?,
            }
            Ok(())
        })
    }

    /// Reads the manifest of an algorithm. The last one passes on the items of `fetch.txt`.
    fn manifest(
        &mut self,
        algorithm: Algorithm,
        file: &Arc<str>,
        lines: &mut LineReader<impl io::BufRead>,
        is_last: bool,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        let mut without_url = 0;
        for_each_line(lines, file, &mut |location, text| {
            let entry = text.split_once([' ', '\t']);
            let parsed = |sum: &str| digest::parse(sum, Some(algorithm)).ok();
            let Some((digest, name)) = entry.and_then(|(sum, name)| Some((parsed(sum)?, name)))
            else {
                let message = format!("the line is not DIGEST, blanks, NAME, with a {algorithm}");
                return Ok(sink(Notice::refused(location, "bad-line", message).into())?);
            };
            let name = decode_name(name.trim_start_matches([' ', '\t', '*']));
            if let Some(fetched) = self.fetched.get_mut(&name) {
                return fetched.add(digest, &name, location, is_last, sink);
            }
            let Some(base) = self.base else {
                without_url += 1;
                return Ok(());
            };
            let item = sums::item_below(base, &name, location);
            let item = item.map(|item| item.with_digests(&[(digest, None)]));
            Ok(sink(item.into())?)
        })?;
        self.without_url = self.without_url.max(without_url);
        Ok(())
    }
}

impl FetchedFile {
    /// Adds a digest, and passes the items on if it is the last one.
    fn add(
        &mut self,
        digest: Digest,
        name: &str,
        location: Location,
        is_last: bool,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        let algorithm = digest.algorithm();
        let mut known = self.digests.iter().map(|(known, _)| known);
        if known.any(|known| known.algorithm() == algorithm && *known != digest) {
            self.items.clear();
            let message = format!("a line before has another {algorithm} of {name}");
            return Ok(sink(
                Notice::refused(location, "contradiction", message).into(),
            )?);
        }
        self.digests.push((digest, None));
        if !is_last {
            return Ok(());
        }
        for item in self.items.drain(..) {
            sink(item.with_digests(&self.digests).into())?;
        }
        Ok(())
    }
}

/// The name of a file in messages, and its lines.
type OpenFile = (Arc<str>, LineReader<Box<dyn io::BufRead>>);

type OnLine<'a> = dyn FnMut(Location, &str) -> Result<(), ReadError> + 'a;

fn for_each_line(
    lines: &mut LineReader<impl io::BufRead>,
    file: &Arc<str>,
    take: &mut OnLine<'_>,
) -> Result<(), ReadError> {
    while let Some(line) = lines.next().map_err(ReadError::input(file))? {
        let location = Location::line(file, line.number);
        let text = line.text.map_err(|why| ReadError::Malformed {
            location: location.clone(),
            message: why.to_owned(),
        })?;
        if !text.trim().is_empty() {
            take(location, text)?;
        }
    }
    Ok(())
}

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
