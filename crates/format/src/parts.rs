//! Reads a domain file in parts of whole documents, so that memory does not grow with the file.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::domain_file::{BYTE_ORDER_MARK, DomainFile, ParsedFile, PartStart, ensure_inside};
use crate::error::Error;
use crate::record::RecordIdentity;

/// The least number of bytes in a part, except the last. A longer record makes a longer part. A run
/// has parts of many files in memory at once.
const PART_SIZE: usize = 32 * 1024;

/// A part of a domain file.
#[derive(Debug)]
pub enum FilePart {
    /// The documents after those of the part before: metadata, some of the records, and the findings
    /// about them. The records of these parts are in strictly ascending order, so no record repeats
    /// an earlier one.
    Next(ParsedFile),
    /// The whole file, in place of all parts before, because its records are not in order.
    Whole {
        /// The file.
        parsed: ParsedFile,
        /// The number of lines, from the first, in the parts before.
        known_lines: usize,
    },
}

impl FilePart {
    /// What was read, and the number of lines, from the first, that earlier parts had already.
    pub fn into_parsed(self) -> (ParsedFile, usize) {
        match self {
            Self::Next(parsed) => (parsed, 0),
            Self::Whole {
                parsed,
                known_lines,
            } => (parsed, known_lines),
        }
    }
}

/// The parts of a domain file, in order. Ends after an error, or after [`FilePart::Whole`].
#[derive(Debug)]
pub struct FileParts {
    path: PathBuf,
    /// `None` at the end.
    reader: Option<PartReader<BufReader<File>>>,
    start: PartStart,
    /// The last record of the part before.
    last: Option<RecordIdentity>,
}

impl DomainFile {
    /// Reads the file at `path` part by part.
    ///
    /// # Errors
    /// [`Error::Read`] if `path` is not a regular file, or cannot be read.
    pub fn read_parts(path: impl AsRef<Path>) -> Result<FileParts, Error> {
        FileParts::open(path.as_ref(), PART_SIZE)
    }

    /// Reads the file at `path` part by part. A file that cannot be read is [`FilePart::Whole`], as
    /// [`Self::read_or_report`] reads it.
    pub fn read_parts_or_report(path: impl AsRef<Path>) -> impl Iterator<Item = FilePart> {
        let path = path.as_ref().to_owned();
        let (parts, error) = match Self::read_parts(&path) {
            Ok(parts) => (Some(parts), None),
            Err(error) => (None, Some(Err(error))),
        };
        let parts = parts.into_iter().flatten().chain(error);
        parts.map(move |part| {
            part.unwrap_or_else(|_| FilePart::Whole {
                parsed: Self::read_or_report(&path),
                known_lines: 0,
            })
        })
    }
}

impl Iterator for FileParts {
    type Item = Result<FilePart, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let bytes = match reader.next_part() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                self.reader = None;
                return None;
            }
            Err(source) => {
                self.reader = None;
                let path = self.path.clone();
                return Some(Err(Error::Read { path, source }));
            }
        };
        let known_lines = self.start.lines;
        let parsed = DomainFile::parse_part(&self.path, &bytes, &mut self.start);
        // Without case, equal paths need not be neighbours.
        let has_case = parsed.file.metadata().case_sensitive_paths != Some(false);
        if has_case && self.continues_with(&parsed.file) {
            return Some(Ok(FilePart::Next(parsed)));
        }
        self.reader = None;
        let whole = DomainFile::read(&self.path);
        Some(whole.map(|parsed| FilePart::Whole {
            parsed,
            known_lines,
        }))
    }
}

impl FileParts {
    fn open(path: &Path, part_size: usize) -> Result<Self, Error> {
        let file = ensure_inside(path).and_then(|()| urldb_files::open(path));
        let file = file.map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            reader: Some(PartReader::new(BufReader::new(file), part_size)),
            start: PartStart::default(),
            last: None,
        })
    }

    /// Whether all records are in strictly ascending order so far.
    fn continues_with(&mut self, part: &DomainFile) -> bool {
        for entry in part.records() {
            let identity = entry.record().identity();
            if self.last.as_ref().is_some_and(|last| *last >= identity) {
                return false;
            }
            self.last = Some(identity);
        }
        true
    }
}

/// Cuts the bytes of a file between documents, where [`crate::split`] does.
#[derive(Debug)]
struct PartReader<R> {
    source: R,
    part_size: usize,
    /// The bytes that were read and belong to no part yet.
    bytes: Vec<u8>,
    /// Whether `bytes` has the start of a document.
    has_document: bool,
    /// The offset in `bytes` of the first comment after the last content.
    comments: Option<usize>,
    is_first: bool,
}

impl<R: BufRead> PartReader<R> {
    fn new(source: R, part_size: usize) -> Self {
        Self {
            source,
            part_size,
            bytes: Vec::new(),
            has_document: false,
            comments: None,
            is_first: true,
        }
    }

    /// The bytes of the next part; `None` at the end. An empty file has one part.
    fn next_part(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            let start = self.bytes.len();
            if self.source.read_until(b'\n', &mut self.bytes)? == 0 {
                let is_part = self.is_first || !self.bytes.is_empty();
                self.is_first = false;
                return Ok(is_part.then(|| std::mem::take(&mut self.bytes)));
            }
            let mut line = &self.bytes[start..];
            if self.is_first && start == 0 {
                line = line
                    .strip_prefix(BYTE_ORDER_MARK.as_bytes())
                    .unwrap_or(line);
            }
            let line = LineKind::of(line);
            let cut = self.comments.unwrap_or(start);
            match line {
                LineKind::Marker if self.has_document && cut >= self.part_size => {
                    let rest = self.bytes.split_off(cut);
                    self.comments = None;
                    self.is_first = false;
                    return Ok(Some(std::mem::replace(&mut self.bytes, rest)));
                }
                LineKind::Comment => {
                    self.comments.get_or_insert(start);
                }
                LineKind::Blank => {}
                LineKind::Marker | LineKind::Content => {
                    self.comments = None;
                    self.has_document = true;
                }
            }
        }
    }
}

/// Role of a line for [`crate::split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Marker,
    Comment,
    Blank,
    Content,
}

impl LineKind {
    /// The kind of a line with its line break.
    fn of(line: &[u8]) -> Self {
        let text = line
            .strip_suffix(b"\n")
            .map_or(line, |text| text.strip_suffix(b"\r").unwrap_or(text));
        match text.strip_prefix(b"---") {
            Some([] | [b' ' | b'\t', ..]) => Self::Marker,
            _ if text.starts_with(b"#") => Self::Comment,
            _ if text.iter().all(|byte| matches!(byte, b' ' | b'\t')) => Self::Blank,
            _ => Self::Content,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lint;

    /// Texts of lines that matter to documents, records and findings.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            4 => Just("---\n".to_owned()),
            4 => "[a-d]{1,2}".prop_map(|path| format!("---\n_path: /{path}\n")),
            1 => Just("# a comment\n".to_owned()),
            1 => Just("\n".to_owned()),
            1 => Just("https: true\n".to_owned()),
            1 => Just("--- # inline\n".to_owned()),
            1 => Just("content-length: 3\n".to_owned()),
            1 => Just("content-length: three\r\n".to_owned()),
            1 => Just("name: |-\n  text\n  ---\n".to_owned()),
            1 => Just("- list\n".to_owned()),
            1 => Just("<<<<<<< ours\n".to_owned()),
            1 => Just("=======\n".to_owned()),
            1 => Just(">>>>>>> theirs\n".to_owned()),
            1 => Just("---".to_owned()),
        ];
        let end = prop::sample::select(vec![&b""[..], b"# end", b"\n\n", b"\xff\n"]);
        let start = prop::sample::select(vec!["", "\u{FEFF}", "---\n"]);
        let lines = prop::collection::vec(line, 0..12);
        (start, lines, end).prop_map(|(start, lines, end)| {
            [start.as_bytes(), lines.concat().as_bytes(), end].concat()
        })
    }

    proptest! {
        #[test]
        fn parts_say_what_the_whole_file_says(bytes in text(), part_size in 1_usize..40) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("example.org.yaml");
            std::fs::write(&path, &bytes).unwrap();
            let whole = DomainFile::read(&path).unwrap();
            let (mut findings, mut records, mut text) = (vec![], vec![], String::new());
            for part in FileParts::open(&path, part_size).unwrap() {
                let part = part.unwrap();
                if matches!(part, FilePart::Whole { .. }) {
                    records.clear();
                    text.clear();
                }
                let (parsed, known_lines) = part.into_parsed();
                let new = lint(&parsed, &[]).into_iter().filter(|it| it.line > known_lines);
                findings.extend(new);
                prop_assert_eq!(parsed.file.metadata(), whole.file.metadata());
                let found = parsed.file.records().cloned();
                records.extend(found.map(|it| (it.line(), it.record)));
                text.push_str(&parsed.file.text());
            }
            prop_assert_eq!(findings, lint(&whole, &[]));
            let wanted = whole.file.records().cloned();
            let wanted: Vec<_> = wanted.map(|it| (it.line(), it.record)).collect();
            prop_assert_eq!(records, wanted);
            prop_assert_eq!(text, whole.file.text());
        }
    }

    #[test]
    fn a_part_is_no_longer_than_needed() {
        let record = |number| format!("---\n_path: /{number:09}\n");
        let text: String = (0..50_000).map(record).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("example.org.yaml");
        std::fs::write(&path, format!("---\n{text}")).unwrap();
        let parts = DomainFile::read_parts(&path).unwrap();
        let lengths: Vec<usize> = parts
            .map(|part| part.unwrap().into_parsed().0.file.text().len())
            .collect();
        assert!(lengths.len() > 3, "{lengths:?}");
        assert!(
            lengths.iter().all(|length| *length < PART_SIZE + 100),
            "{lengths:?}"
        );
    }
}
