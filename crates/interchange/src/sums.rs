//! Lists of digests: `DIGEST  NAME` of GNU coreutils, `SHA256 (NAME) = DIGEST` of BSD and OpenSSL, and
//! `NAME DIGEST [URL]` of pooch; also in text that PGP signed.
//!
//! A name is the path of a file below the base URL (`http://example.org/data/`), with any
//! characters. The writer writes only names from which the reader gets the same URL. So it leaves
//! out URLs with a query and URLs that end in `/`.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use percent_encoding::{percent_decode_str, utf8_percent_encode};
use urldb_canon::identify;
use urldb_format::Algorithm;

use crate::controls::control_in;
use crate::digest::{self, Unknown, notice};
use crate::escape::PATH;
use crate::file_events::FileEvents;
use crate::model::{DomainRecord, FilePromise, ListItem, Location, Notice, ReadError, Sink};

mod entry;

use entry::Entry;

/// Reads the digests of files below `base`. `base` is a URL that ends in `/`, or only `http://` or
/// `https://` if the names begin with a host.
///
/// Left out are digests that no record holds (`algorithm`). A file whose name says `b2` has `BLAKE2b`, since its
/// digests look like SHA-512.
pub fn read(
    input: impl BufRead,
    file: &Arc<str>,
    base: &str,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut armour = Armour::None;
    let blake = blake_digits(file);
    FileEvents { file, sink }.each_line(input, &mut |line, events| {
        let Some(skipped) = armour.skip(line.text) else {
            return Ok(());
        };
        let content = line.text.get(skipped..).unwrap_or_default();
        let content = content.strip_prefix('\u{feff}').unwrap_or(content);
        if content.trim().is_empty() || content.trim_start().starts_with(['#', ';']) {
            return Ok(());
        }
        let start = line.offset + (line.text.len() - content.len()) as u64;
        events.pass(item(content, blake, start, base, events.at(line.number)))
    })
}

/// The item of a line. `start` is the offset of the line in the file.
fn item(
    line: &str,
    blake: Option<usize>,
    start: u64,
    base: &str,
    location: Location,
) -> Result<ListItem, Notice> {
    let Some(entry) = Entry::parse(line) else {
        let message =
            "the line is neither DIGEST NAME, nor ALGORITHM (NAME) = DIGEST, nor NAME DIGEST";
        return Err(Notice::refused(location, "bad-line", message));
    };
    if entry.is_of_standard_input() {
        let message = format!(
            "the digest is that of standard input, and {:?} is no file",
            entry.name
        );
        return Err(Notice::refused(location, "bad-name", message));
    }
    let text = line.get(entry.digest.clone()).unwrap_or_default();
    if entry.algorithm.is_none() && blake == Some(text.len()) {
        let message = format!("records hold no digest such as that of {:?}", entry.name);
        return Err(Notice::left_out(location, "algorithm", message));
    }
    let found = match entry.algorithm.as_deref() {
        Some(name) => Algorithm::from_name(name)
            .ok_or_else(|| Unknown::Algorithm(name.to_owned()))
            .and_then(|algorithm| digest::parse(text, Some(algorithm))),
        None => digest::parse(text, entry.assumed(text)),
    };
    let found = found.map_err(|unknown| notice(location.clone(), &unknown))?;
    let (from, to) = (entry.digest.start as u64, entry.digest.end as u64);
    let span = start + from..start + to;
    let item = match entry.url.as_deref() {
        Some(url) => ListItem::new(location, url),
        None => item_below(base, &entry.name, location),
    };
    let promise = FilePromise {
        length: None,
        digests: vec![(found, Some(span))],
    };
    item.map(|item| item.promising(&promise))
}

/// The state of text that PGP signed (RFC 9580, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Armour {
    /// Outside of signed text.
    None,
    /// The headers before the text, up to an empty line.
    Headers,
    /// The text, in which `- ` before a line means nothing.
    Text,
    /// The signature behind the text.
    Signature,
}

impl Armour {
    /// The number of bytes at the start of the line that are no content; `None` if none are.
    fn skip(&mut self, line: &str) -> Option<usize> {
        let trimmed = line.trim_end();
        match (*self, trimmed) {
            (Self::None, "-----BEGIN PGP SIGNED MESSAGE-----") => *self = Self::Headers,
            (Self::None | Self::Text, "-----BEGIN PGP SIGNATURE-----") => *self = Self::Signature,
            (Self::Signature, "-----END PGP SIGNATURE-----") => *self = Self::None,
            (Self::Headers, "") => *self = Self::Text,
            (Self::Headers | Self::Signature, _) => {}
            (Self::Text, _) => return Some(if line.starts_with("- ") { 2 } else { 0 }),
            (Self::None, _) => return Some(0),
        }
        None
    }
}

/// The number of digits of a `BLAKE2b` or BLAKE3 that only looks like another digest, by the name of its file.
fn blake_digits(file: &str) -> Option<usize> {
    let name = file
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let extension = name.rsplit('.').next().unwrap_or_default();
    let is = |start: &str| name.starts_with(start) || extension.starts_with(start);
    if is("b2") || is("blake2") {
        Some(128)
    } else {
        (is("b3") || is("blake3")).then_some(64)
    }
}

/// The item for a file below the base.
pub(crate) fn item_below(base: &str, name: &str, location: Location) -> Result<ListItem, Notice> {
    let url = url_of(base, name).ok_or_else(|| {
        let message = format!("{name:?} is not the name of a file below the base");
        Notice::refused(location.clone(), "bad-name", message)
    })?;
    ListItem::new(location, &url)
}

/// The URL of a file below the base.
fn url_of(base: &str, name: &str) -> Option<String> {
    let name = name.strip_prefix("./").unwrap_or(name);
    let is_apart = |segment: &str| matches!(segment, "" | "." | "..");
    if name.split('/').any(is_apart) {
        return None;
    }
    let path = utf8_percent_encode(name, PATH);
    Some(format!("{base}{path}"))
}

/// The name below the base for a URL, if the reader gets the same URL from that name.
fn name_of(base: &str, url: &str) -> Option<String> {
    let path = url.strip_prefix(base)?;
    let bytes = percent_decode_str(path).collect();
    let is_text = |name: &String| control_in(name.replace('\r', "\n").as_bytes()).is_none();
    let name = String::from_utf8(bytes).ok().filter(is_text)?;
    let back = identify(&url_of(base, &name)?).ok()?;
    (back.to_string() == url).then_some(name)
}

/// Writes a line; false if the record has no digest of the algorithm, or its URL has no name below the base.
pub fn write(
    output: &mut impl Write,
    base: &str,
    algorithm: Algorithm,
    domain_record: &DomainRecord<'_>,
) -> io::Result<bool> {
    let promised = domain_record
        .record
        .digest(algorithm)
        .and_then(|text| digest::parse(text, Some(algorithm)).ok());
    let (Some(digest), Some(name)) = (promised, name_of(base, domain_record.url())) else {
        return Ok(false);
    };
    let hex = digest.hex();
    // The name `-` alone is standard input.
    let name = if name == "-" { "./-".to_owned() } else { name };
    if name.contains(['\\', '\n', '\r']) {
        let name = name
            .replace('\\', "\\\\")
            .replace('\n', "\\n")
            .replace('\r', "\\r");
        writeln!(output, "\\{hex}  {name}")?;
    } else {
        writeln!(output, "{hex}  {name}")?;
    }
    Ok(true)
}
