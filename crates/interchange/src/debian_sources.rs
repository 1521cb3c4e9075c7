//! `Sources` and `Packages` of a Debian archive: the files below the URL of the archive, with their lengths and digests.
//!
//! A paragraph of `Sources` has lines `DIGEST LENGTH NAME` for each algorithm, and their `Directory`; one of `Packages` has a
//! `Filename`.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::digest::{self, notice};
use crate::file_events::FileEvents;
use crate::model::{FilePromise, Location, Notice, ReadError, Sink};
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
            return std::mem::take(&mut paragraph).finish(base, events);
        }
        if text.starts_with('#') {
            return Ok(());
        }
        paragraph.line(text, line.number, events)
    })?;
    paragraph.finish(base, &mut events)
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

/// The promise of a line about a file.
fn parse(
    digest: &str,
    length: &str,
    algorithm: Algorithm,
    location: &Location,
) -> Result<FilePromise, Notice> {
    let digest = digest::parse(digest, Some(algorithm))
        .map_err(|unknown| notice(location.clone(), &unknown))?;
    let length = parse_length(length, location)?;
    Ok(FilePromise::of(Some(length), Some(digest)))
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
    /// Its first line.
    start: Option<u64>,
    /// The field of the last line.
    field: Field,
    /// The number of bytes that are kept.
    kept: usize,
    directory: Option<String>,
    /// The files below the directory, by name; `None` for those that a notice refused.
    files: BTreeMap<String, Option<(u64, FilePromise)>>,
    filename: Option<(u64, String)>,
    /// The promise of `filename`.
    promise: FilePromise,
    is_refused: bool,
}

impl Paragraph {
    fn line(
        &mut self,
        text: &str,
        line: u64,
        events: &mut FileEvents<'_, '_>,
    ) -> Result<(), ReadError> {
        self.start.get_or_insert(line);
        if text.starts_with([' ', '\t']) {
            return match self.field {
                Field::Digests(algorithm) => self.listed(text, algorithm, line, events),
                _ => Ok(()),
            };
        }
        let Some((name, value)) = text.split_once(':') else {
            self.field = Field::Other;
            let why = "the line is neither a field nor its continuation";
            return events.refuse(line, "bad-line", why);
        };
        self.field = Field::of(name);
        let value = value.trim();
        match self.field {
            Field::Directory => self.directory = Some(value.to_owned()),
            Field::Filename => self.filename = Some((line, value.to_owned())),
            Field::Size => match parse_length(value, &events.at(line)) {
                Ok(length) => self.promise.length = Some((length, None)),
                Err(notice) => self.refuse(notice, events)?,
            },
            Field::Digest(algorithm) => match digest::parse(value, Some(algorithm)) {
                Ok(digest) => self.promise.digests.push((digest, None)),
                Err(unknown) => self.refuse(notice(events.at(line), &unknown), events)?,
            },
            Field::ForeignDigests => {
                let why = format!("records hold no digests of {name}");
                events.skip(line, "algorithm", &why)?;
            }
            Field::Digests(algorithm) if !value.is_empty() => {
                self.listed(value, algorithm, line, events)?;
            }
            Field::Digests(_) | Field::Other => {}
        }
        Ok(())
    }

    /// Refuses the file that `Filename` names.
    fn refuse(&mut self, notice: Notice, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
        self.is_refused = true;
        events.pass(notice)
    }

    /// A line `DIGEST LENGTH NAME`.
    fn listed(
        &mut self,
        text: &str,
        algorithm: Algorithm,
        line: u64,
        events: &mut FileEvents<'_, '_>,
    ) -> Result<(), ReadError> {
        let words: Vec<&str> = text.split_ascii_whitespace().take(4).collect();
        let &[digest, length, name] = &*words else {
            let why = "the line is not DIGEST LENGTH NAME";
            return events.refuse(line, "bad-line", why);
        };
        self.kept += text.len();
        if self.kept > MAX_PARAGRAPH {
            let message = "the files of the paragraph take more than 1 MiB";
            return Err(ReadError::malformed(events.file, line, message));
        }
        let location = events.at(line);
        let found = parse(digest, length, algorithm, &location);
        let start = || Some((line, FilePromise::default()));
        let file = self.files.entry(name.to_owned()).or_insert_with(start);
        let Some((_, known)) = file else {
            return Ok(());
        };
        let added = found.and_then(|found| {
            let is_same = known.length.is_none() || known.length == found.length;
            known.length = found.length;
            let added = found
                .digests
                .into_iter()
                .try_for_each(|(digest, place)| known.add(digest, place));
            if is_same && added.is_ok() {
                return Ok(());
            }
            let message = format!("the lines of {name} contradict each other");
            Err(Notice::refused(location, "contradiction", message))
        });
        if let Err(notice) = added {
            *file = None;
            events.pass(notice)?;
        }
        Ok(())
    }

    fn finish(self, base: &str, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
        let Some(start) = self.start else {
            return Ok(());
        };
        if let Some((line, name)) = self.filename {
            if self.is_refused {
                return Ok(());
            }
            let item = item_below(base, &name, events.at(line));
            return events.promise(item, &self.promise);
        }
        let Some(directory) = self.directory.filter(|_| !self.files.is_empty()) else {
            let why = "the paragraph has neither `Filename` nor files below a `Directory`";
            return events.refuse(start, "no-url", why);
        };
        let folder = match directory.trim_end_matches('/') {
            "." => String::new(),
            folder => format!("{folder}/"),
        };
        for (name, file) in self.files {
            let Some((line, promise)) = file else {
                continue;
            };
            let item = item_below(base, &format!("{folder}{name}"), events.at(line));
            events.promise(item, &promise)?;
        }
        Ok(())
    }
}
