//! A domain file in memory: metadata, records, and the source text of each document, so that an
//! edit leaves the bytes of all other documents alone.

use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;
use urldb_files::{RootFile, is_there};
use urldb_text::{Code, Finding};

use crate::document::Document;
use crate::error::Error;
use crate::layout::Layout;
use crate::limits;
use crate::parts::open;
use crate::plain::{LeftOut, PlainRecord};
use crate::read::DocumentReader;
use crate::record::{ListOrder, Metadata, Record, RecordIdentity};
use crate::split::split;
use crate::value::Schema;
use crate::window::Surroundings;

pub(crate) const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// The first bytes of every pointer of Git LFS, by its specification.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

pub(crate) const LFS_MESSAGE: &str = "it is a pointer of Git LFS in place of the file";

pub(crate) const LFS_HELP: &str = "`git lfs pull` fetches the file; `git lfs untrack` keeps domain files out of Git LFS, so that git can merge them";

/// Refuses a file that begins with `bytes`, if it is a pointer of Git LFS: an edit would damage it.
pub(crate) fn refuse_lfs_pointer(bytes: &[u8]) -> io::Result<()> {
    if bytes.starts_with(LFS_POINTER) {
        return Err(io::Error::other(LFS_MESSAGE));
    }
    Ok(())
}

/// A domain file.
#[derive(Debug, Clone)]
pub struct DomainFile {
    pub(crate) path: PathBuf,
    pub(crate) host: String,
    /// The number of the first line: 1, unless this is a later part of a file.
    pub(crate) first_line: usize,
    /// Whether a line in an earlier part of the file ends in `\r\n`.
    pub(crate) crlf_before: bool,
    pub(crate) byte_order_mark: bool,
    /// Whether the first line ends in `\r\n`; edits end their lines likewise.
    pub(crate) crlf: bool,
    pub(crate) metadata: Metadata,
    /// The layout of the metadata document; `None` if the file has no such document.
    pub(crate) head: Option<Layout>,
    pub(crate) segments: Vec<Segment>,
    /// The comments after the last document.
    pub(crate) footer: String,
    /// The findings that prevent a canonical form, in the order of their lines.
    pub(crate) blocking: Vec<Finding>,
    /// The records that this part of the file lacks.
    left_out: LeftOut,
    /// The rest of the file, if only some of its documents were read.
    pub(crate) surroundings: Option<Surroundings>,
}

/// A document after the metadata.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly all are records")]
pub(crate) enum Segment {
    Record(RecordEntry),
    /// The source text of a document that is not a record.
    Broken(String),
}

/// A record with its position in the file.
#[derive(Debug, Clone)]
pub struct RecordEntry {
    pub(crate) record: Record,
    pub(crate) layout: Layout,
    /// Whether the whole document was understood.
    pub(crate) intact: bool,
    /// Whether the document is canonical, and certainly has no finding.
    pub(crate) is_plain: bool,
}

impl RecordEntry {
    /// The record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Whether the whole document was understood.
    pub fn is_intact(&self) -> bool {
        self.intact
    }

    /// The line of the `_path`, from 1.
    pub fn line(&self) -> usize {
        self.layout.line_of("_path")
    }

    /// The line of a key, from 1, if the record has it.
    pub fn key_line(&self, key: &str) -> Option<usize> {
        let has_key = self.layout.keys.iter().any(|(name, _)| name == key);
        has_key.then(|| self.layout.line_of(key))
    }

    /// The keys in the order of the file, each with its line, from 1.
    pub fn key_lines(&self) -> impl Iterator<Item = (&str, usize)> {
        self.layout
            .keys
            .iter()
            .map(|(key, offset)| (key.as_ref(), self.layout.start + offset))
    }
}

/// A domain file as read, with the mistakes that reading found.
#[derive(Debug, Clone)]
pub struct ParsedFile {
    /// The file; documents that could not be understood are missing from its records.
    pub file: DomainFile,
    /// The mistakes, in the order of the lines. [`crate::lint`] finds more.
    pub findings: Vec<Finding>,
}

/// State that a part of a file inherits from the parts before.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartStart {
    /// The number of lines before.
    pub(crate) lines: usize,
    /// The number of bytes before.
    pub(crate) bytes: usize,
    pub(crate) metadata: Metadata,
    in_conflict: bool,
    has_crlf: bool,
    pub(crate) has_invalid_utf8: bool,
}

impl PartStart {
    /// Passes over a part.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        self.lines += memchr::memchr_iter(b'\n', bytes).count();
        self.bytes += bytes.len();
    }
}

/// The codes that mean that some of the file was not understood.
const BLOCKING: &[Code] = &[
    Code::AnchorOrTag,
    Code::ConflictMarker,
    Code::DuplicateKey,
    Code::InvalidUtf8,
    Code::MissingPath,
    Code::NotAMapping,
    Code::SyntaxError,
    Code::UnreadableFile,
];

/// A domain file, whose folder is the database: a link out of it is refused.
pub(crate) fn in_database(path: &Path) -> RootFile {
    RootFile::at(path, "the database")
}

/// The host in the name of the domain file at `path`: the file name without `.yaml`.
pub fn host_of(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    name.strip_suffix(".yaml").unwrap_or(&name).to_owned()
}

impl DomainFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`Error::Read`] if `path` is not a regular file, cannot be read, is a pointer of Git LFS, or is a
    /// symbolic link that leads out of its directory: a change of the database must not change a file
    /// elsewhere.
    pub fn read(path: impl AsRef<Path>) -> Result<ParsedFile, Error> {
        let path = path.as_ref();
        Ok(Self::parse(path, &Self::read_bytes(path)?))
    }

    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// As [`Self::read`], and for lines and records beyond the limits, before all bytes are in memory.
    pub fn read_bytes(path: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
        let path = path.as_ref();
        let file = open(path)?;
        let bytes = limits::read(file);
        let bytes = bytes.and_then(|bytes| refuse_lfs_pointer(&bytes).map(|()| bytes));
        bytes.map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })
    }

    /// Reads the file at `path`. A file that cannot be read has no records, and one finding with
    /// the cause.
    pub fn read_or_report(path: impl AsRef<Path>) -> ParsedFile {
        let path = path.as_ref();
        Self::read(path).unwrap_or_else(|error| Self::reported(path, &error))
    }

    /// The file at `path`, which could not be read.
    pub(crate) fn reported(path: &Path, error: &Error) -> ParsedFile {
        Self::with_finding(path, limits::finding_of(error))
    }

    fn with_finding(path: &Path, finding: Finding) -> ParsedFile {
        ParsedFile {
            file: Self::unreadable(path, finding.clone()),
            findings: vec![finding],
        }
    }

    /// A file of which nothing was understood, for the reason in the finding.
    pub fn unreadable(path: impl AsRef<Path>, finding: Finding) -> Self {
        let mut file = Self::empty(path.as_ref());
        file.blocking = vec![finding];
        file
    }

    /// Reads `bytes` as the content of the file at `path`, which need not exist.
    pub fn parse(path: impl AsRef<Path>, bytes: &[u8]) -> ParsedFile {
        let path = path.as_ref();
        match limits::finding_in(bytes) {
            Some(finding) => Self::with_finding(path, finding),
            None => Self::parse_part(path, bytes, &mut PartStart::default()),
        }
    }

    /// Reads `bytes` as the part of a file that begins at `start`; `start` is then the next part's.
    pub(crate) fn parse_part(path: &Path, bytes: &[u8], start: &mut PartStart) -> ParsedFile {
        let mut findings = Vec::new();
        let whole = decode_utf8(bytes, start, &mut findings);
        let text = match start.lines {
            0 => whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&whole),
            _ => &whole,
        };
        let mut file = Self::empty(path);
        file.first_line = start.lines + 1;
        file.crlf_before = start.has_crlf;
        file.metadata = start.metadata.clone();
        file.byte_order_mark = text.len() < whole.len();
        file.crlf = text
            .split_once('\n')
            .is_some_and(|(first, _)| first.ends_with('\r'));
        if file.byte_order_mark {
            let finding = Finding::new(
                Code::ByteOrderMark,
                1,
                "the file starts with a byte order mark",
            );
            findings.push(finding.with_help("save it as UTF-8 without one; formatting removes it"));
        }
        file.read_text(text, &mut start.in_conflict, &mut findings);
        start.pass(bytes);
        start.has_crlf |= text.contains("\r\n");
        start.metadata = file.metadata.clone();
        if file.first_line == 1 && bytes.starts_with(LFS_POINTER) {
            let message = format!("the file cannot be read: {LFS_MESSAGE}");
            findings = vec![Finding::new(Code::UnreadableFile, 1, message).with_help(LFS_HELP)];
        }
        findings.sort_by_key(|finding| (finding.line, finding.column));
        file.blocking = findings
            .iter()
            .filter(|finding| BLOCKING.contains(&finding.code))
            .cloned()
            .collect();
        ParsedFile { file, findings }
    }

    fn empty(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            host: host_of(path),
            first_line: 1,
            crlf_before: false,
            byte_order_mark: false,
            crlf: false,
            metadata: Metadata::default(),
            head: None,
            segments: Vec::new(),
            footer: String::new(),
            blocking: Vec::new(),
            left_out: LeftOut::default(),
            surroundings: None,
        }
    }

    /// A part of the file at `path`, before `next`, whose records were left out.
    pub(crate) fn without(path: &Path, next: &PartStart, left_out: LeftOut) -> Self {
        Self {
            metadata: next.metadata.clone(),
            left_out,
            ..Self::empty(path)
        }
    }

    /// The records that [`Self::read_parts_where`] left out of this part of the file.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    fn read_text(&mut self, text: &str, in_conflict: &mut bool, findings: &mut Vec<Finding>) {
        let first_line = self.first_line;
        let documents = memmem::find_iter(text.as_bytes(), b"\n---").count() + 1;
        self.segments.reserve(documents);
        let (plain, read_lines) = self.read_plain(text);
        let text = &text[plain..];
        let line = first_line + read_lines;
        let stream = split(line, text);
        text[stream.footer.clone()].clone_into(&mut self.footer);
        let mut of_records = Vec::new();
        let mut reader = DocumentReader::new((line, text), &Schema::DOMAIN_FILE, in_conflict);
        let mut is_first = line == 1;
        for raw in &stream.documents {
            let is_first = std::mem::take(&mut is_first);
            let segment = if let Some(record) = PlainRecord::at_start_of(&text[raw.range.clone()]) {
                Segment::Record(record.to_entry(raw.lines.start))
            } else {
                let mut document = reader.read(raw);
                if is_first && document.mapping.get("_path").is_none() {
                    self.head = Some(Layout::new(&mut document, text));
                    self.metadata = Metadata::from_mapping(document.mapping);
                    continue;
                }
                read_record(document, text, &mut of_records)
            };
            self.segments.push(segment);
        }
        findings.append(&mut reader.findings);
        if self.head.is_none() && first_line == 1 {
            let finding = Finding::new(
                Code::MissingMetadata,
                1,
                "the file does not start with a metadata document",
            );
            findings.push(finding.with_help("start the file with a line `---` of its own"));
        }
        findings.append(&mut of_records);
    }

    /// Reads the plain records at the start of `text`. Returns the number of their bytes and lines.
    fn read_plain(&mut self, text: &str) -> (usize, usize) {
        let (mut bytes, mut lines) = (0, 0);
        while let Some(record) = PlainRecord::at_start_of(&text[bytes..]) {
            let entry = record.to_entry(self.first_line + lines);
            bytes += entry.layout.source.len();
            lines += entry.layout.line_count();
            self.segments.push(Segment::Record(entry));
        }
        (bytes, lines)
    }

    /// A file without records, to be written to `path`.
    ///
    /// # Errors
    /// [`Error::FileExists`] if there is anything at `path`.
    pub fn create(path: impl AsRef<Path>, metadata: Metadata) -> Result<Self, Error> {
        let path = path.as_ref();
        if is_there(path) {
            return Err(Error::FileExists {
                path: path.to_owned(),
            });
        }
        let mut file = Self::empty(path);
        let mut head = Layout::first(String::new());
        head.rewrite(&metadata.fields(ListOrder::Sorted), false);
        (file.metadata, file.head) = (metadata, Some(head));
        Ok(file)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The host of the domain, from the file name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The number of the first line: 1, unless this is a later part of a file.
    pub fn first_line(&self) -> usize {
        self.first_line
    }

    /// The metadata: the first document of the file.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The line of a metadata key, from 1; the first line if the file lacks the key.
    pub fn metadata_line(&self, key: &str) -> usize {
        self.head.as_ref().map_or(1, |head| head.line_of(key))
    }

    /// The findings because of which some of the file was not understood, in the order of the lines.
    pub fn blocking_findings(&self) -> &[Finding] {
        &self.blocking
    }

    /// The first of [`Self::blocking_findings`] in the metadata document with this layout.
    pub(crate) fn blocking_in(&self, head: &Layout) -> Option<&Finding> {
        let lines = head.start..head.start + head.line_count();
        let mut blocking = self.blocking.iter();
        blocking.find(|finding| lines.contains(&finding.line))
    }

    /// The records, in the order of the file.
    pub fn records(&self) -> impl Iterator<Item = &RecordEntry> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Record(entry) => Some(entry),
            Segment::Broken(_) => None,
        })
    }

    /// The identity of a record in this file. With `case-sensitive-paths: false` the case of the path
    /// makes no difference; the case of the query does.
    pub fn identity_of(&self, record: &Record) -> RecordIdentity {
        record.identity_with(self.metadata.ignores_case())
    }

    /// Whether each path comes after the one before, so that all identities differ.
    pub fn has_ascending_paths(&self) -> bool {
        let paths = self.records().map(|entry| &entry.record.path);
        !self.metadata.ignores_case() && paths.is_sorted_by(|one, next| one < next)
    }

    /// The text of the documents that were read, with all edits.
    pub fn text(&self) -> String {
        let mut text = String::new();
        text.push_str(if self.byte_order_mark {
            BYTE_ORDER_MARK
        } else {
            ""
        });
        text.push_str(self.head.as_ref().map_or("", |head| &head.source));
        for segment in &self.segments {
            text.push_str(segment.source());
        }
        text.push_str(&self.footer);
        text
    }

    /// Replaces the file by the file with all edits in one step.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be replaced, or as [`Self::write_to`].
    pub fn write(&self) -> Result<(), Error> {
        let written = in_database(&self.path).replace_with(|out| self.write_to(out));
        written.map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })
    }

    /// Replaces the file by another text in one step: the canonical form, for example.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be replaced.
    pub fn write_text(&self, text: &str) -> Result<(), Error> {
        let written = in_database(&self.path).replace(text.as_bytes());
        written.map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })
    }
}

impl Segment {
    pub(crate) fn source(&self) -> &str {
        match self {
            Self::Record(entry) => &entry.layout.source,
            Self::Broken(source) => source,
        }
    }
}

pub(crate) fn read_record(
    mut document: Document,
    text: &str,
    findings: &mut Vec<Finding>,
) -> Segment {
    let layout = Layout::new(&mut document, text);
    let (intact, start) = (document.intact, document.start_line);
    let path_line = document.key_line("_path");
    if let Some(record) = Record::from_mapping(document.mapping) {
        return Segment::Record(RecordEntry {
            record,
            layout,
            intact,
            is_plain: false,
        });
    }
    if let Some(line) = path_line {
        let finding = Finding::new(Code::MissingPath, line, "`_path` is not text");
        findings.push(finding.with_help("write one path on the line of the key"));
    } else if intact {
        let finding = Finding::new(Code::MissingPath, start, "this record has no `_path`");
        findings.push(finding.with_help("add one, or remove the document"));
    }
    Segment::Broken(layout.source)
}

/// The text of a part of the file, with U+FFFD for bytes that are not UTF-8; the first such byte of
/// the file is a finding.
fn decode_utf8<'a>(
    bytes: &'a [u8],
    start: &mut PartStart,
    findings: &mut Vec<Finding>,
) -> std::borrow::Cow<'a, str> {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return text.into(),
        Err(error) => error,
    };
    if !std::mem::replace(&mut start.has_invalid_utf8, true) {
        let offset = error.valid_up_to();
        let before = &bytes[..offset];
        let line = start.lines + 1 + String::from_utf8_lossy(before).matches('\n').count();
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let column = 1 + String::from_utf8_lossy(&before[line_start..])
            .chars()
            .count();
        let message = format!(
            "byte {} (0x{:02X}) of the file is not UTF-8",
            start.bytes + offset,
            bytes[offset]
        );
        let finding = Finding::new(Code::InvalidUtf8, line, message).at_column(column);
        findings.push(finding.with_help("save the file as UTF-8"));
    }
    String::from_utf8_lossy(bytes)
}
