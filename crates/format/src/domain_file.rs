//! A domain file in memory: metadata, records, and the source text of each document, so that an
//! edit leaves the bytes of all other documents alone.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use memchr::memmem;
use urldb_files::is_there;
use urldb_text::Finding;

use crate::chunks::BYTE_ORDER_MARK;
use crate::disk::{self, in_database};
use crate::document_ref::{Content, is_blocking};
use crate::edit_window::EditWindow;
use crate::entry::{RecordEntry, Segment};
use crate::error::Error;
use crate::layout::Layout;
use crate::limits;
use crate::metadata::Metadata;
use crate::reader::DomainReader;
use crate::record::{ListOrder, Record, RecordIdentity};

/// A domain file.
#[derive(Debug, Clone)]
pub struct DomainFile {
    pub(crate) path: PathBuf,
    pub(crate) host: String,
    /// The number of the first line that was read: 1, unless only some documents were.
    pub(crate) first_line: usize,
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
    /// The rest of the file, if only some of its documents were read.
    pub(crate) window: Option<EditWindow>,
}

/// A domain file as read, with the mistakes that reading found.
#[derive(Debug, Clone)]
pub struct ParsedFile {
    /// The file; documents that could not be understood are missing from its records.
    pub file: DomainFile,
    /// The mistakes, in the order of the lines. [`crate::lint`] finds more.
    pub findings: Vec<Finding>,
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
        disk::read_bytes(path.as_ref())
    }

    /// Reads the file at `path`. A file that cannot be read has no records, and one finding with
    /// the cause.
    pub fn read_or_report(path: impl AsRef<Path>) -> ParsedFile {
        let path = path.as_ref();
        Self::read(path).unwrap_or_else(|error| Self::reported(path, &error))
    }

    /// The file at `path`, which could not be read.
    pub(crate) fn reported(path: &Path, error: &Error) -> ParsedFile {
        let finding = disk::finding_of(error);
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

    /// Reads only the metadata of the file at `path`.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_head(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Ok(Self::of_head(path, DomainReader::open(path)?))
    }

    /// Reads only the metadata of `bytes`, the content of the file at `path`, which need not exist. A file that
    /// cannot be read has none.
    pub fn parse_head(path: impl AsRef<Path>, bytes: &[u8]) -> Self {
        let path = path.as_ref();
        match DomainReader::new(path, bytes) {
            Ok(reader) => Self::of_head(path, reader),
            Err(_) => Self::empty(path),
        }
    }

    fn of_head<R: Read>(path: &Path, reader: DomainReader<R>) -> Self {
        let mut file = Self::empty(path);
        (file.metadata, file.head, file.byte_order_mark) = reader.into_head();
        file
    }

    /// Reads `bytes` as the content of the file at `path`, which need not exist.
    pub fn parse(path: impl AsRef<Path>, bytes: &[u8]) -> ParsedFile {
        let path = path.as_ref();
        let documents = memmem::find_iter(bytes, b"\n---").count() + 1;
        let reader = limits::check_file(bytes.len() as u64)
            .map_err(|too_large| disk::read_error(path, too_large.into()))
            .and_then(|()| DomainReader::new(path, bytes));
        reader
            .and_then(|reader| Self::collect(reader, documents))
            .unwrap_or_else(|error| Self::reported(path, &error))
    }

    /// Reads all documents of `reader`, of which there are about this many.
    pub(crate) fn collect<R: Read>(
        mut reader: DomainReader<R>,
        documents: usize,
    ) -> Result<ParsedFile, Error> {
        let mut file = Self::empty(reader.path());
        file.first_line = reader.next_start().line;
        file.crlf = reader.has_crlf();
        file.segments.reserve(documents);
        let mut findings = vec![];
        while let Some(document) = reader.next()? {
            findings.extend_from_slice(document.findings);
            let text = document.text;
            let segment = match document.content {
                Content::Head(_) => continue,
                Content::Plain(record) => Segment::Record(record.to_entry(document.start.line)),
                Content::Read(entry) => Segment::Record(*entry),
                Content::Stored(entry) => Segment::Record(entry.clone()),
                Content::Broken => Segment::Broken(text.to_owned()),
                Content::Footer => {
                    text.clone_into(&mut file.footer);
                    continue;
                }
            };
            file.segments.push(segment);
        }
        (file.metadata, file.head, file.byte_order_mark) = reader.into_head();
        findings.sort_by_key(|finding| (finding.line, finding.column));
        let blocking = findings.iter().filter(|finding| is_blocking(finding));
        file.blocking = blocking.cloned().collect();
        Ok(ParsedFile { file, findings })
    }

    fn empty(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            host: host_of(path),
            first_line: 1,
            byte_order_mark: false,
            crlf: false,
            metadata: Metadata::default(),
            head: None,
            segments: Vec::new(),
            footer: String::new(),
            blocking: Vec::new(),
            window: None,
        }
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
        self.blocking
            .iter()
            .find(|finding| lines.contains(&finding.line))
    }

    /// The records, in the order of the file.
    pub fn records(&self) -> impl Iterator<Item = &RecordEntry> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Record(entry) => Some(entry),
            Segment::Broken(_) => None,
        })
    }

    /// The identity of a record in this file, as [`Metadata::identity_of`] has it.
    pub fn identity_of(&self, record: &Record) -> RecordIdentity {
        self.metadata.identity_of(record)
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
        in_database(&self.path)
            .replace_with(|out| self.write_to(out))
            .map_err(|source| Error::Write {
                path: self.path.clone(),
                source,
            })
    }

    /// Writes the file with all edits, also what was not read.
    ///
    /// # Errors
    /// If `out` cannot be written, if the file was changed since, or if records were edited that
    /// [`Self::read_for_edit`] was not asked for.
    pub fn write_to(&self, out: &mut File) -> io::Result<()> {
        let text = self.text();
        let Some(window) = &self.window else {
            return out.write_all(text.as_bytes());
        };
        let has_new_head = self.first_line > 1 && self.head.is_some();
        if has_new_head
            || !self
                .records()
                .all(|entry| window.has_path(&entry.record.path))
        {
            return Err(io::Error::other(
                "the edit reaches beyond the records that were read",
            ));
        }
        window.write(&text, out)
    }

    /// Replaces the file by another text in one step: the canonical form, for example.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be replaced.
    pub fn write_text(&self, text: &str) -> Result<(), Error> {
        in_database(&self.path)
            .replace(text.as_bytes())
            .map_err(|source| Error::Write {
                path: self.path.clone(),
                source,
            })
    }
}
