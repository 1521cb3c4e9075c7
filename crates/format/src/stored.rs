//! The documents of a domain file in memory, as its reader would show them.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use urldb_text::Finding;

use crate::document_ref::{Content, DocumentRef, DocumentStart, HeadRef};
use crate::domain_file::{DomainFile, ParsedFile};
use crate::entry::{RecordEntry, Segment};
use crate::record::RecordIdentity;

impl ParsedFile {
    /// The documents of the file, each with its findings. Each record that repeats an earlier one for the same
    /// request knows it.
    pub fn documents(&self) -> impl Iterator<Item = DocumentRef<'_>> {
        let file = &self.file;
        let head = Content::Head(HeadRef {
            metadata: &file.metadata,
            layout: file.head.as_ref(),
            byte_order_mark: file.byte_order_mark,
        });
        let head_text = file.head.as_ref().map_or("", |head| head.source.as_str());
        let segments = file.segments.iter().map(|segment| match segment {
            Segment::Record(entry) => (segment.source(), Content::Stored(entry)),
            Segment::Broken(source) => (source.as_str(), Content::Broken),
        });
        let documents = std::iter::once((head_text, head))
            .chain(segments)
            .chain([(file.footer.as_str(), Content::Footer)]);
        let may_repeat = !file.has_ascending_paths();
        let mut repeated = repeated(file).into_iter().peekable();
        let mut start = DocumentStart {
            byte: if file.byte_order_mark { 3 } else { 0 },
            line: file.first_line,
        };
        let mut findings: &[Finding] = &self.findings;
        documents.map(move |(text, content)| {
            let here = start;
            start.byte += text.len() as u64;
            start.line += memchr::memchr_iter(b'\n', text.as_bytes()).count();
            let own = if matches!(content, Content::Footer) {
                findings.len()
            } else {
                let is_line_open = !text.is_empty() && !text.ends_with('\n');
                let end = start.line + usize::from(is_line_open);
                findings.partition_point(|finding| finding.line < end)
            };
            let (own, later) = findings.split_at(own);
            findings = later;
            let first = match &content {
                Content::Stored(entry) => {
                    repeated.next_if(|(_, again)| std::ptr::eq(*again, *entry))
                }
                _ => None,
            };
            DocumentRef {
                start: here,
                text,
                content,
                findings: own,
                is_ascending: !may_repeat,
                may_repeat,
                first: first.map(|(first, _)| first),
            }
        })
    }
}

/// The records for the same request as an earlier record, each with the first such record.
fn repeated(file: &DomainFile) -> Vec<(&RecordEntry, &RecordEntry)> {
    if file.has_ascending_paths() {
        return vec![];
    }
    let mut seen: HashMap<RecordIdentity, &RecordEntry> = HashMap::new();
    let mut repeated = vec![];
    for entry in file.records() {
        match seen.entry(file.identity_of(&entry.record)) {
            Slot::Occupied(first) => repeated.push((*first.get(), entry)),
            Slot::Vacant(slot) => {
                slot.insert(entry);
            }
        }
    }
    repeated
}
