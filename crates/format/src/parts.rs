//! Reads a domain file in parts of whole documents, so that memory does not grow with the file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::domain_file::{
    BYTE_ORDER_MARK, DomainFile, ParsedFile, PartStart, RecordEntry, in_database,
    refuse_lfs_pointer,
};
use crate::error::Error;
use crate::limits;
use crate::plain::{self, LeftOut};
use crate::record::RecordIdentity;

/// The number of bytes that are read at once: the most in a part, unless a record is longer. A run has
/// parts of many files in memory at once.
pub(crate) const PART_SIZE: usize = 32 * 1024;

/// The same for parts that are only scanned, one file after the other.
const SCANNED_PART_SIZE: usize = 128 * 1024;

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
pub struct FileParts<W> {
    path: PathBuf,
    /// `None` at the end.
    parts: Option<Parts<File>>,
    /// Whether a record is wanted, by its path.
    wants: W,
}

impl DomainFile {
    /// Reads the file at `path` part by part.
    ///
    /// # Errors
    /// [`Error::Read`] if `path` is not a regular file, or cannot be read. The first part of a pointer of
    /// Git LFS is such an error.
    pub fn read_parts(path: impl AsRef<Path>) -> Result<FileParts<impl Fn(&str) -> bool>, Error> {
        Self::read_parts_where(path, |_| true)
    }

    /// As [`Self::read_parts`], but a part of nothing but canonical records without a finding has no
    /// records if `wants` is false for all of their paths. [`Self::left_out`] counts them.
    ///
    /// # Errors
    /// As [`Self::read_parts`].
    pub fn read_parts_where<W: Fn(&str) -> bool>(
        path: impl AsRef<Path>,
        wants: W,
    ) -> Result<FileParts<W>, Error> {
        FileParts::open(path.as_ref(), wants, PART_SIZE)
    }

    /// Reads only the metadata of `bytes`, the content of the file at `path`, which need not exist.
    pub fn parse_head(path: impl AsRef<Path>, bytes: &[u8]) -> Self {
        let path = path.as_ref();
        match Parts::to_scan(path, bytes).scan_next(|_| false) {
            Ok(Some(ScannedPart::Parsed { parsed, .. })) => parsed.file,
            _ => Self::parse(path, b"").file,
        }
    }

    /// As [`Self::read_parts`]. A file that cannot be read is [`FilePart::Whole`], as
    /// [`Self::read_or_report`] reads it.
    pub fn read_parts_or_report(path: impl AsRef<Path>) -> impl Iterator<Item = FilePart> {
        Self::read_parts_where_or_report(path, |_| true)
    }

    /// As [`Self::read_parts_where`], and [`Self::read_parts_or_report`].
    pub fn read_parts_where_or_report<W: Fn(&str) -> bool>(
        path: impl AsRef<Path>,
        wants: W,
    ) -> impl Iterator<Item = FilePart> {
        let path = path.as_ref().to_owned();
        let (parts, error) = match Self::read_parts_where(&path, wants) {
            Ok(parts) => (Some(parts), None),
            Err(error) => (None, Some(Err(error))),
        };
        let parts = parts.into_iter().flatten().chain(error);
        parts.map(move |part| {
            part.unwrap_or_else(|error| FilePart::Whole {
                parsed: Self::reported(&path, &error),
                known_lines: 0,
            })
        })
    }
}

impl<W: Fn(&str) -> bool> Iterator for FileParts<W> {
    type Item = Result<FilePart, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let parts = self.parts.as_mut()?;
        let known_lines = parts.start.lines;
        let (parsed, is_in_order) = match parts.scan_next(&self.wants) {
            Ok(Some(ScannedPart::Parsed {
                parsed,
                is_in_order,
            })) => (*parsed, is_in_order),
            Ok(Some(ScannedPart::LeftOut(left_out))) => (parts.without(left_out), true),
            Ok(None) => {
                self.parts = None;
                return None;
            }
            Err(source) => {
                self.parts = None;
                let path = self.path.clone();
                return Some(Err(Error::Read { path, source }));
            }
        };
        if parts.reader.is_exhausted() {
            // Frees the file and the room for a part while the caller works on the last one.
            self.parts = None;
        }
        // Without case, equal paths need not be neighbours.
        if is_in_order && !parsed.file.metadata().ignores_case() {
            return Some(Ok(FilePart::Next(parsed)));
        }
        self.parts = None;
        let whole = DomainFile::read(&self.path);
        Some(whole.map(|parsed| FilePart::Whole {
            parsed,
            known_lines,
        }))
    }
}

impl<W> FileParts<W> {
    fn open(path: &Path, wants: W, part_size: usize) -> Result<Self, Error> {
        let file = open(path)?;
        Ok(Self {
            path: path.to_owned(),
            parts: Some(Parts::new(path, file, part_size)),
            wants,
        })
    }
}

/// Opens the domain file at `path`.
///
/// # Errors
/// As [`DomainFile::read`].
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let opened = || {
        let file = in_database(path).open()?;
        limits::check_file(file.metadata()?.len())?;
        Ok(file)
    };
    opened().map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

/// The parts of a domain file, each read as far as the caller wants.
#[derive(Debug)]
pub(crate) struct Parts<R> {
    path: PathBuf,
    reader: PartReader<R>,
    /// The start of the next part.
    pub(crate) start: PartStart,
    /// The last record so far.
    pub(crate) last: Option<RecordIdentity>,
    /// The number of records so far.
    records: u64,
}

/// A part that was read only as far as needed.
#[derive(Debug)]
pub(crate) enum ScannedPart {
    /// Only canonical records without a finding, in strictly ascending order after all records before, and
    /// none of them is wanted.
    LeftOut(LeftOut),
    /// Anything else; `is_in_order` says whether the records are in that order.
    Parsed {
        parsed: Box<ParsedFile>,
        is_in_order: bool,
    },
}

impl<R: Read> Parts<R> {
    pub(crate) fn new(path: &Path, source: R, part_size: usize) -> Self {
        Self {
            path: path.to_owned(),
            reader: PartReader::new(source, part_size),
            start: PartStart::default(),
            last: None,
            records: 0,
        }
    }

    /// The parts for [`Self::scan_next`] of the file at `path`, which need not exist, with the content of
    /// `source`.
    pub(crate) fn to_scan(path: &Path, source: R) -> Self {
        Self::new(path, source, SCANNED_PART_SIZE)
    }

    /// Scans the next part. A part with anything but plain records, or with a path that `wants` wants, is
    /// read; so is the first part, which has the metadata.
    pub(crate) fn scan_next(
        &mut self,
        wants: impl Fn(&str) -> bool,
    ) -> io::Result<Option<ScannedPart>> {
        let Some(bytes) = self.reader.next_part(self.start.lines)? else {
            return Ok(None);
        };
        if self.start.bytes == 0 {
            refuse_lfs_pointer(bytes)?;
        }
        let before = self.last.as_ref().map(|last| last.path.as_str());
        if self.start.lines > 0
            && let Ok(text) = std::str::from_utf8(bytes)
            && let Some((last, left_out)) = plain::leave_out(text, before, wants)
        {
            self.last = Some(RecordIdentity::get(last));
            self.start.pass(bytes);
            self.count(left_out.records)?;
            return Ok(Some(ScannedPart::LeftOut(left_out)));
        }
        let parsed = DomainFile::parse_part(&self.path, bytes, &mut self.start);
        self.count(parsed.file.records().count() as u64)?;
        let is_in_order = continues(&mut self.last, &parsed.file);
        Ok(Some(ScannedPart::Parsed {
            parsed: Box::new(parsed),
            is_in_order,
        }))
    }

    /// Counts records of the last part.
    fn count(&mut self, records: u64) -> io::Result<()> {
        self.records += records;
        limits::check_records(self.records)?;
        // The file may grow meanwhile.
        Ok(limits::check_file(self.start.bytes as u64)?)
    }

    /// The last part without the records that were left out.
    fn without(&self, left_out: LeftOut) -> ParsedFile {
        ParsedFile {
            file: DomainFile::without(&self.path, &self.start, left_out),
            findings: vec![],
        }
    }
}

/// Whether the records of `part` are in strictly ascending order after `last`, which becomes the last of
/// them.
fn continues(last: &mut Option<RecordIdentity>, part: &DomainFile) -> bool {
    let mut records = part.records().map(RecordEntry::record);
    let Some(mut previous) = records.next() else {
        return true;
    };
    let mut is_in_order = last.as_ref().is_none_or(|last| *last < previous.identity());
    for record in records {
        is_in_order &= previous.path < record.path || previous.identity() < record.identity();
        previous = record;
    }
    *last = Some(previous.identity());
    is_in_order
}

/// Cuts the bytes of a file between documents, where [`crate::split`] does. The first part is the first
/// document, which describes the domain.
#[derive(Debug)]
pub(crate) struct PartReader<R> {
    source: R,
    part_size: usize,
    /// Room for the bytes of the last part, and those that were read after it.
    buffer: Vec<u8>,
    /// The number of these bytes.
    filled: usize,
    /// The length of the last part.
    taken: usize,
    is_first: bool,
    /// Whether the source was at its end when the last part was read.
    is_end: bool,
}

impl<R: Read> PartReader<R> {
    pub(crate) fn new(source: R, part_size: usize) -> Self {
        Self {
            source,
            part_size,
            buffer: Vec::new(),
            filled: 0,
            taken: 0,
            is_first: true,
            is_end: false,
        }
    }

    /// The bytes of the next part, with the number of lines before; `None` at the end. An empty file has one
    /// part.
    ///
    /// # Errors
    /// When the source cannot be read, or has a line or a record beyond the limits.
    pub(crate) fn next_part(&mut self, lines_before: usize) -> io::Result<Option<&[u8]>> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        let mut searched = 0;
        self.taken = loop {
            self.is_end = self.fill()?;
            let cut = match (self.is_first, self.is_end) {
                (true, is_end) => self.first_cut(searched, is_end),
                (false, false) => self.last_cut(searched),
                (false, true) => None,
            };
            if cut.is_some() || self.is_end {
                break cut.unwrap_or(self.filled);
            }
            // Within twice the length of a record, a record ends, or the comments above the next one do.
            if self.filled > 2 * limits::LONGEST_RECORD + self.part_size {
                limits::check(self.bytes(), lines_before)?;
            }
            // The end may be the start of a marker.
            searched = self.filled.saturating_sub(b"\n---\r".len());
        };
        let is_part = self.is_first || self.taken > 0;
        self.is_first = false;
        limits::check(&self.buffer[..self.taken], lines_before)?;
        Ok(is_part.then(|| &self.buffer[..self.taken]))
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Whether the last part was the end of the source.
    fn is_exhausted(&self) -> bool {
        self.is_end && self.taken == self.filled
    }

    /// Reads up to the size of a part, or as much again; returns whether the source is at its end.
    fn fill(&mut self) -> io::Result<bool> {
        let missing = self.part_size.saturating_sub(self.filled);
        let room = if missing > 0 { missing } else { self.part_size };
        let end = self.filled + room;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        while self.filled < end {
            match self.source.read(&mut self.buffer[self.filled..end]) {
                Ok(0) => break,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.filled < end)
    }

    /// The end of the first document, if a marker after the offset `searched` shows it.
    fn first_cut(&self, searched: usize, is_end: bool) -> Option<usize> {
        memmem::find_iter(&self.bytes()[searched..], b"\n---")
            .map(|at| searched + at + 1)
            .filter(|marker| self.is_marker(*marker, is_end))
            .find_map(|marker| self.cut_before(marker))
    }

    /// The start of the last document whose marker is after the offset `searched`.
    fn last_cut(&self, searched: usize) -> Option<usize> {
        memmem::rfind_iter(&self.bytes()[searched..], b"\n---")
            .map(|at| searched + at + 1)
            .filter(|marker| self.is_marker(*marker, false))
            .find_map(|marker| self.cut_before(marker))
    }

    /// Whether the line at this offset, which begins with `---`, starts a document.
    fn is_marker(&self, at: usize, is_end: bool) -> bool {
        match &self.bytes()[at + "---".len()..] {
            [] => is_end,
            [b'\n' | b' ' | b'\t', ..] | [b'\r', b'\n', ..] => true,
            _ => false,
        }
    }

    /// The start of the document whose marker is at this offset, comments included; `None` if no other
    /// document comes before.
    fn cut_before(&self, marker: usize) -> Option<usize> {
        let mark = BYTE_ORDER_MARK.as_bytes();
        let has_mark = self.is_first && self.bytes().starts_with(mark);
        let text_start = if has_mark { mark.len() } else { 0 };
        let (mut cut, mut end) = (marker, marker);
        while end > text_start {
            let before = &self.bytes()[text_start..end - 1];
            let start = memchr::memrchr(b'\n', before).map_or(text_start, |at| text_start + at + 1);
            match LineKind::of(&self.bytes()[start..end]) {
                LineKind::Comment => cut = start,
                LineKind::Blank => {}
                LineKind::Content => return Some(cut),
            }
            end = start;
        }
        None
    }
}

/// Role of a line for [`crate::split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Comment,
    Blank,
    /// A marker, or a line of a document.
    Content,
}

impl LineKind {
    /// The kind of a line with its line break.
    pub(crate) fn of(line: &[u8]) -> Self {
        let text = line
            .strip_suffix(b"\n")
            .map_or(line, |text| text.strip_suffix(b"\r").unwrap_or(text));
        if text.starts_with(b"#") {
            Self::Comment
        } else if text.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
            Self::Blank
        } else {
            Self::Content
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::lint;
    use crate::plain::tests::{mutated, plain_file};

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
            for part in FileParts::open(&path, |_: &str| true, part_size).unwrap() {
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

        #[test]
        fn parts_leave_out_only_plain_records_that_are_not_wanted(
            bytes in prop_oneof![mutated(plain_file()), text()],
            part_size in 1_usize..200,
            one in any::<prop::sample::Index>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("example.org.yaml");
            std::fs::write(&path, &bytes).unwrap();
            let whole = DomainFile::read(&path).unwrap();
            let all: Vec<_> = whole.file.records().cloned().collect();
            let wanted = all.get(one.index(all.len() + 1)).map(|entry| entry.record.path.clone());
            let wants = |path: &str| Some(path) == wanted.as_deref();
            let (mut findings, mut records) = (vec![], vec![]);
            let mut left_out = LeftOut::default();
            for part in FileParts::open(&path, wants, part_size).unwrap() {
                let part = part.unwrap();
                if matches!(part, FilePart::Whole { .. }) {
                    records.clear();
                    left_out = LeftOut::default();
                }
                let (parsed, known_lines) = part.into_parsed();
                prop_assert_eq!(parsed.file.metadata(), whole.file.metadata());
                let new = lint(&parsed, &[]).into_iter().filter(|it| it.line > known_lines);
                findings.extend(new);
                records.extend(parsed.file.records().map(|it| (it.line(), it.record.clone())));
                left_out.records += parsed.file.left_out().records;
                left_out.deprecated += parsed.file.left_out().deprecated;
            }
            prop_assert_eq!(findings, lint(&whole, &[]));
            let known: BTreeSet<usize> = records.iter().map(|(line, _)| *line).collect();
            let (read, missing): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|entry| known.contains(&entry.line()));
            let read: Vec<_> = read.into_iter().map(|it| (it.line(), it.record)).collect();
            prop_assert_eq!(records, read);
            prop_assert!(missing.iter().all(|entry| !wants(&entry.record.path)));
            let deprecated = missing.iter().filter(|it| it.record.has_category("deprecated"));
            let expected = LeftOut {
                records: missing.len() as u64,
                deprecated: deprecated.count() as u64,
            };
            prop_assert_eq!(left_out, expected);
        }
    }

    #[test]
    fn canonical_records_that_are_not_wanted_are_left_out() {
        let mut text = "---\nhttps: true\n".to_owned();
        for number in 0..50_000 {
            let category = if number % 5 == 0 {
                "deprecated"
            } else {
                "core"
            };
            writeln!(text, "---\n_path: /{number:09}\ncategories:\n- {category}").unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("example.org.yaml");
        std::fs::write(&path, text).unwrap();
        let parts = DomainFile::read_parts_where(&path, |path| path == "/000030000").unwrap();
        let (mut read, mut left_out) = (0, LeftOut::default());
        for part in parts {
            let file = part.unwrap().into_parsed().0.file;
            read += file.records().count() as u64;
            left_out.records += file.left_out().records;
            left_out.deprecated += file.left_out().deprecated;
        }
        assert!((1..2_000).contains(&read), "{read}");
        assert_eq!(read + left_out.records, 50_000);
        assert!(
            left_out.deprecated.abs_diff(left_out.records / 5) < 5,
            "{left_out:?}"
        );
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
