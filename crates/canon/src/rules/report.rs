//! The findings in a script, each with its position.

use std::ops::Range;

use urldb_text::{Code, Cursor, Finding, Severity};

/// Collects mistakes by byte positions.
#[derive(Debug, Default)]
pub(crate) struct Report {
    found: Vec<(Range<usize>, Code, String)>,
    /// The number of errors among them.
    pub(crate) errors: usize,
}

impl Report {
    pub(crate) fn add(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) {
        self.errors += usize::from(code.severity() == Severity::Error);
        self.found.push((span, code, message.into()));
    }

    /// The mistakes in the order of `source`, each with its line.
    pub(crate) fn finish(mut self, source: &str) -> Vec<Finding> {
        self.found.sort_by_key(|(span, ..)| span.start);
        let mut cursor = Cursor::default();
        let finding = |(span, code, message): (Range<usize>, Code, String)| {
            let (line, column) = cursor.place(source, span.start);
            let on_line = source
                .get(span)
                .unwrap_or("")
                .split(['\r', '\n'])
                .next()
                .unwrap_or("");
            Finding::new(code, line, message)
                .at_column(column)
                .with_excerpt(cursor.line(source), on_line.chars().count())
        };
        self.found.into_iter().map(finding).collect()
    }
}
