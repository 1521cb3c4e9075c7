//! The output of commands that list: text for people, or one JSON object a line.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use crate::cli::print::output;
use crate::cli::print::style::{ListFormat, ReportFormat};

/// Prints the lines of a command in one of their forms. Keeps the first error of the output until the end, so that
/// changes to the archive go on without a reader.
pub(super) struct LinePrinter<W> {
    out: W,
    format: ListFormat,
    failure: io::Result<()>,
}

impl<W: Write> LinePrinter<W> {
    pub(super) fn new(out: W, format: ListFormat) -> Self {
        Self {
            out,
            format,
            failure: Ok(()),
        }
    }

    pub(super) fn is_human(&self) -> bool {
        self.format == ListFormat::Human
    }

    /// Prints a line: the object for programs, or the text for people, which may have several lines.
    pub(super) fn print(&mut self, object: &impl Serialize, text: impl Display) {
        if self.failure.is_ok() {
            self.failure = if self.is_human() {
                writeln!(self.out, "{text}")
            } else {
                output::write_json_line(&mut self.out, object)
            };
        }
    }

    /// Prints a line that a quiet command leaves out for people.
    pub(super) fn print_unless(
        &mut self,
        is_quiet: bool,
        object: &impl Serialize,
        text: impl Display,
    ) {
        if !(is_quiet && self.is_human()) {
            self.print(object, text);
        }
    }

    /// Returns the first error of the output.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.failure?;
        self.out.flush()
    }
}

impl From<ListFormat> for ReportFormat {
    fn from(format: ListFormat) -> Self {
        match format {
            ListFormat::Human => Self::Human,
            ListFormat::Jsonl => Self::Jsonl,
        }
    }
}
