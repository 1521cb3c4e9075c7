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
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};

mod entry;

use entry::Entry;

/// Reads the digests of files below `base`. `base` is a URL that ends in `/`, or only `http://` or
/// `https://` if the names begin with a host.
///
/// Left out are digests that no record holds: `blake2b`, `sha224`, `crc`, and `algorithm` for all others. A file
/// whose name says `b2` has `BLAKE2b`, since its digests look like SHA-512.
pub fn read(
    input: impl BufRead,
    file: &Arc<str>,
    base: &str,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut armour = Armour::None;
    let hint = Hint::of(file);
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
        events.pass(item(content, hint, start, base, events.at(line.number)))
    })
}

/// The item of a line. `start` is the offset of the line in the file.
fn item(
    line: &str,
    hint: Hint,
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
    let hinted = hint.code(text).filter(|_| entry.algorithm.is_none());
    if let Some(code) = hinted.or_else(|| entry.foreign_code(text)) {
        let message = format!("records hold no digest such as that of {:?}", entry.name);
        return Err(Notice::left_out(location, code, message));
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
    item.map(|mut item| {
        item.set_digest(&found, Some(span));
        item
    })
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

/// The algorithm of digests that do not name theirs, by the name of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hint {
    None,
    Blake2b,
    Blake3,
}

impl Hint {
    fn of(file: &str) -> Self {
        let name = file.rsplit('/').next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        let is = |names: &[&str]| {
            names.iter().any(|part| name.starts_with(part))
                || name
                    .rsplit('.')
                    .next()
                    .is_some_and(|extension| names.contains(&extension))
        };
        if is(&["b2", "b2sum", "b2sums", "blake2", "blake2b"]) {
            Self::Blake2b
        } else if is(&["b3", "b3sum", "b3sums", "blake3"]) {
            Self::Blake3
        } else {
            Self::None
        }
    }

    /// The code of a digest that only looks like one that records hold.
    fn code(self, text: &str) -> Option<&'static str> {
        match self {
            Self::Blake2b if text.len() == 128 => Some("blake2b"),
            Self::Blake3 if text.len() == 64 => Some("algorithm"),
            _ => None,
        }
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
    let promised = domain_record.record.digest(algorithm);
    let promised = promised.and_then(|text| digest::parse(text, Some(algorithm)).ok());
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
