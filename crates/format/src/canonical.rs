//! The canonical form of a domain file.

use urldb_text::Finding;

use crate::document_ref::canonical_comments;
use crate::domain_file::DomainFile;
use crate::emit::KeyOrder;
use crate::entry::{RecordEntry, duplicate_record};
use crate::error::Error;
use crate::layout::Layout;
use crate::record::{ListOrder, RecordIdentity};

impl DomainFile {
    /// The canonical text of the file: keys, lists and records sorted, every value written in its
    /// one canonical way. Comments stay above the record or key that they stand above.
    ///
    /// # Errors
    /// [`Error::NotNormalizable`] if some of the file was not understood, or if two records for the
    /// same request differ.
    pub fn canonical(&self) -> Result<String, Error> {
        let refuse = |findings| Error::NotNormalizable {
            path: self.path.clone(),
            findings,
        };
        if !self.blocking.is_empty() {
            return Err(refuse(self.blocking.clone()));
        }
        let records = self.sorted_records().map_err(refuse)?;
        let footer = canonical_comments(&self.footer);
        let size = self
            .segments
            .iter()
            .map(|segment| segment.source().len())
            .sum();
        let mut text = String::with_capacity(size);
        let bare = Layout::default();
        let head = self.head.as_ref().unwrap_or(&bare);
        // A file of comments alone has no document that the comments could follow.
        let only_comments = self.head.is_none() && records.is_empty();
        if only_comments {
            text.push_str(&footer);
        }
        text.push_str(&head.render(&self.metadata.fields(ListOrder::Sorted), KeyOrder::Sorted));
        for record in records {
            text.push_str(&record);
        }
        if !only_comments {
            text.push_str(&footer);
        }
        Ok(text)
    }

    /// The canonical text of each record, sorted. Equal records become one.
    fn sorted_records(&self) -> Result<Vec<String>, Vec<Finding>> {
        let mut entries: Vec<(RecordIdentity, &RecordEntry)> = self
            .records()
            .map(|entry| (self.metadata.exact_identity_of(&entry.record), entry))
            .collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let mut findings = Vec::new();
        let mut records = Vec::with_capacity(entries.len());
        for same in entries.chunk_by(|a, b| a.0 == b.0) {
            let first = same[0].1;
            let others: Vec<&RecordEntry> = same[1..].iter().map(|(_, entry)| *entry).collect();
            let (text, different) = render_equal(first, &others);
            findings.extend(
                different
                    .into_iter()
                    .map(|other| duplicate_record(first, other)),
            );
            records.push(text);
        }
        if findings.is_empty() {
            Ok(records)
        } else {
            Err(findings)
        }
    }
}

/// The canonical text of a record, with the comments of those of `others` that are equal to it; and
/// the others.
pub(crate) fn render_equal<'a>(
    first: &RecordEntry,
    others: &[&'a RecordEntry],
) -> (String, Vec<&'a RecordEntry>) {
    if others.is_empty() {
        return (first.canonical(), vec![]);
    }
    let mut layout = first.layout.clone();
    let mut different = vec![];
    for &other in others {
        if other.says_the_same_as(first) {
            layout.add_comments_of(&other.layout);
        } else {
            different.push(other);
        }
    }
    let fields = first.record.fields(ListOrder::Sorted);
    (layout.render(&fields, KeyOrder::Sorted), different)
}
