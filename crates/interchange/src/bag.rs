//! `BagIt` bags (RFC 8493): `manifest-sha256.txt` has the digests of the files, and `fetch.txt` has the
//! URLs of some of them.
//!
//! The entries of `fetch.txt` are kept in memory by file name, because the two files are in different
//! orders.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use urldb_files::Root;
use urldb_format::Algorithm;

use crate::digest;
use crate::input::{self, LineReader};
use crate::model::{ListItem, Location, Notice, ReadError, ReadEvent, Sink};
use crate::sums;

const MANIFEST: &str = "manifest-sha256.txt";
const FETCH: &str = "fetch.txt";

/// Reads a bag. A file in `fetch.txt` becomes an item with the URL there. Every other file becomes an
/// item below the base URL, if there is one.
pub fn read(
    folder: &Root,
    shown: &str,
    base: Option<&str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let fetch: Arc<str> = format!("{shown}/{FETCH}").into();
    let manifest: Arc<str> = format!("{shown}/{MANIFEST}").into();
    let mut items = BTreeMap::new();
    match input::open(&folder.file(FETCH)) {
        Ok(input) => {
            for_each_line(input, &fetch, &mut |number, text| {
                let location = Location::line(&fetch, number);
                match parse_fetch_line(text, location) {
                    Ok((name, item)) => drop(items.insert(name, item)),
                    Err(notice) => sink(notice.into())?,
                }
                Ok(())
            })?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(ReadError::input(&fetch)(error)),
    }
    let input = input::open(&folder.file(MANIFEST)).map_err(|error| explain(error, &manifest))?;
    let mut without_url = 0u64;
    for_each_line(input, &manifest, &mut |number, text| {
        let location = Location::line(&manifest, number);
        let entry = text.split_once([' ', '\t']);
        let sha256 = |sum: &str| digest::parse(sum, Some(Algorithm::Sha256)).ok();
        let Some((sha256, name)) = entry.and_then(|(sum, name)| Some((sha256(sum)?, name))) else {
            let message = "the line is not DIGEST, blanks, NAME, with a SHA-256";
            return sink(Notice::refused(location, "bad-line", message).into());
        };
        let name = decode_name(name.trim_start_matches([' ', '\t', '*']));
        if let Some(mut item) = items.remove(&name) {
            item.set_digest(&sha256, None);
            return sink(item.into());
        }
        if let Some(base) = base {
            let item = sums::item_below(base, &name, location);
            let item = item.map(|mut item| {
                item.set_digest(&sha256, None);
                item
            });
            return sink(item.into());
        }
        without_url += 1;
        Ok(())
    })?;
    // Files that the manifest does not list have only a length.
    for item in items.into_values() {
        sink(item.into())?;
    }
    if without_url > 0 {
        let message = format!(
            "{without_url} files of the bag have no URL in {FETCH}; --base URL says where they are served"
        );
        let location = Location::line(&manifest, 1);
        sink(ReadEvent::Notice(Notice::left_out(
            location, "no-url", message,
        )))?;
    }
    Ok(())
}

fn explain(error: io::Error, file: &Arc<str>) -> ReadError {
    let error = if error.kind() == ErrorKind::NotFound {
        io::Error::other("a bag is imported by its SHA-256 manifest, and this bag has none")
    } else {
        error
    };
    ReadError::input(file)(error)
}

type OnLine<'a> = dyn FnMut(u64, &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

fn for_each_line(
    input: impl io::BufRead,
    file: &Arc<str>,
    take: &mut OnLine<'_>,
) -> Result<(), ReadError> {
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next().map_err(ReadError::input(file))? {
        let location = Location::line(file, line.number);
        let malformed = |why: &str| ReadError::Malformed {
            location,
            message: why.to_owned(),
        };
        let text = line.text.map_err(malformed)?;
        if !text.trim().is_empty() {
            take(line.number, text)?;
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
