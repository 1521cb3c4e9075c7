//! A document of a domain file that is being read.

use std::borrow::Cow;

use urldb_text::{Code, Finding};

use crate::emit::KeyOrder;
use crate::entry::RecordEntry;
use crate::layout::Layout;
use crate::metadata::Metadata;
use crate::plain::PlainRecord;
use crate::record::ListOrder;
use crate::split::comments;

/// The start of a document in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentStart {
    /// The number of bytes before.
    pub byte: u64,
    /// The first line, from 1: that of the first comment above the document, or of its `---`.
    pub line: usize,
}

/// A document of a domain file: the metadata, a record, a document that is no record, or the comments at the
/// end of the file.
#[derive(Debug)]
pub struct DocumentRef<'a> {
    pub(crate) start: DocumentStart,
    pub(crate) text: &'a str,
    pub(crate) content: Content<'a>,
    pub(crate) findings: &'a [Finding],
    /// Whether each record up to this document comes after the one before.
    pub(crate) is_ascending: bool,
    pub(crate) may_repeat: bool,
    /// The first record for the same request, if this record repeats it.
    pub(crate) first: Option<&'a RecordEntry>,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most records are plain, and need no memory of their own"
)]
pub(crate) enum Content<'a> {
    Head(HeadRef<'a>),
    Plain(PlainRecord<'a>),
    /// Another record, just read.
    Read(Box<RecordEntry>),
    /// A record of a file in memory.
    Stored(&'a RecordEntry),
    /// A document that is no record.
    Broken,
    Footer,
}

/// The metadata of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadRef<'a> {
    pub(crate) metadata: &'a Metadata,
    /// The layout of the metadata document; `None` if the file has no such document.
    pub(crate) layout: Option<&'a Layout>,
    pub(crate) byte_order_mark: bool,
}

/// The codes that mean that some of the document was not understood.
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

/// Whether the finding means that some of its document was not understood.
pub(crate) fn is_blocking(finding: &Finding) -> bool {
    BLOCKING.contains(&finding.code)
}

impl<'a> DocumentRef<'a> {
    /// The start of the document, with the comments above it.
    pub fn start(&self) -> DocumentStart {
        self.start
    }

    /// The last line that this document ends, from 1; the line before the document if it ends none.
    pub fn end_line(&self) -> usize {
        self.start.line - 1 + memchr::memchr_iter(b'\n', self.text.as_bytes()).count()
    }

    /// The source text, with the comments above the document.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The mistakes that prevent that the document is understood, and other mistakes that reading found.
    pub fn findings(&self) -> &'a [Finding] {
        self.findings
    }

    /// The metadata, if this is their document, or takes its place in a file without metadata.
    pub fn metadata(&self) -> Option<&Metadata> {
        match &self.content {
            Content::Head(head) => Some(head.metadata),
            _ => None,
        }
    }

    /// The path of the record; `None` if the document is no record.
    pub fn path(&self) -> Option<&str> {
        match &self.content {
            Content::Plain(record) => Some(record.path()),
            Content::Read(entry) => Some(&entry.record.path),
            Content::Stored(entry) => Some(&entry.record.path),
            Content::Head(_) | Content::Broken | Content::Footer => None,
        }
    }

    /// Whether the record is of category `deprecated`.
    pub fn is_deprecated(&self) -> bool {
        match &self.content {
            Content::Plain(record) => record.is_deprecated(),
            _ => self
                .to_entry()
                .is_some_and(|entry| entry.record.has_category("deprecated")),
        }
    }

    /// Over how many schemes runs check the record, in a file with these metadata.
    pub fn scheme_count(&self, metadata: &Metadata) -> usize {
        let own = match &self.content {
            Content::Read(entry) => Some(&entry.record),
            Content::Stored(entry) => Some(&entry.record),
            _ => None,
        };
        own.map_or_else(|| metadata.schemes(), |record| metadata.schemes_of(record))
            .len()
    }

    /// Whether the record has a source.
    pub fn has_source(&self) -> bool {
        match &self.content {
            Content::Plain(record) => record.has_source(),
            Content::Read(entry) => !entry.record.source.is_empty(),
            Content::Stored(entry) => !entry.record.source.is_empty(),
            Content::Head(_) | Content::Broken | Content::Footer => false,
        }
    }

    /// The record, in memory of its own if it is plain; `None` if the document is no record.
    pub fn to_entry(&self) -> Option<Cow<'_, RecordEntry>> {
        match &self.content {
            Content::Plain(record) => Some(Cow::Owned(record.to_entry(self.start.line))),
            Content::Read(entry) => Some(Cow::Borrowed(entry)),
            Content::Stored(entry) => Some(Cow::Borrowed(entry)),
            Content::Head(_) | Content::Broken | Content::Footer => None,
        }
    }

    /// Whether the file may have another record for the same request: its records are not in order.
    pub fn may_repeat(&self) -> bool {
        self.may_repeat
    }

    /// Whether the document certainly has no finding, its order apart.
    pub(crate) fn is_plain(&self) -> bool {
        match &self.content {
            Content::Plain(_) => true,
            Content::Stored(entry) => entry.is_plain,
            _ => false,
        }
    }

    /// Whether some of the document was not understood.
    pub(crate) fn is_blocked(&self) -> bool {
        self.findings.iter().any(is_blocking)
    }

    /// Whether the text is the canonical form of the document.
    pub fn is_canonical(&self) -> bool {
        let canonical = match &self.content {
            Content::Plain(_) => return true,
            _ if self.is_blocked() => return false,
            Content::Head(head) => head.canonical(),
            Content::Read(entry) => Some(entry.canonical()).filter(|_| entry.intact),
            Content::Stored(entry) => Some(entry.canonical()).filter(|_| entry.intact),
            Content::Broken => None,
            Content::Footer => Some(canonical_comments(self.text)),
        };
        canonical.is_some_and(|canonical| canonical == self.text)
    }
}

impl HeadRef<'_> {
    /// The canonical form of the metadata document, if the file has one at its start.
    fn canonical(&self) -> Option<String> {
        let layout = self.layout.filter(|_| !self.byte_order_mark)?;
        let fields = self.metadata.fields(ListOrder::Sorted);
        Some(layout.render(&fields, KeyOrder::Sorted))
    }
}

/// The canonical form of the comments at the end of a file: one line each, without blank lines.
pub(crate) fn canonical_comments(footer: &str) -> String {
    comments(footer)
        .into_iter()
        .flat_map(|comment| [comment, "\n"])
        .collect()
}
