//! Writes a merged file, with markers around conflicts.

use std::borrow::Cow;

use super::Conflict;
use super::document::{Dispute, MergedDocument, MergedFile};
use crate::canonical::render_equal;
use crate::entry::RecordEntry;
use crate::record::RecordIdentity;

/// The marker lines around a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerStyle {
    /// The number of characters of a marker; git's default is 7.
    pub size: usize,
    /// The text after the marker above our version.
    pub ours: String,
    /// The text after the marker above the base; `None` to leave the base out.
    pub base: Option<String>,
    /// The text after the marker below their version.
    pub theirs: String,
}

impl Default for MarkerStyle {
    fn default() -> Self {
        Self {
            size: 7,
            ours: "ours".to_owned(),
            base: None,
            theirs: "theirs".to_owned(),
        }
    }
}

/// The text so far, and the conflicts in it.
struct Writer<'a> {
    style: Option<&'a MarkerStyle>,
    text: String,
    lines: usize,
    conflicts: Vec<Conflict>,
}

/// The text of the file, and its conflicts. Without a style, the base stands in place of each conflict.
pub(super) fn write(file: MergedFile, style: Option<&MarkerStyle>) -> (String, Vec<Conflict>) {
    let mut out = Writer {
        style,
        text: String::new(),
        lines: 0,
        conflicts: vec![],
    };
    out.part(file.head, "the metadata");
    let mut records = file.records;
    records.sort_by(|a, b| a.0.cmp(&b.0));
    for same in records.chunk_by(|a, b| a.0 == b.0) {
        out.records(&same[0].0, same.iter().map(|(_, document)| document));
    }
    out.part(file.footer, "the comments at the end");
    (out.text, out.conflicts)
}

impl Writer<'_> {
    fn part(&mut self, part: MergedDocument<String>, about: &str) {
        match part {
            MergedDocument::Clean(text) => self.push(&text),
            MergedDocument::Conflict(dispute) => self.conflict(&dispute, about.to_owned(), None),
        }
    }

    /// Writes the records of one identity; equal records become one.
    fn records<'e>(
        &mut self,
        identity: &RecordIdentity,
        documents: impl Iterator<Item = &'e MergedDocument<Cow<'e, RecordEntry>>>,
    ) {
        let (mut clean, mut disputes): (Vec<&RecordEntry>, _) = (vec![], vec![]);
        for document in documents {
            match document {
                MergedDocument::Clean(entry) => clean.push(entry),
                MergedDocument::Conflict(dispute) => disputes.push(dispute),
            }
        }
        // Different records of one identity stay, as they were in a version; `lint` reports them.
        clean.sort_by_cached_key(|entry| entry.canonical_without_comments());
        for equal in clean.chunk_by(|a, b| a.says_the_same_as(b)) {
            self.push(&render_equal(equal[0], &equal[1..]).0);
        }
        for dispute in disputes {
            self.conflict(dispute, about(identity), Some(identity));
        }
    }

    fn conflict(&mut self, dispute: &Dispute, about: String, record: Option<&RecordIdentity>) {
        let Some(style) = self.style else {
            return self.push(&dispute.undisputed);
        };
        self.conflicts.push(Conflict {
            line: self.lines + 1,
            about,
            record: record.cloned(),
            kind: dispute.kind.clone(),
        });
        self.marker(style.size, '<', &style.ours);
        self.push(&dispute.ours);
        if let Some(base) = &style.base {
            self.marker(style.size, '|', base);
            self.push(&dispute.base);
        }
        self.marker(style.size, '=', "");
        self.push(&dispute.theirs);
        self.marker(style.size, '>', &style.theirs);
    }

    fn marker(&mut self, size: usize, char: char, label: &str) {
        let mut line: String = std::iter::repeat_n(char, size).collect();
        if !label.is_empty() {
            line.push(' ');
            line.extend(label.chars().filter(|char| !char.is_control()));
        }
        line.push('\n');
        self.push(&line);
    }

    fn push(&mut self, text: &str) {
        self.lines += text.matches('\n').count();
        self.text.push_str(text);
    }
}

/// The record's path, with its method unless that is GET, and its variant.
fn about(identity: &RecordIdentity) -> String {
    let method = identity
        .request
        .as_deref()
        .unwrap_or_default()
        .split('&')
        .find_map(|it| it.strip_prefix("__wb_method="));
    let about = match method {
        Some(method) => format!("{method} {}", identity.path),
        None => identity.path.clone(),
    };
    match &identity.variant {
        Some(variant) => format!("{about} ({})", variant.replace('\n', ", ")),
        None => about,
    }
}
