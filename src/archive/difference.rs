//! The difference between two archived contents: its place, and the changed lines if both are text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use anyhow::Context as _;
use urldb_protocol::{Contents, TextDifference};

use super::archived_files::contents;
use super::text_difference::text_difference;
use super::{Catalogue, Payload};

/// The largest texts that are compared line by line, in bytes and lines: the comparison takes several
/// times their memory.
pub const LONGEST_TEXT: u64 = 8 << 20;
/// See [`LONGEST_TEXT`].
pub const MOST_TEXT_LINES: usize = 500_000;

/// The largest contents that are copied out of the archive for the evidence of an incident, in bytes.
const LONGEST_CONTENT: u64 = 256 << 20;

/// Two contents that the archive may have: the promised and the observed one.
#[derive(Debug)]
pub struct ContentPair {
    /// The URIs under which they may be archived.
    pub uris: Vec<String>,
    /// SHA-256 of the promised bytes.
    pub promised: [u8; 32],
    /// SHA-256 of the observed bytes, as sent.
    pub observed: [u8; 32],
    /// Length of the longer one in bytes.
    pub length: u64,
}

/// The difference between two contents.
#[derive(Debug)]
pub struct Difference {
    /// The first byte that differs, from 0.
    pub first: u64,
    /// The lines that differ, if both contents are text.
    pub text: Option<TextDifference>,
    /// The files in them, if both are archives or compressed files.
    pub contents: Option<Contents>,
}

impl ContentPair {
    /// Compares the contents; `None` if the archive does not have both, if they are the same, or if they
    /// are too large.
    ///
    /// # Errors
    /// When the archive is damaged, or a file of it is missing.
    pub fn compare(&self, catalogue: &Catalogue) -> anyhow::Result<Option<Difference>> {
        if self.length > LONGEST_CONTENT {
            return Ok(None);
        }
        let promised = catalogue.content_of(&self.uris, self.promised)?;
        let observed = catalogue.content_of(&self.uris, self.observed)?;
        let (Some(promised), Some(observed)) = (promised, observed) else {
            return Ok(None);
        };
        let (mut old, mut new) = (copy_of(&promised)?, copy_of(&observed)?);
        let Some(first) = first_difference(from_start(&mut old)?, from_start(&mut new)?)? else {
            return Ok(None);
        };
        let text = match (content(&mut old)?, content(&mut new)?) {
            (Content::Text(old), Content::Text(new)) => Some(text_difference(&old, &new)),
            _ => None,
        };
        let contents = match text {
            Some(_) => None,
            None => contents(&mut old, &mut new),
        };
        Ok(Some(Difference {
            first,
            text,
            contents,
        }))
    }
}

/// The message about copies that cannot be made.
pub const NO_COPY: &str = "cannot use a temporary file (TMPDIR says where they are)";

/// A copy of a content, verified.
///
/// # Errors
/// When the archive is damaged, or a file of it is missing, or there is no room for the copy.
pub fn copy_of(payload: &Payload<'_>) -> anyhow::Result<File> {
    payload.from_good_copy(|| {
        let file = urldb_files::unnamed_file().context(NO_COPY)?;
        let mut output = BufWriter::new(&file);
        payload.copy_to(&mut output)?;
        output.flush().context(NO_COPY)?;
        drop(output);
        Ok(file)
    })
}

fn from_start(file: &mut File) -> io::Result<BufReader<&mut File>> {
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::new(file))
}

/// The kind of a content: lines, or bytes that are no text.
pub enum Content {
    /// Text of at most [`LONGEST_TEXT`] and [`MOST_TEXT_LINES`].
    Text(String),
    /// Longer than that.
    TooLong,
    /// No text.
    Binary,
}

/// The content of a file, read from its start.
///
/// # Errors
/// When the file cannot be read.
pub fn content(file: &mut File) -> io::Result<Content> {
    if file.metadata()?.len() > LONGEST_TEXT {
        return Ok(Content::TooLong);
    }
    let mut bytes = vec![];
    from_start(file)?.read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).ok();
    Ok(match text.filter(|text| !text.contains('\0')) {
        None => Content::Binary,
        Some(text) if text.lines().count() > MOST_TEXT_LINES => Content::TooLong,
        Some(text) => Content::Text(text),
    })
}

/// The offset of the first difference, in bytes.
///
/// # Errors
/// When one of them cannot be read.
pub fn first_difference(mut old: impl BufRead, mut new: impl BufRead) -> io::Result<Option<u64>> {
    let mut offset = 0;
    loop {
        let (one, other) = (old.fill_buf()?, new.fill_buf()?);
        let both = one.len().min(other.len());
        if let Some(at) = one.iter().zip(other).position(|(one, other)| one != other) {
            return Ok(Some(offset + at as u64));
        }
        if both == 0 {
            return Ok((one.len() != other.len()).then_some(offset));
        }
        old.consume(both);
        new.consume(both);
        offset += both as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found() {
        let first =
            |old: &str, new: &str| first_difference(old.as_bytes(), new.as_bytes()).unwrap();
        assert_eq!(first("abc", "abd"), Some(2));
        assert_eq!(first("abc", "abcd"), Some(3));
        assert_eq!(first("abc", "abc"), None);
        assert_eq!(first("", "a"), Some(0));
    }
}
