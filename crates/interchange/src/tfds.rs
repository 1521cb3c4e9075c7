//! The checksums of TensorFlow Datasets (`url_checksums/*.txt`, `checksums.tsv`): `URL⇥LENGTH⇥SHA-256⇥NAME`.
//!
//! Older files have blanks and no name. Their last two words are the length and the digest, since a URL may
//! contain blanks.

use std::io::BufRead;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::digest::{self, notice};
use crate::file_events::FileEvents;
use crate::model::{FilePromise, ListItem, Location, Notice, ReadError, Sink};

/// Reads a list of checksums.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    FileEvents { file, sink }.each_line(input, &mut |line, events| {
        let text = line.text;
        if text.trim().is_empty() || text.trim_start().starts_with('#') {
            return Ok(());
        }
        events.pass(parse(text, line.offset, events.at(line.number)))
    })
}

/// The item of a line. `start` is the offset of the line in the file.
fn parse(line: &str, start: u64, location: Location) -> Result<ListItem, Notice> {
    let Some((url, length, sha256)) = fields(line) else {
        let message = "the line is not URL, length, SHA-256";
        return Err(Notice::refused(location, "bad-line", message));
    };
    let span = |part: &str| {
        let at = start + (part.as_ptr().addr() - line.as_ptr().addr()) as u64;
        Some(at..at + part.len() as u64)
    };
    let number = length.parse().map_err(|_| {
        let message = format!("the length is not a number: {length}");
        Notice::refused(location.clone(), "bad-line", message)
    })?;
    let found = digest::parse(sha256, Some(Algorithm::Sha256))
        .map_err(|unknown| notice(location.clone(), &unknown))?;
    Ok(ListItem::new(location, url)?.promising(&FilePromise {
        length: Some((number, span(length))),
        digests: vec![(found, span(sha256))],
    }))
}

/// URL, length and digest.
fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.trim();
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    if line.contains('\t') {
        let mut fields = line.split('\t').map(str::trim);
        return Some((fields.next()?, fields.next()?, fields.next()?));
    }
    let (rest, digest) = line.rsplit_once(char::is_whitespace)?;
    let (url, length) = rest.trim_end().rsplit_once(char::is_whitespace)?;
    Some((url.trim_end(), length, digest))
}
