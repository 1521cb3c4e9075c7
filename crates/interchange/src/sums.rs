//! The format of `sha256sum`: `DIGEST  NAME`, and `SHA256 (NAME) = DIGEST`.
//!
//! A name is the path of a file below the base URL (`http://example.org/data/`), with any
//! characters. The writer writes only names from which the reader gets the same URL. So it leaves
//! out URLs with a query and URLs that end in `/`.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use percent_encoding::{percent_decode_str, utf8_percent_encode};
use urldb_canon::identify;

use crate::escape::PATH;
use crate::input::LineReader;
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};
use crate::table::digest;

/// Reads the digests of files below `base`. `base` is a URL that ends in `/`, or only `http://` or
/// `https://` if the names begin with a host.
pub fn read(
    input: impl BufRead,
    file: &Arc<str>,
    base: &str,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next().map_err(ReadError::input(file))? {
        let location = Location::line(file, line.number);
        let found = match line.text {
            Err(why) => Err(Notice::refused(location, "bad-line", why)),
            Ok(text) if text.is_empty() || text.starts_with('#') => continue,
            Ok(text) => match parse(text) {
                Some((sha256, name)) => item_below(base, &name, sha256, location),
                None => Err(Notice::refused(
                    location,
                    "bad-line",
                    "the line is not DIGEST, two spaces, NAME, with a SHA-256",
                )),
            },
        };
        sink(found.into())?;
    }
    Ok(())
}

fn parse(line: &str) -> Option<(String, String)> {
    let (line, is_escaped) = match line.strip_prefix('\\') {
        Some(line) => (line, true),
        None => (line, false),
    };
    let (sha256, name) = if let Some(tagged) = line.strip_prefix("SHA256 (") {
        let (name, sha256) = tagged.rsplit_once(") = ")?;
        (sha256, name)
    } else {
        let (sha256, name) = line.split_once(' ')?;
        (sha256, name.strip_prefix([' ', '*'])?)
    };
    let name = if is_escaped {
        unescaped(name)?
    } else {
        name.to_owned()
    };
    Some((digest(sha256)?, name))
}

/// Undoes the escapes with which GNU coreutils write names with line breaks.
fn unescaped(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        out.push(match char {
            '\\' => match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}

/// The item for a file below the base, with its digest.
pub(crate) fn item_below(
    base: &str,
    name: &str,
    sha256: String,
    location: Location,
) -> Result<ListItem, Notice> {
    let url = url_of(base, name).ok_or_else(|| {
        let message = format!("{name:?} is not the name of a file below the base");
        Notice::refused(location.clone(), "bad-name", message)
    })?;
    let mut item = ListItem::new(location, &url)?;
    item.record.content_sha256 = Some(sha256);
    Ok(item)
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
    let name = String::from_utf8(bytes)
        .ok()
        .filter(|name| !name.contains('\0'))?;
    let back = identify(&url_of(base, &name)?).ok()?;
    (back.to_string() == url).then_some(name)
}

/// Writes a line; false if the record has no digest, or its URL has no name below the base.
pub fn write(
    output: &mut impl Write,
    base: &str,
    domain_record: &DomainRecord<'_>,
) -> io::Result<bool> {
    let sha256 = domain_record
        .record
        .content_sha256
        .as_deref()
        .and_then(digest);
    let (Some(sha256), Some(name)) = (sha256, name_of(base, domain_record.url())) else {
        return Ok(false);
    };
    if name.contains(['\\', '\n', '\r']) {
        let name = name
            .replace('\\', "\\\\")
            .replace('\n', "\\n")
            .replace('\r', "\\r");
        writeln!(output, "\\{sha256}  {name}")?;
    } else {
        writeln!(output, "{sha256}  {name}")?;
    }
    Ok(true)
}
