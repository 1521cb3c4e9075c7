//! A document that was read: its values, and the lines of the document and of each key.

use std::ops::Range;

use crate::value::Mapping;

/// One document of a text.
#[derive(Debug, Clone)]
pub struct Document {
    /// The first line, from 1: that of the first comment above it, or of its `---`.
    pub start_line: usize,
    /// The last line.
    pub end_line: usize,
    /// Its bytes in the text, comments above it included.
    pub range: Range<usize>,
    /// The comments above its `---`, from `#` on.
    pub above: Vec<String>,
    /// The keys and values; empty if the document could not be read.
    pub mapping: Mapping,
    /// The line of each key of `mapping`, in the same order.
    pub key_lines: Vec<usize>,
    /// The comments inside, each with the key that it belongs to.
    pub comments: Vec<(String, String)>,
    /// Whether all of it was understood. If not, the findings say why, and `mapping` may lack
    /// some of it.
    pub intact: bool,
}

impl Document {
    /// The line of a key, from 1.
    pub fn key_line(&self, key: &str) -> Option<usize> {
        let index = self.mapping.iter().position(|(name, _)| name == key)?;
        self.key_lines.get(index).copied()
    }
}
