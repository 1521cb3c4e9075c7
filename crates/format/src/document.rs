//! A document as read: its values, and the lines of the document and of each key.

use std::ops::Range;

use crate::value::Mapping;

/// One document of a text.
#[derive(Debug, Clone)]
pub struct Document {
    /// The first line, from 1: the line of the first comment above the document, or of its `---`.
    pub start_line: usize,
    /// The last line, from 1.
    pub end_line: usize,
    /// The bytes of the document in the text, from `start_line` on.
    pub range: Range<usize>,
    /// The comments above the `---`, each from its `#` on.
    pub above: Vec<String>,
    /// The keys and values; empty if the document could not be read.
    pub mapping: Mapping,
    /// The line of each key of `mapping`, in the order of `mapping`.
    pub key_lines: Vec<usize>,
    /// The key and the text of each comment inside the document.
    pub comments: Vec<(String, String)>,
    /// Whether the whole document was understood. If false, the findings say why, and `mapping`
    /// may lack some keys.
    pub intact: bool,
}

impl Document {
    /// The line of a key, from 1.
    pub fn key_line(&self, key: &str) -> Option<usize> {
        let index = self.mapping.iter().position(|(name, _)| name == key)?;
        self.key_lines.get(index).copied()
    }
}
