//! Reads a domain file document by document, in memory that does not grow with the file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

use urldb_text::{Code, Finding};

use crate::chunks::{BYTE_ORDER_MARK, CHUNK_SIZE, ChunkReader};
use crate::disk::{open, read_error, refuse_lfs_pointer};
use crate::document_ref::{Content, DocumentRef, DocumentStart, HeadRef};
use crate::entry::Segment;
use crate::error::Error;
use crate::layout::Layout;
use crate::limits;
use crate::metadata::Metadata;
use crate::plain::{KnownLists, PlainRecord};
use crate::read::DocumentReader;
use crate::record::{Record, RecordIdentity};
use crate::split::{LineStart, next_document};
use crate::value::Schema;

/// The documents of a domain file, one after the other: the metadata, the records and whatever is no record, and
/// at last the comments at the end. A file without metadata or without such comments has empty ones.
#[derive(Debug)]
pub struct DomainReader<R> {
    path: PathBuf,
    chunks: ChunkReader<R>,
    /// The last chunk.
    text: String,
    /// The offset of the next document in the chunk.
    at: usize,
    next: Next,
    state: State,
}

/// The kind of the next document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Head,
    Document,
    Nothing,
}

/// The start of the file.
#[derive(Debug, Default)]
struct Head {
    metadata: Metadata,
    /// The layout of the metadata document; `None` if the file has no such document.
    layout: Option<Layout>,
    byte_order_mark: bool,
    /// Whether the first line of the file ends in `\r\n`.
    crlf: bool,
}

/// Knowledge about the documents so far.
#[derive(Debug)]
struct State {
    /// The start of the next document.
    start: DocumentStart,
    /// The number of bytes up to the end of the chunk.
    chunk_end: u64,
    head: Head,
    last: Option<RecordIdentity>,
    lists: KnownLists,
    /// Whether each record comes after the one before.
    is_ascending: bool,
    records: u64,
    in_conflict: bool,
    has_invalid_utf8: bool,
    /// The finding about the first byte that is not UTF-8, until its document is read.
    invalid_utf8: Option<Finding>,
    /// The findings of the metadata, then those of the last document.
    findings: Vec<Finding>,
}

impl DomainReader<File> {
    /// Opens the domain file at `path`, and reads its metadata.
    ///
    /// # Errors
    /// [`Error::Read`] if `path` is not a regular file, cannot be read, is a pointer of Git LFS, or is a
    /// symbolic link that leads out of its directory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::new(path, open(path)?)
    }
}

impl<R: Read> DomainReader<R> {
    /// Reads the metadata of `source`, the content of the file at `path`, which need not exist.
    ///
    /// # Errors
    /// [`Error::Read`] if `source` cannot be read, is a pointer of Git LFS, or is beyond a limit.
    pub fn new(path: impl AsRef<Path>, source: R) -> Result<Self, Error> {
        Self::with_chunks(path.as_ref(), source, CHUNK_SIZE)
    }

    pub(crate) fn with_chunks(path: &Path, source: R, chunk_size: usize) -> Result<Self, Error> {
        let start = DocumentStart { byte: 0, line: 1 };
        let mut reader = Self::at(path, source, chunk_size, start, Metadata::default());
        reader.fill()?;
        refuse_lfs_pointer(reader.text.as_bytes()).map_err(|source| read_error(path, source))?;
        reader.next = Next::Head;
        reader.read_head();
        Ok(reader)
    }

    /// Reads `source`, the documents of a file from `start` on. The metadata are known.
    pub(crate) fn at(
        path: &Path,
        source: R,
        chunk_size: usize,
        start: DocumentStart,
        metadata: Metadata,
    ) -> Self {
        Self {
            path: path.to_owned(),
            chunks: ChunkReader::new(source, chunk_size),
            text: String::new(),
            at: 0,
            next: Next::Document,
            state: State {
                start,
                chunk_end: start.byte,
                head: Head {
                    metadata,
                    ..Head::default()
                },
                last: None,
                lists: KnownLists::default(),
                is_ascending: true,
                records: 0,
                in_conflict: false,
                has_invalid_utf8: false,
                invalid_utf8: None,
                findings: vec![],
            },
        }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The metadata: the first document of the file.
    pub fn metadata(&self) -> &Metadata {
        &self.state.head.metadata
    }

    /// The line of a metadata key, from 1; the first line if the file lacks the key.
    pub fn metadata_line(&self, key: &str) -> usize {
        self.state
            .head
            .layout
            .as_ref()
            .map_or(1, |head| head.line_of(key))
    }

    /// The start of the next document.
    pub fn next_start(&self) -> DocumentStart {
        self.state.start
    }

    /// Whether no record so far can be for the same request as an earlier one: each comes after the one
    /// before. Always false without case, since equal paths need not be neighbours then.
    pub fn is_ordered(&self) -> bool {
        self.state.is_ascending && !self.state.head.metadata.ignores_case()
    }

    /// Whether all bytes so far are UTF-8.
    pub(crate) fn is_utf8(&self) -> bool {
        !self.state.has_invalid_utf8
    }

    /// Whether the first line of the file ends in `\r\n`.
    pub(crate) fn has_crlf(&self) -> bool {
        self.state.head.crlf
    }

    /// The metadata, the layout of their document if the file has one, and whether a byte order mark comes
    /// before.
    pub(crate) fn into_head(self) -> (Metadata, Option<Layout>, bool) {
        let head = self.state.head;
        (head.metadata, head.layout, head.byte_order_mark)
    }

    /// The next document; `None` after the comments at the end. The first one is the metadata.
    ///
    /// # Errors
    /// [`Error::Read`] if the source cannot be read, or is beyond a limit.
    #[expect(
        clippy::should_implement_trait,
        reason = "a document borrows the reader"
    )]
    pub fn next(&mut self) -> Result<Option<DocumentRef<'_>>, Error> {
        if self.next == Next::Document {
            if self.at == self.text.len() {
                self.fill()?;
            }
            self.state.findings.clear();
        }
        let (text, state) = (self.text.as_str(), &mut self.state);
        let (start, rest) = (state.start, &text[self.at..]);
        let (content, length, lines) = match self.next {
            Next::Nothing => return Ok(None),
            Next::Head => {
                self.next = Next::Document;
                let source = state
                    .head
                    .layout
                    .as_ref()
                    .map_or("", |head| head.source.as_str());
                (None, source.len(), line_count(source))
            }
            Next::Document => {
                if let Some(record) = PlainRecord::at_start_of(rest, &mut state.lists) {
                    state.pass_plain(record.path());
                    let (length, lines) = (record.source().len(), record.line_count());
                    (Some(Content::Plain(record)), length, lines)
                } else {
                    let (content, length) = state.read_document(text, self.at);
                    if matches!(content, Content::Footer) {
                        self.next = Next::Nothing;
                    }
                    (Some(content), length, line_count(&rest[..length]))
                }
            }
        };
        limits::check_records(state.records)
            .map_err(|too_large| read_error(&self.path, too_large.into()))?;
        self.at += length;
        state.start.byte += length as u64;
        state.start.line += lines;
        if state.invalid_utf8.is_some() {
            state.pass_invalid_utf8(self.next == Next::Nothing);
        }
        let state = &self.state;
        Ok(Some(DocumentRef {
            start,
            text: &rest[..length],
            content: content.unwrap_or(Content::Head(HeadRef {
                metadata: &state.head.metadata,
                layout: state.head.layout.as_ref(),
                byte_order_mark: state.head.byte_order_mark,
            })),
            findings: &state.findings,
            is_ascending: state.is_ascending,
            may_repeat: !state.is_ascending || state.head.metadata.ignores_case(),
            first: None,
        }))
    }

    /// Reads the next chunk.
    fn fill(&mut self) -> Result<(), Error> {
        let room = std::mem::take(&mut self.text).into_bytes();
        let state = &mut self.state;
        // Replacement characters are longer than the bytes that they replace.
        state.start.byte = state.chunk_end;
        self.at = 0;
        let lines_before = state.start.line - 1;
        let chunk = self.chunks.next_chunk(room, lines_before);
        let chunk = chunk.and_then(|chunk| {
            let bytes = chunk.unwrap_or_default();
            state.chunk_end += bytes.len() as u64;
            // The file may grow meanwhile.
            limits::check_file(state.chunk_end)?;
            Ok(bytes)
        });
        let bytes = chunk.map_err(|source| read_error(&self.path, source))?;
        self.text = String::from_utf8(bytes).unwrap_or_else(|error| state.decode(error));
        Ok(())
    }

    /// Reads the metadata: the first document, if it is no record.
    fn read_head(&mut self) {
        let state = &mut self.state;
        let first_line = self.text.split_once('\n');
        state.head.crlf = first_line.is_some_and(|(line, _)| line.ends_with('\r'));
        if self.text.starts_with(BYTE_ORDER_MARK) {
            self.at = BYTE_ORDER_MARK.len();
            state.start.byte = self.at as u64;
            state.head.byte_order_mark = true;
            let message = "the file starts with a byte order mark";
            let finding = Finding::new(Code::ByteOrderMark, 1, message);
            let help = "save it as UTF-8 without one; formatting removes it";
            state.findings.push(finding.with_help(help));
        }
        let start = LineStart {
            offset: self.at,
            line: 1,
        };
        let rest = &self.text[self.at..];
        let is_plain = PlainRecord::at_start_of(rest, &mut state.lists).is_some();
        let raw = next_document(&self.text, start).filter(|_| !is_plain);
        if let Some(raw) = raw {
            let mut in_conflict = false;
            let source = (1, &self.text[raw.range.clone()]);
            let mut reader = DocumentReader::new(source, &Schema::DOMAIN_FILE, &mut in_conflict);
            let mut document = reader.read(&raw);
            if document.mapping.get("_path").is_none() {
                state.in_conflict = in_conflict;
                state.findings.append(&mut reader.findings);
                state.head.layout = Some(Layout::new(&mut document, &self.text));
                state.head.metadata = Metadata::from_mapping(document.mapping);
            }
        }
        if state.head.layout.is_none() {
            let message = "the file does not start with a metadata document";
            let finding = Finding::new(Code::MissingMetadata, 1, message);
            let help = "start the file with a line `---` of its own";
            state.findings.push(finding.with_help(help));
        }
    }
}

impl State {
    /// Reads the document at the offset `at` of `text`. Returns its length.
    fn read_document<'t>(&mut self, text: &'t str, at: usize) -> (Content<'t>, usize) {
        let start = LineStart {
            offset: at,
            line: self.start.line,
        };
        let Some(raw) = next_document(text, start) else {
            let source = (start.line, &text[at..]);
            let reader = DocumentReader::new(source, &Schema::DOMAIN_FILE, &mut self.in_conflict);
            self.findings = reader.findings;
            return (Content::Footer, text.len() - at);
        };
        let length = raw.range.len();
        let source = &text[raw.range.clone()];
        // Comments may follow, or a `---` with a text after it.
        if let Some(record) = PlainRecord::at_start_of(source, &mut self.lists) {
            self.pass_plain(record.path());
            return (Content::Plain(record), length);
        }
        let source = (start.line, source);
        let mut reader = DocumentReader::new(source, &Schema::DOMAIN_FILE, &mut self.in_conflict);
        let document = reader.read(&raw);
        self.findings = reader.findings;
        let content = match Segment::read(document, text, &mut self.findings) {
            Segment::Record(entry) => {
                self.pass_record(&entry.record);
                Content::Read(Box::new(entry))
            }
            Segment::Broken(_) => Content::Broken,
        };
        self.findings
            .sort_by_key(|finding| (finding.line, finding.column));
        (content, length)
    }

    fn pass_plain(&mut self, path: &str) {
        self.records += 1;
        match &mut self.last {
            Some(last) => {
                self.is_ascending &= last.path.as_str() < path;
                last.request = None;
                last.variant = None;
                last.path.clear();
                last.path.push_str(path);
            }
            None => self.last = Some(RecordIdentity::get(path)),
        }
    }

    fn pass_record(&mut self, record: &Record) {
        self.records += 1;
        let identity = self.head.metadata.exact_identity_of(record);
        self.is_ascending &= self.last.as_ref().is_none_or(|last| *last < identity);
        self.last = Some(identity);
    }

    /// Moves the finding about the first byte that is not UTF-8 to those of the last document, if the byte is
    /// there.
    fn pass_invalid_utf8(&mut self, is_end: bool) {
        let next = self.start.line;
        let passed = self.invalid_utf8.take_if(|it| is_end || it.line < next);
        self.findings.extend(passed);
        self.findings
            .sort_by_key(|finding| (finding.line, finding.column));
    }

    /// The text of a chunk, with U+FFFD for bytes that are not UTF-8; the first such byte of the file is a
    /// finding.
    fn decode(&mut self, error: FromUtf8Error) -> String {
        let offset = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        if !std::mem::replace(&mut self.has_invalid_utf8, true) {
            let before = String::from_utf8_lossy(&bytes[..offset]);
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            let message = format!(
                "byte {} (0x{:02X}) of the file is not UTF-8",
                self.start.byte + offset as u64,
                bytes[offset]
            );
            let line = self.start.line + line_count(&before);
            let column = 1 + before[line_start..].chars().count();
            let finding = Finding::new(Code::InvalidUtf8, line, message).at_column(column);
            self.invalid_utf8 = Some(finding.with_help("save the file as UTF-8"));
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn line_count(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plain::tests::{any_file, mutated, plain_file};
    use crate::{DomainFile, Linter, fold, lint};

    /// Texts of lines that matter to documents, records and findings.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            4 => Just("---\n".to_owned()),
            4 => "[a-d]{1,2}".prop_map(|path| format!("---\n_path: /{path}\n")),
            1 => Just("# a comment\n".to_owned()),
            1 => Just("\n".to_owned()),
            1 => Just("https: true\n".to_owned()),
            1 => Just("case-sensitive-paths: false\n".to_owned()),
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

    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            text(),
            mutated(plain_file()),
            any_file().prop_map(String::into_bytes),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_file_in_chunks_says_what_the_file_in_memory_says(
            bytes in any_bytes(), chunk_size in 1_usize..200,
        ) {
            let path = Path::new("example.org.yaml");
            let whole = DomainFile::parse(path, &bytes);
            let mut reader = DomainReader::with_chunks(path, &*bytes, chunk_size).unwrap();
            prop_assert_eq!(reader.metadata(), whole.file.metadata());
            let (mut findings, mut records, mut text) = (vec![], vec![], String::new());
            let mut stored = whole.documents();
            while let Some(document) = reader.next().unwrap() {
                let other = stored.next().unwrap();
                prop_assert_eq!(document.text(), other.text());
                prop_assert_eq!(document.is_canonical(), other.is_canonical());
                prop_assert_eq!(document.is_deprecated(), other.is_deprecated());
                prop_assert_eq!(document.start().line, other.start().line);
                if std::str::from_utf8(&bytes).is_ok() {
                    prop_assert_eq!(document.start(), other.start());
                }
                findings.extend_from_slice(document.findings());
                records.extend(document.to_entry().map(|it| format!("{it:?}")));
                text.push_str(document.text());
            }
            prop_assert!(stored.next().is_none());
            prop_assert!(!reader.is_ordered() || whole.file.records().map(|it| whole.file.metadata.exact_identity_of(&it.record)).is_sorted());
            let known = |entry| format!("{entry:?}");
            prop_assert_eq!(records, whole.file.records().map(known).collect::<Vec<_>>());
            let whole_text = whole.file.text();
            let mark = whole_text.strip_prefix(BYTE_ORDER_MARK);
            prop_assert_eq!(text, mark.unwrap_or(&whole_text));
            findings.sort_by_key(|finding| (finding.line, finding.column));
            prop_assert_eq!(&findings, &whole.findings);
        }

        #[test]
        fn a_fold_finds_what_lint_finds(bytes in any_bytes()) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("example.org.yaml");
            std::fs::write(&path, &bytes).unwrap();
            let start = || (Linter::new(&path, &[]), vec![], 0);
            let (_, mut findings, records) = fold(&path, start, |state, document| {
                state.1.append(&mut state.0.see(document));
                state.2 += usize::from(document.path().is_some());
            });
            findings.sort_by_key(|finding| (finding.line, finding.column));
            let whole = DomainFile::read(&path).unwrap();
            prop_assert_eq!(findings, lint(&whole, &[]));
            prop_assert_eq!(records, whole.file.records().count());
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_file() {
        let record = |number| format!("---\n_path: /{number:09}\n");
        let text: String = (0..50_000).map(record).collect();
        let text = format!("---\n{text}");
        let mut reader = DomainReader::new("example.org.yaml", text.as_bytes()).unwrap();
        let mut records = 0;
        while let Some(document) = reader.next().unwrap() {
            records += usize::from(document.path().is_some());
            assert!(reader.text.capacity() < 2 * CHUNK_SIZE);
        }
        assert_eq!(records, 50_000);
    }
}
