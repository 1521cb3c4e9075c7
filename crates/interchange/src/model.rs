//! The types between readers, writers and the database.

use std::error::Error;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use urldb_canon::{Identity, RequestUrl, Scheme, identify, kind_of_held};
use urldb_format::{Algorithm, Digest, HELD_URIS, Mapping, Metadata, Record};

/// A location in a source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    /// The file name, as messages show it.
    pub file: Arc<str>,
    /// The position in the file.
    pub at: Position,
}

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Position {
    /// A line, from 1.
    Line(u64),
    /// A byte offset, from 0.
    Byte(u64),
}

impl Location {
    /// The line, from 1, as findings have it: the first one for a place that is a byte.
    pub fn line_number(&self) -> usize {
        match self.at {
            Position::Line(line) => usize::try_from(line).unwrap_or(usize::MAX),
            Position::Byte(_) => 1,
        }
    }

    /// The location of a line, from 1.
    pub fn line(file: &Arc<str>, line: u64) -> Self {
        Self {
            file: Arc::clone(file),
            at: Position::Line(line),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Position::Line(line) => write!(f, "{}:{line}", self.file),
            Position::Byte(byte) => write!(f, "{} at byte {byte}", self.file),
        }
    }
}

/// The position of a value of a record in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The key of the record that holds the value, such as `content-sha256`.
    pub key: &'static str,
    /// The bytes of the value in the file, without quotes.
    pub range: Range<u64>,
}

/// One URL of a source, with the data that the source has about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListItem {
    /// The location in the source.
    pub location: Location,
    /// The scheme of the URL in the source; without meaning for a held URI.
    pub scheme: Scheme,
    /// The host of the URL, or the domain that the source assigns the URL to; [`HELD_URIS`] for a held URI.
    pub host: String,
    /// The record for the database.
    pub record: Record,
    /// The metadata of the domain, if the source has any.
    pub metadata: Option<Metadata>,
    /// The exact URL of the source, for formats that promise to return it unchanged.
    pub spelling: Option<String>,
    /// The URL of the source, if site rules took the item to another page. No reader sets it.
    pub written: Option<Box<str>>,
    /// The time of a capture, `YYYYMMDDhhmmss`; the latest capture counts.
    pub moment: Option<String>,
    /// The spans of values of the record, where the value stands in the file as plain text. Several items can share
    /// a span, such as mirrors of one file. Empty for compressed input, for formats whose values nobody edits, and
    /// after serialization.
    #[serde(skip)]
    pub spans: Vec<Span>,
}

impl ListItem {
    /// An item with only a URL.
    ///
    /// # Errors
    /// A notice that says why the database cannot hold the URL.
    pub fn new(location: Location, url: &str) -> Result<Self, Notice> {
        match identify(url) {
            Ok(found) => Ok(Self::of(location, found)),
            Err(error) => Err(Notice::refused(location, error.code(), error.to_string())),
        }
    }

    /// An item with only a URL that is taken apart.
    pub(crate) fn of(location: Location, url: Identity) -> Self {
        Self::at(location, url.scheme, url.host, url.path)
    }

    fn at(location: Location, scheme: Scheme, host: String, path: String) -> Self {
        Self {
            location,
            scheme,
            host,
            record: Record::new(path),
            metadata: None,
            spelling: None,
            written: None,
            moment: None,
            spans: vec![],
        }
    }

    /// An item with only a URI, for formats that keep URIs which nothing can request.
    ///
    /// # Errors
    /// As [`Self::new`], unless the URI can be held.
    pub(crate) fn of_uri(location: Location, uri: &str) -> Result<Self, Notice> {
        match Self::new(location.clone(), uri) {
            Err(_) if kind_of_held(uri).is_some() => {
                let host = HELD_URIS.to_owned();
                Ok(Self::at(location, Scheme::Http, host, uri.to_owned()))
            }
            other => other,
        }
    }

    /// Whether the item is a held URI.
    pub fn is_held(&self) -> bool {
        self.host == HELD_URIS
    }
}

impl ListItem {
    /// The URL of the item; `None` if host and path make none, as for a held URI.
    pub fn url(&self) -> Option<RequestUrl> {
        RequestUrl::new(self.scheme, &self.host, &self.record.path)
    }

    /// Promises the bytes of a file.
    #[must_use]
    pub(crate) fn promising(mut self, promise: &FilePromise) -> Self {
        if let Some((length, place)) = &promise.length {
            self.record.content_length = Some(*length);
            self.set_span("content-length", place.clone());
        }
        for (digest, place) in &promise.digests {
            self.record.set_digest(digest);
            self.set_span(digest.algorithm().key(), place.clone());
        }
        self
    }

    /// Promises a redirect; `range` is the place of its target in the file, if it has one.
    pub(crate) fn set_redirect(&mut self, target: impl Into<String>, range: Option<Range<u64>>) {
        self.record.redirects_to = Some(target.into());
        self.set_span("redirects-to", range);
    }

    /// Promises a status; `range` is its place in the file, if it has one.
    pub(crate) fn set_status(&mut self, status: u16, range: Option<Range<u64>>) {
        self.record.status = Some(status);
        self.set_span("status", range);
    }

    /// Sets or removes the span of a key.
    pub(crate) fn set_span(&mut self, key: &'static str, range: Option<Range<u64>>) {
        self.spans.retain(|span| span.key != key);
        self.spans.extend(range.map(|range| Span { key, range }));
    }

    /// Replaces the record by the one in the source. A path without a leading `/` is refused, because
    /// it would change the host when it is appended to the host; the path of a held URI is the URI.
    pub(crate) fn with_record(mut self, mut document: Mapping) -> Result<Self, Notice> {
        if document.get("_path").is_none() {
            document.insert("_path", self.record.path.as_str());
        }
        let record = Record::from_mapping(document).filter(|record| {
            if self.is_held() {
                record.path == self.record.path
            } else {
                record.path.starts_with('/')
            }
        });
        self.record = record.ok_or_else(|| {
            let message = "the path of the record is neither its URI nor begins with `/`";
            Notice::refused(self.location.clone(), "bad-path", message)
        })?;
        Ok(self)
    }
}

/// The promise of a file's bytes, each value with its place in the list, if it has one.
#[derive(Debug, Default)]
pub(crate) struct FilePromise {
    pub(crate) length: Option<(u64, Option<Range<u64>>)>,
    pub(crate) digests: Vec<(Digest, Option<Range<u64>>)>,
}

impl FilePromise {
    /// A promise whose values have no places.
    pub(crate) fn of(length: Option<u64>, digest: Option<Digest>) -> Self {
        Self {
            length: length.map(|length| (length, None)),
            digests: digest.into_iter().map(|digest| (digest, None)).collect(),
        }
    }

    /// Adds a digest, unless it is known.
    ///
    /// # Errors
    /// The algorithm, if another digest of it is known.
    pub(crate) fn add(
        &mut self,
        digest: Digest,
        place: Option<Range<u64>>,
    ) -> Result<(), Algorithm> {
        let algorithm = digest.algorithm();
        let mut known = self.digests.iter();
        match known.find(|(known, _)| known.algorithm() == algorithm) {
            Some((known, _)) if *known != digest => return Err(algorithm),
            Some(_) => {}
            None => self.digests.push((digest, place)),
        }
        Ok(())
    }
}

/// The effect of a notice on the import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeSeverity {
    /// Nothing is lost.
    Remark,
    /// An entry was left out, as the format demands or since the database has nothing for it.
    LeftOut,
    /// An entry that belongs into the database cannot be imported.
    Refused,
}

/// A message about an entry of a source.
///
/// A notice is about a foreign file, which the user need not correct; a finding is about the user's file. The
/// foreign file may be binary, so the location may be a byte. The codes include those of the formats'
/// specifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The location in the source.
    pub location: Location,
    /// The effect on the import.
    pub severity: NoticeSeverity,
    /// A stable code.
    pub code: String,
    /// A description for people.
    pub message: Box<str>,
    /// The remedy, if the message does not contain it.
    pub help: Option<Box<str>>,
    /// The number of entries that the notice is about.
    pub count: u64,
    /// The section of the format's specification, where it has sections.
    pub section: Option<&'static str>,
}

impl Notice {
    fn new(
        location: Location,
        severity: NoticeSeverity,
        code: &str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            location,
            severity,
            code: code.to_owned(),
            message: message.into().into(),
            help: None,
            count: 1,
            section: None,
        }
    }

    /// A notice of an entry that cannot be imported.
    pub fn refused(location: Location, code: &str, message: impl Into<String>) -> Self {
        Self::new(location, NoticeSeverity::Refused, code, message)
    }

    /// A notice of an entry that was left out.
    pub fn left_out(location: Location, code: &str, message: impl Into<String>) -> Self {
        Self::new(location, NoticeSeverity::LeftOut, code, message)
    }

    /// The same notice about so many entries.
    #[must_use]
    pub(crate) fn of(self, count: u64) -> Self {
        Self { count, ..self }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)?;
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        write!(f, " ({}", self.code)?;
        match self.section {
            Some(section) => write!(f, ", section {section})"),
            None => f.write_str(")"),
        }
    }
}

/// An event of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadEvent {
    /// A URL was read.
    Item(Box<ListItem>),
    /// A notice about the source.
    Notice(Notice),
}

impl ReadEvent {
    /// The file that the event is about.
    pub fn file(&self) -> &str {
        match self {
            Self::Item(item) => &item.location.file,
            Self::Notice(notice) => &notice.location.file,
        }
    }
}

impl From<Notice> for ReadEvent {
    fn from(notice: Notice) -> Self {
        Self::Notice(notice)
    }
}

impl From<ListItem> for ReadEvent {
    fn from(item: ListItem) -> Self {
        Self::Item(Box::new(item))
    }
}

impl<T: Into<ReadEvent>> From<Result<T, Notice>> for ReadEvent {
    fn from(result: Result<T, Notice>) -> Self {
        result.map_or_else(Self::Notice, Into::into)
    }
}

/// Receives the events of a reader. An error of the sink ends the reading.
pub type Sink<'a> = dyn FnMut(ReadEvent) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// The reason why a source could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read, or is larger than the limit when decompressed.
    #[error("cannot read {file}: {source}")]
    Input {
        /// The file.
        file: Arc<str>,
        /// The error of the operating system or of the decompression.
        source: io::Error,
    },
    /// The file does not have the format that the reader expects.
    #[error("{location}: {message}")]
    Malformed {
        /// The location of the mistake.
        location: Location,
        /// The mistake, for people.
        message: String,
    },
    /// The sink failed.
    #[error(transparent)]
    Sink(#[from] Box<dyn Error + Send + Sync>),
}

impl ReadError {
    /// The error of a mistake at a line, from 1.
    pub(crate) fn malformed(file: &Arc<str>, line: u64, message: impl Into<String>) -> Self {
        Self::Malformed {
            location: Location::line(file, line),
            message: message.into(),
        }
    }

    pub(crate) fn input(file: &Arc<str>) -> impl Fn(io::Error) -> Self + use<> {
        let file = Arc::clone(file);
        move |source| Self::Input {
            file: Arc::clone(&file),
            source,
        }
    }
}

/// A record of the database, with its domain and its URL.
#[derive(Debug, Clone)]
pub struct DomainRecord<'a> {
    pub(crate) domain: &'a str,
    pub(crate) record: &'a Record,
    pub(crate) metadata: &'a Metadata,
    url: String,
}

impl<'a> DomainRecord<'a> {
    /// A record in the domain file of the host `domain`, or in that of held URIs; `None` if it has no URL or URI.
    pub fn new(domain: &'a str, metadata: &'a Metadata, record: &'a Record) -> Option<Self> {
        let url = if domain == HELD_URIS {
            kind_of_held(&record.path).map(|_| record.path.clone())
        } else {
            RequestUrl::new(metadata.scheme_of(record), domain, &record.path).map(String::from)
        };
        Some(Self {
            domain,
            record,
            metadata,
            url: url?,
        })
    }

    /// Whether the record is a held URI.
    pub fn is_held(&self) -> bool {
        self.domain == HELD_URIS
    }

    /// The scheme of the record's URL.
    pub fn scheme(&self) -> Scheme {
        self.metadata.scheme_of(self.record)
    }

    /// The URL of the record, or its URI.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URLs that runs request for the record: one for each of its schemes.
    pub fn urls(&self) -> impl Iterator<Item = RequestUrl> {
        self.metadata
            .schemes_of(self.record)
            .into_iter()
            .filter_map(|scheme| RequestUrl::new(scheme, self.domain, &self.record.path))
    }

    /// Whether the record requests its URL with a plain GET, and without a header that `vary` names, so that the URL
    /// identifies the record.
    pub fn is_plain(&self) -> bool {
        self.record.request_key().is_none() && self.metadata.variant_of(self.record).is_none()
    }

    /// The metadata, unless a URL with this scheme implies the same metadata.
    pub fn stated_metadata(&self, scheme: Scheme) -> Option<&Metadata> {
        (*self.metadata != Metadata::for_schemes(&[scheme])).then_some(self.metadata)
    }
}
