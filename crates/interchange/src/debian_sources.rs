//! `Sources` and `Packages` of a Debian archive: the files below the URL of the archive, with their lengths and digests.
//!
//! A paragraph of `Sources` has lines `DIGEST LENGTH NAME` for each algorithm, and their `Directory`; one of `Packages` has a
//! `Filename`.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use urldb_format::{Algorithm, Digest};

use crate::digest::{self, notice};
use crate::file_events::FileEvents;
use crate::model::{ListItem, Location, Notice, ReadError, Sink};
use crate::sums::item_below;

/// The size limit of what is kept of a paragraph. Real ones have at most some ten thousand bytes.
const MAX_PARAGRAPH: usize = 1 << 20;

/// Reads the index of an archive. `base` is the URL of the archive, with a final `/`.
///
/// Left out are digests of other algorithms (`algorithm`).
///
/// # Errors
/// [`ReadError::Malformed`] if the files of a paragraph take more than 1 MiB.
pub fn read(
    input: impl BufRead,
    file: &Arc<str>,
    base: &str,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut paragraph = Paragraph::default();
    let mut events = FileEvents { file, sink };
    events.each_line(input, &mut |line, events| {
        let text = line.text.strip_prefix('\u{feff}').unwrap_or(line.text);
        if text.trim().is_empty() {
            return std::mem::take(&mut paragraph).finish(base, events.sink);
        }
        if text.starts_with('#') {
            return Ok(());
        }
        paragraph.line(text, events.at(line.number), events.sink)
    })?;
    paragraph.finish(base, events.sink)
}

/// The meaning of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Field {
    Directory,
    Filename,
    Size,
    /// The digest of `Filename`.
    Digest(Algorithm),
    /// The digests of the files below `Directory`.
    Digests(Algorithm),
    /// Digests of an algorithm that records cannot hold.
    ForeignDigests,
    #[default]
    Other,
}

impl Field {
    fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let algorithm = || name.strip_prefix("checksums-").map(Algorithm::from_name);
        match &*name {
            "directory" => Self::Directory,
            "filename" => Self::Filename,
            "size" => Self::Size,
            "md5sum" => Self::Digest(Algorithm::Md5),
            "sha1" => Self::Digest(Algorithm::Sha1),
            "sha256" => Self::Digest(Algorithm::Sha256),
            "sha512" => Self::Digest(Algorithm::Sha512),
            "files" => Self::Digests(Algorithm::Md5),
            _ => match algorithm() {
                Some(Some(algorithm)) => Self::Digests(algorithm),
                Some(None) => Self::ForeignDigests,
                None => Self::Other,
            },
        }
    }
}

/// A file of a paragraph.
struct ListedFile {
    location: Location,
    length: u64,
    digests: Vec<Digest>,
}

impl ListedFile {
    fn parse(
        digest: &str,
        length: &str,
        algorithm: Algorithm,
        location: Location,
    ) -> Result<Self, Notice> {
        let found = digest::parse(digest, Some(algorithm));
        let digest = found.map_err(|unknown| notice(location.clone(), &unknown))?;
        Ok(Self {
            length: parse_length(length, &location)?,
            digests: vec![digest],
            location,
        })
    }

    /// The file with what another line says about it.
    fn with(mut self, other: Self, name: &str) -> Result<Self, Notice> {
        let differs = |new: &Digest| {
            let mut known = self.digests.iter();
            known.any(|known| known.algorithm() == new.algorithm() && known != new)
        };
        if self.length != other.length || other.digests.iter().any(differs) {
            let message = format!("the lines of {name} contradict each other");
            return Err(Notice::refused(other.location, "contradiction", message));
        }
        self.digests.extend(other.digests);
        Ok(self)
    }
}

fn parse_length(text: &str, location: &Location) -> Result<u64, Notice> {
    text.parse().map_err(|_| {
        let message = format!("the length is not a number: {text}");
        Notice::refused(location.clone(), "bad-length", message)
    })
}

/// A paragraph: the lines up to an empty one.
#[derive(Default)]
struct Paragraph {
    /// The place of its first line.
    start: Option<Location>,
    /// The field of the last line.
    field: Field,
    /// The number of bytes that are kept.
    kept: usize,
    directory: Option<String>,
    /// The files below the directory, by name; `None` for those that a notice refused.
    files: BTreeMap<String, Option<ListedFile>>,
    filename: Option<(Location, String)>,
    /// The length and the digests of `filename`; `None` if a notice refused one.
    length: Option<u64>,
    digests: Vec<Digest>,
    is_refused: bool,
}

impl Paragraph {
    fn line(
        &mut self,
        text: &str,
        location: Location,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        self.start.get_or_insert_with(|| location.clone());
        if text.starts_with([' ', '\t']) {
            return match self.field {
                Field::Digests(algorithm) => self.listed(text, algorithm, location, sink),
                _ => Ok(()),
            };
        }
        let Some((name, value)) = text.split_once(':') else {
            self.field = Field::Other;
            let message = "the line is neither a field nor its continuation";
            return Ok(sink(Notice::refused(location, "bad-line", message).into())?);
        };
        self.field = Field::of(name);
        let value = value.trim();
        match self.field {
            Field::Directory => self.directory = Some(value.to_owned()),
            Field::Filename => self.filename = Some((location, value.to_owned())),
            Field::Size => match parse_length(value, &location) {
                Ok(length) => self.length = Some(length),
                Err(notice) => self.refuse(notice, sink)?,
            },
            Field::Digest(algorithm) => match digest::parse(value, Some(algorithm)) {
                Ok(digest) => self.digests.push(digest),
                Err(unknown) => self.refuse(notice(location, &unknown), sink)?,
            },
            Field::ForeignDigests => {
                let message = format!("records hold no digests of {name}");
                sink(Notice::left_out(location, "algorithm", message).into())?;
            }
            Field::Digests(algorithm) if !value.is_empty() => {
                self.listed(value, algorithm, location, sink)?;
            }
            Field::Digests(_) | Field::Other => {}
        }
        Ok(())
    }

    /// Refuses the file that `Filename` names.
    fn refuse(&mut self, notice: Notice, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        self.is_refused = true;
        Ok(sink(notice.into())?)
    }

    /// A line `DIGEST LENGTH NAME`.
    fn listed(
        &mut self,
        text: &str,
        algorithm: Algorithm,
        location: Location,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        let words: Vec<&str> = text.split_ascii_whitespace().take(4).collect();
        let &[digest, length, name] = &*words else {
            let message = "the line is not DIGEST LENGTH NAME";
            return Ok(sink(Notice::refused(location, "bad-line", message).into())?);
        };
        self.kept += text.len();
        if self.kept > MAX_PARAGRAPH {
            return Err(ReadError::Malformed {
                location,
                message: "the files of the paragraph take more than 1 MiB".to_owned(),
            });
        }
        let file = ListedFile::parse(digest, length, algorithm, location);
        let file = match (self.files.remove(name), file) {
            (Some(None), _) => Ok(None),
            (Some(Some(known)), Ok(file)) => known.with(file, name).map(Some),
            (_, file) => file.map(Some),
        };
        let file = match file {
            Ok(file) => file,
            Err(notice) => {
                sink(notice.into())?;
                None
            }
        };
        self.files.insert(name.to_owned(), file);
        Ok(())
    }

    fn finish(self, base: &str, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let Some(start) = self.start else {
            return Ok(());
        };
        if let Some((location, name)) = self.filename {
            if self.is_refused {
                return Ok(());
            }
            let item = item_below(base, &name, location);
            let item = item.map(|it| with_digests(it, self.length, &self.digests));
            return Ok(sink(item.into())?);
        }
        let Some(directory) = self.directory.filter(|_| !self.files.is_empty()) else {
            let message = "the paragraph has neither `Filename` nor files below a `Directory`";
            return Ok(sink(Notice::refused(start, "no-url", message).into())?);
        };
        let folder = match directory.trim_end_matches('/') {
            "." => String::new(),
            folder => format!("{folder}/"),
        };
        for (name, file) in self.files {
            let Some(file) = file else {
                continue;
            };
            let path = format!("{folder}{name}");
            let item = item_below(base, &path, file.location);
            let item = item.map(|it| with_digests(it, Some(file.length), &file.digests));
            sink(item.into())?;
        }
        Ok(())
    }
}

fn with_digests(mut item: ListItem, length: Option<u64>, digests: &[Digest]) -> ListItem {
    for digest in digests {
        item.set_digest(digest, None);
    }
    if let Some(length) = length {
        item.set_length(length, None);
    }
    item
}
