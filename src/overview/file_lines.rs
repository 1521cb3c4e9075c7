//! The lines of a domain file, of which only the beginnings of documents and the paths are kept, while differences are
//! applied.

use std::collections::{BTreeSet, HashMap};

use urldb_format::LineKind;

/// A line of a domain file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Begins a document.
    Separator,
    /// The path of a record.
    Path(Box<str>),
    Other,
}

impl Line {
    fn of(text: &str) -> Self {
        if LineKind::of(text.as_bytes()) == LineKind::Marker {
            return Self::Separator;
        }
        match text.strip_prefix("_path: ") {
            Some(path) => Self::Path(plain(path).into()),
            None => Self::Other,
        }
    }
}

/// The value of a scalar as canonical files have it: plain, or in single quotes.
fn plain(text: &str) -> String {
    text.strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
        .map_or_else(|| text.to_owned(), |text| text.replace("''", "'"))
}

/// The lines of a domain file.
#[derive(Debug, Default)]
pub(super) struct FileLines {
    pub(super) lines: Vec<Line>,
    /// Number of records of each path.
    pub(super) records: HashMap<Box<str>, u32>,
    /// A difference did not fit: what follows is unknown.
    pub(super) is_lost: bool,
}

/// A file while the differences of one commit are applied.
#[derive(Debug, Default)]
pub(super) struct Edited {
    pub(super) host: String,
    /// The file had no lines before.
    pub(super) was_empty: bool,
    /// Lines added so far, less those removed.
    shift: isize,
    pub(super) touched: BTreeSet<Box<str>>,
    /// The touched paths that had a record before the commit.
    pub(super) before: BTreeSet<Box<str>>,
}

impl Edited {
    pub(super) fn new(host: String, was_empty: bool) -> Self {
        Self {
            host,
            was_empty,
            ..Self::default()
        }
    }
}

impl FileLines {
    /// Replaces `removed` lines after the first `start` lines of the old file.
    pub(super) fn apply(
        &mut self,
        edited: &mut Edited,
        start: usize,
        removed: usize,
        added: &[String],
    ) {
        let from = start.checked_add_signed(edited.shift);
        let range = from.and_then(|from| Some(from..from.checked_add(removed)?));
        let Some(range) = range.filter(|range| !self.is_lost && range.end <= self.lines.len())
        else {
            self.is_lost = true;
            return;
        };
        for path in self.paths_in(range.clone()) {
            // A path that an earlier hunk of the commit has added was not there before.
            if edited.touched.insert(path.clone()) {
                edited.before.insert(path);
            }
        }
        let from = range.start;
        let new = added.iter().map(|text| Line::of(text));
        let old: Vec<Line> = self.lines.splice(range, new).collect();
        for line in old {
            if let Line::Path(path) = line
                && let Some(count) = self.records.get_mut(&path)
            {
                *count -= 1;
                if *count == 0 {
                    self.records.remove(&path);
                }
            }
        }
        for path in self.paths_in(from..from + added.len()) {
            if edited.touched.insert(path.clone()) && self.records.contains_key(&path) {
                edited.before.insert(path);
            }
        }
        for line in &self.lines[from..from + added.len()] {
            if let Line::Path(path) = line {
                *self.records.entry(path.clone()).or_default() += 1;
            }
        }
        let shift = isize::try_from(added.len()).unwrap_or_default()
            - isize::try_from(removed).unwrap_or_default();
        edited.shift += shift;
    }

    /// The paths of the documents that have a line in the range, separators apart: which of two equal
    /// separators a difference shows is chance.
    fn paths_in(&self, range: std::ops::Range<usize>) -> Vec<Box<str>> {
        let mut paths = vec![];
        let mut index = range.start;
        while index < range.end {
            if self.lines[index] == Line::Separator {
                index += 1;
                continue;
            }
            let is_separator = |line: &Line| *line == Line::Separator;
            let before = &self.lines[..index];
            let start = before.iter().rposition(is_separator).map_or(0, |at| at + 1);
            let after = &self.lines[index..];
            let end = after
                .iter()
                .position(is_separator)
                .map_or(self.lines.len(), |at| index + at);
            paths.extend(self.lines[start..end].iter().find_map(|line| match line {
                Line::Path(path) => Some(path.clone()),
                _ => None,
            }));
            index = end;
        }
        paths
    }
}
