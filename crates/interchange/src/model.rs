//! What readers hand over, and what writers are given.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use urldb_canon::{Identity, Scheme, identify};
use urldb_format::{Mapping, Metadata, Record};

/// Where in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file, as people are shown it.
    pub file: Arc<str>,
    /// Where in the file.
    pub at: Position,
}

/// Where in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The line, from 1.
    Line(u64),
    /// The byte, from 0.
    Byte(u64),
}

impl Location {
    /// A line of a file.
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

/// One URL, and what the source says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListItem {
    /// Where it stands.
    pub place: Location,
    /// The scheme that it was written with.
    pub scheme: Scheme,
    /// The host, or the domain that the source assigns it to.
    pub host: String,
    /// What the database is to hold of it.
    pub record: Record,
    /// What the source says of the domain.
    pub metadata: Option<Metadata>,
    /// The URL as written, where the format promises to give it back.
    pub spelling: Option<String>,
    /// `YYYYMMDDhhmmss` of a capture: the latest one counts.
    pub moment: Option<String>,
}

impl ListItem {
    /// An item with nothing but its URL; the notice says why the database cannot have it.
    pub fn new(place: Location, url: &str) -> Result<Self, Notice> {
        match identify(url) {
            Ok(Identity { scheme, host, path }) => Ok(Self {
                place,
                scheme,
                host,
                record: Record::new(path),
                metadata: None,
                spelling: None,
                moment: None,
            }),
            Err(error) => Err(Notice::refused(place, error.code(), error.to_string())),
        }
    }
}

impl ListItem {
    /// Gives the item the record that its source spells out. One whose path is none would make
    /// another host of its own.
    pub(crate) fn with_record(mut self, mut document: Mapping) -> Result<Self, Notice> {
        if document.get("_path").is_none() {
            document.insert("_path", std::mem::take(&mut self.record.path));
        }
        let record = Record::from_mapping(document).filter(|record| record.path.starts_with('/'));
        let refused = || {
            let message = "the path of the record does not begin with `/`";
            Notice::refused(self.place.clone(), "bad-path", message)
        };
        self.record = record.ok_or_else(refused)?;
        Ok(self)
    }
}

/// What a notice means for the import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Nothing is lost.
    Remark,
    /// Something was left out, as the format says or as it can only be.
    LeftOut,
    /// Something that should have been taken cannot be.
    Refused,
}

/// Something to be told about a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Where.
    pub place: Location,
    /// What it means.
    pub weight: Weight,
    /// A stable code.
    pub code: String,
    /// What it is, for people.
    pub message: String,
    /// The section of the format's specification, where it has sections.
    pub section: Option<&'static str>,
}

impl Notice {
    fn new(place: Location, weight: Weight, code: &str, message: impl Into<String>) -> Self {
        Self {
            place,
            weight,
            code: code.to_owned(),
            message: message.into(),
            section: None,
        }
    }

    /// Something that cannot be taken.
    pub fn refused(place: Location, code: &str, message: impl Into<String>) -> Self {
        Self::new(place, Weight::Refused, code, message)
    }

    /// Something that was left out.
    pub fn left_out(place: Location, code: &str, message: impl Into<String>) -> Self {
        Self::new(place, Weight::LeftOut, code, message)
    }

    /// Something worth knowing.
    pub fn remark(place: Location, code: &str, message: impl Into<String>) -> Self {
        Self::new(place, Weight::Remark, code, message)
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({}", self.place, self.message, self.code)?;
        match self.section {
            Some(section) => write!(f, ", section {section})"),
            None => f.write_str(")"),
        }
    }
}

/// What a reader comes upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadEvent {
    /// A URL.
    Item(Box<ListItem>),
    /// Something to be told.
    Notice(Notice),
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

/// Takes what a reader finds. Its error ends the reading.
pub type Sink<'a> = dyn FnMut(ReadEvent) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// Why a source could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read, or unpacks to more than is taken.
    #[error("cannot read {file}: {source}")]
    Input {
        /// The file.
        file: Arc<str>,
        /// What the system says.
        source: io::Error,
    },
    /// The file is not what it should be, from this place on.
    #[error("{place}: {message}")]
    Malformed {
        /// Where.
        place: Location,
        /// What is wrong.
        message: String,
    },
    /// The sink took no more.
    #[error(transparent)]
    Sink(#[from] Box<dyn Error + Send + Sync>),
}

impl ReadError {
    pub(crate) fn input(file: &Arc<str>) -> impl Fn(io::Error) -> Self + use<> {
        let file = Arc::clone(file);
        move |source| Self::Input {
            file: Arc::clone(&file),
            source,
        }
    }
}

/// A record of the database, with what it stands in.
#[derive(Debug, Clone, Copy)]
pub struct DomainRecord<'a> {
    /// The host that the domain file is named after.
    pub domain: &'a str,
    /// What the file says of the domain.
    pub metadata: &'a Metadata,
    /// The record.
    pub record: &'a Record,
}

impl DomainRecord<'_> {
    /// The scheme that the record is domain_record with.
    pub fn scheme(&self) -> Scheme {
        self.metadata.scheme()
    }

    /// The URL of the record.
    pub fn url(&self) -> String {
        format!("{}://{}{}", self.scheme(), self.domain, self.record.path)
    }

    /// Whether the record is what a plain GET of its URL is about, so that its URL says which.
    pub fn is_plain(&self) -> bool {
        self.record.identity().request.is_none()
    }

    /// The metadata, unless a reader of this URL alone would come to the same.
    pub fn stated_metadata(&self, scheme: Scheme) -> Option<&Metadata> {
        (*self.metadata != Metadata::for_schemes(&[scheme])).then_some(self.metadata)
    }
}
