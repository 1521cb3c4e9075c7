//! The documents of a domain file after its metadata: records, and what is no record.

use urldb_text::{Code, Finding};

use crate::document::Document;
use crate::emit::KeyOrder;
use crate::layout::Layout;
use crate::record::{ListOrder, Record};
use crate::vary::differing_headers;

/// A document after the metadata.
#[derive(Debug, Clone)]
pub(crate) enum Segment {
    Record(RecordEntry),
    /// The source text of a document that is not a record.
    Broken(String),
}

/// A record with its position in the file.
#[derive(Debug, Clone)]
pub struct RecordEntry {
    /// A box moves to another place without a copy, and a file has millions.
    pub(crate) record: Box<Record>,
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

    /// The record alone.
    pub fn into_record(self) -> Record {
        *self.record
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
        self.layout
            .keys
            .iter()
            .any(|(name, _)| name == key)
            .then(|| self.layout.line_of(key))
    }

    /// The keys in the order of the file, each with its line, from 1.
    pub fn key_lines(&self) -> impl Iterator<Item = (&str, usize)> {
        self.layout
            .keys
            .iter()
            .map(|(key, offset)| (key.as_ref(), self.layout.start + offset))
    }

    /// Whether the two records are equal apart from comments and formatting.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        self.canonical_without_comments() == other.canonical_without_comments()
    }

    /// The canonical text of the record with its comments.
    pub(crate) fn canonical(&self) -> String {
        self.layout
            .render(&self.record.fields(ListOrder::Sorted), KeyOrder::Sorted)
    }

    /// The canonical text of the record without its comments.
    pub(crate) fn canonical_without_comments(&self) -> String {
        Layout::default().render(&self.record.fields(ListOrder::Sorted), KeyOrder::Sorted)
    }
}

impl Segment {
    pub(crate) fn source(&self) -> &str {
        match self {
            Self::Record(entry) => &entry.layout.source,
            Self::Broken(source) => source,
        }
    }

    /// The segment of a document in `text`. A document that is no record, for a reason that is not known yet,
    /// is a finding.
    pub(crate) fn read(mut document: Document, text: &str, findings: &mut Vec<Finding>) -> Self {
        let layout = Layout::new(&mut document, text);
        let (intact, start) = (document.intact, document.start_line);
        let path_line = document.key_line("_path");
        if let Some(record) = Record::from_mapping(document.mapping) {
            return Self::Record(RecordEntry {
                record: Box::new(record),
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
        Self::Broken(layout.source)
    }
}

/// The finding that `again` is a record for the same request as `first`.
pub(crate) fn duplicate_record(first: &RecordEntry, again: &RecordEntry) -> Finding {
    let method = again.record.method.as_deref();
    let method = method.map_or_else(String::new, |method| format!("{method} "));
    let message = format!(
        "line {} has a record for {method}{} already",
        first.line(),
        first.record.path
    );
    let help = if first.says_the_same_as(again) {
        "the two are equal: remove one; formatting does so"
    } else if let Some(names) = differing_headers(&first.record, &again.record) {
        let names = names.join(", ");
        &format!("add `vary: [{names}]` to the metadata, or keep the right one")
    } else {
        "they differ: keep the right one"
    };
    Finding::new(Code::DuplicateRecord, again.line(), message).with_help(help)
}
