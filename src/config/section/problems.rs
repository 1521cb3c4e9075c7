//! The mistakes of a whole urldb.toml.

use std::cell::RefCell;
use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};
use urldb_text::{Code, Cursor, Finding};

use crate::config::SectionLines;

/// Collects mistakes over all sections of a file, by byte offsets.
#[derive(Debug)]
pub(in crate::config) struct Problems<'a> {
    /// The file that is read.
    text: &'a str,
    found: RefCell<Vec<(usize, String)>>,
    pub(super) lines: RefCell<BTreeMap<String, SectionLines>>,
}

impl<'a> Problems<'a> {
    /// No mistakes yet in `text`.
    pub(in crate::config) fn new(text: &'a str) -> Self {
        Self {
            text,
            found: RefCell::default(),
            lines: RefCell::default(),
        }
    }

    /// The lines of all sections that were read; of several sections with one name, of the last one.
    pub(in crate::config) fn take_lines(&self) -> BTreeMap<String, SectionLines> {
        self.lines.take()
    }

    /// Adds a mistake at a byte offset; the message names a correct value.
    pub(in crate::config) fn push(&self, offset: usize, message: impl Into<String>) {
        self.found.borrow_mut().push((offset, message.into()));
    }

    /// The line of a byte offset, counted from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        Cursor::default().place(self.text, offset).0
    }

    /// The line of an earlier table with the name of the one whose header has this byte offset.
    pub(in crate::config) fn earlier_table(&self, offset: usize) -> Option<usize> {
        let before = &self.text[..offset];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let header = self.text[start..]
            .lines()
            .next()
            .filter(|line| line.trim_start().starts_with('['))?;
        let (header, _) = DeTable::parse_recoverable(header);
        let (earlier, _) = DeTable::parse_recoverable(&self.text[..start]);
        let (mut header, mut earlier) = (header.get_ref(), earlier.get_ref());
        let mut found = None;
        while let Some((name, below)) = header.iter().next() {
            let (key, value) = earlier.get_key_value(name)?;
            found = Some(key.span().start);
            let (DeValue::Table(below), DeValue::Table(known)) = (below.get_ref(), value.get_ref())
            else {
                break;
            };
            (header, earlier) = (below, known);
        }
        found.map(|offset| self.line(offset))
    }

    /// The mistakes in the order of the file.
    pub(in crate::config) fn into_findings(self) -> Vec<Finding> {
        let mut problems = self.found.into_inner();
        problems.sort_by_key(|(offset, _)| *offset);
        let mut cursor = Cursor::default();
        let finding = |(offset, message)| {
            let (line, column) = cursor.place(self.text, offset);
            Finding::new(Code::BadConfiguration, line, message).at_column(column)
        };
        problems.into_iter().map(finding).collect()
    }
}
