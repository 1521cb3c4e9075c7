//! The layout of a document in its file: the order of its keys, its comments, its source text.

use std::collections::{HashMap, HashSet};

use crate::document::Document;
use crate::emit::{Emitter, KeyOrder, ValueRef};
use crate::keys::{Key, intern};

/// Everything about a document except its data.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    /// The first line in the file, from 1.
    pub(crate) start: usize,
    /// The keys in the order of the source, each with its line relative to `start`.
    pub(crate) keys: Vec<(Key, usize)>,
    /// The comments above the document.
    pub(crate) above: Vec<String>,
    /// The comments inside the document, each with the following key.
    pub(crate) comments: Vec<(String, String)>,
    /// The text of the document, with the comments above it.
    pub(crate) source: String,
}

impl Layout {
    /// The layout of `document`, which is part of `text`.
    pub(crate) fn new(document: &mut Document, text: &str) -> Self {
        let lines = document.mapping.iter().zip(&document.key_lines);
        Self {
            start: document.start_line,
            keys: lines
                .map(|((key, _), line)| (intern(key), line - document.start_line))
                .collect(),
            above: std::mem::take(&mut document.above),
            comments: std::mem::take(&mut document.comments),
            source: text[document.range.clone()].to_owned(),
        }
    }

    /// The layout of a document without keys at the start of a file.
    pub(crate) fn first(source: String) -> Self {
        Self {
            start: 1,
            source,
            ..Self::default()
        }
    }

    /// The layout of a document that has these comments and no source yet.
    pub(crate) fn of_comments(above: Vec<String>, comments: Vec<(String, String)>) -> Self {
        Self {
            above,
            comments,
            ..Self::default()
        }
    }

    /// The line of a key in the file, from 1; the first line of the document if it lacks the key.
    pub(crate) fn line_of(&self, key: &str) -> usize {
        self.start + self.offset_of(key).unwrap_or(0)
    }

    fn offset_of(&self, key: &str) -> Option<usize> {
        self.keys
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, offset)| *offset)
    }

    pub(crate) fn line_count(&self) -> usize {
        memchr::memchr_iter(b'\n', self.source.as_bytes()).count()
    }

    /// Adds the comments of an equal document, without repeats.
    pub(crate) fn add_comments_of(&mut self, other: &Self) {
        for comment in &other.above {
            if !self.above.contains(comment) {
                self.above.push(comment.clone());
            }
        }
        for comment in &other.comments {
            if !self.comments.contains(comment) {
                self.comments.push(comment.clone());
            }
        }
    }

    /// Reorders the fields, which are sorted by key, into the order of the source.
    pub(crate) fn in_source_order<'a>(
        &self,
        fields: Vec<(&'a str, ValueRef<'a>)>,
    ) -> Vec<(&'a str, ValueRef<'a>)> {
        if fields.len() == self.keys.len()
            && fields
                .iter()
                .zip(&self.keys)
                .all(|(field, key)| field.0 == key.0)
        {
            return fields;
        }
        let mut by_key: HashMap<&str, _> =
            fields.into_iter().map(|field| (field.0, field)).collect();
        self.keys
            .iter()
            .filter_map(|(key, _)| by_key.remove(key.as_ref()))
            .collect()
    }

    /// The text of the document with its comments.
    pub(crate) fn render(&self, fields: &[(&str, ValueRef)], order: KeyOrder) -> String {
        self.write(fields, order).finish()
    }

    /// Writes the document in the canonical form, and stores the text as the source.
    pub(crate) fn rewrite(&mut self, fields: &[(&str, ValueRef)], crlf: bool) {
        let mut out = self.write(fields, KeyOrder::Sorted);
        let lines = std::mem::take(&mut out.key_lines);
        self.keys = fields
            .iter()
            .map(|field| intern(field.0))
            .zip(lines)
            .collect();
        let text = out.finish();
        self.source = if crlf {
            text.replace('\n', "\r\n")
        } else {
            text
        };
    }

    fn write(&self, fields: &[(&str, ValueRef)], order: KeyOrder) -> Emitter {
        let mut out = Emitter::default();
        for comment in &self.above {
            out.comment(comment);
        }
        out.document_start();
        if self.comments.is_empty() {
            for (key, value) in fields {
                out.top_level_pair(key, value, order);
            }
        } else {
            self.render_with_comments(&mut out, fields, order);
        }
        out
    }

    fn render_with_comments(
        &self,
        out: &mut Emitter,
        fields: &[(&str, ValueRef)],
        order: KeyOrder,
    ) {
        let mut by_key: HashMap<&str, Vec<&str>> = HashMap::new();
        for (key, comment) in &self.comments {
            by_key.entry(key).or_default().push(comment);
        }
        let kept: HashSet<&str> = fields.iter().map(|(key, _)| *key).collect();
        // A comment on a removed key may be about the record, so it is kept.
        for (_, comment) in self
            .comments
            .iter()
            .filter(|(key, _)| !kept.contains(key.as_str()))
        {
            out.comment(comment);
        }
        for (key, value) in fields {
            for comment in by_key.remove(key).unwrap_or_default() {
                out.comment(comment);
            }
            out.top_level_pair(key, value, order);
        }
    }
}
