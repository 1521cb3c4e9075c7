//! A difference for a terminal.

use std::io::{self, Write};

use urldb_format::{DifferenceKind, KeyChange, RecordDifference};
use urldb_text::sanitize;

use super::Writer;
use super::compared::{ComparedFile, FileStatus, Side, Totals, count, method};
use super::values;
use crate::cli::Context;
use crate::cli::print::style::{self, BAD, DIM, GOOD, WARN, paint};
use crate::config::{ChangedKeys, FILE_NAME};

/// Writes each file at once, and the totals at the end.
pub(super) struct HumanWriter<W> {
    pub(super) out: W,
    quiet: bool,
    /// Also the keys of added and removed records.
    verbose: bool,
    /// Only a line for each file.
    stat: bool,
}

impl<W: Write> HumanWriter<W> {
    /// Begins with the keys of urldb.toml that differ.
    pub(super) fn new(
        mut out: W,
        settings: Option<&ChangedKeys>,
        stat: bool,
        context: &Context,
    ) -> io::Result<Self> {
        if let Some(settings) = settings {
            let keys = settings.sentence(str::to_owned);
            writeln!(out, "{}: {keys}", paint(WARN, FILE_NAME))?;
        }
        Ok(Self {
            out,
            quiet: context.quiet,
            verbose: context.verbose,
            stat,
        })
    }

    fn record(&mut self, file: &ComparedFile<'_>, record: &RecordDifference<'_>) -> io::Result<()> {
        let (word, with_keys) = match record.kind {
            DifferenceKind::Added => (paint(GOOD, "added"), self.verbose),
            DifferenceKind::Removed => (paint(BAD, "removed"), self.verbose),
            DifferenceKind::Changed => (paint(WARN, "changed"), true),
            DifferenceKind::Unknown => return Ok(()),
        };
        let method = record
            .entry()
            .and_then(method)
            .map_or_else(String::new, |method| format!("{} ", sanitize(method)));
        let url = file.name(record);
        let promise = mark(record.changes_promise());
        writeln!(self.out, "  {word} {method}{}{promise}", sanitize(&url))?;
        if with_keys {
            self.keys(&record.keys)?;
        }
        Ok(())
    }

    fn keys(&mut self, keys: &[KeyChange]) -> io::Result<()> {
        for change in keys {
            if change.key == "_path" && (change.before.is_none() || change.after.is_none()) {
                // The URL has the path already.
                continue;
            }
            writeln!(self.out, "    {}", sanitize(&change.key))?;
            let sides = [(BAD, '-', &change.before), (GOOD, '+', &change.after)];
            for (style, sign, value) in sides {
                if let Some(value) = value {
                    let line = format!("{sign} {}", values::line(value));
                    writeln!(self.out, "      {}", paint(style, line))?;
                }
            }
        }
        Ok(())
    }
}

impl<W: Write> Writer for HumanWriter<W> {
    fn add(&mut self, file: &ComparedFile<'_>) -> io::Result<()> {
        let status = match file.status {
            FileStatus::Added => paint(DIM, " (new file)"),
            FileStatus::Removed => paint(DIM, " (file removed)"),
            FileStatus::Changed => String::new(),
            FileStatus::Moved => {
                let former = sanitize(file.former_host().unwrap_or_default());
                paint(DIM, format!(" (moved from {former})"))
            }
        };
        if self.stat {
            let mut numbers = Totals::default();
            numbers.add(file);
            return writeln!(self.out, "{}{status}: {}", file.name, numbers.of_file());
        }
        writeln!(self.out, "{}{status}", file.name)?;
        for (side, finding) in file.mistakes() {
            let version = match side {
                Side::Before => "earlier version",
                Side::After => "later version",
            };
            let code = paint(BAD, finding.code);
            let message = sanitize(&finding.message);
            writeln!(
                self.out,
                "  {version}, line {}: {code}: {message}",
                finding.line
            )?;
        }
        let metadata = &file.difference.metadata;
        let is_shown = !file.changed_metadata().is_empty() || self.verbose;
        if is_shown && !metadata.is_empty() {
            let word = match file.status {
                FileStatus::Added => paint(GOOD, "added"),
                FileStatus::Removed => paint(BAD, "removed"),
                FileStatus::Changed | FileStatus::Moved => paint(WARN, "changed"),
            };
            let promise = mark(file.changes_metadata_promise());
            writeln!(self.out, "  {word} metadata{promise}")?;
            self.keys(metadata)?;
        }
        for record in &file.difference.records {
            self.record(file, record)?;
        }
        let unknown = file.unknown();
        if unknown > 0 {
            let word = paint(WARN, "not compared");
            writeln!(self.out, "  {word}: {}", count(unknown, "record"))?;
        }
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        if !self.quiet {
            writeln!(self.out, "{}", totals.sentence())?;
            for note in totals.notes() {
                writeln!(self.out, "{}", paint(style::DIM, note))?;
            }
        }
        self.out.flush()
    }
}

fn mark(is_promise: bool) -> String {
    if is_promise {
        format!(" ({})", paint(BAD, "promise changed"))
    } else {
        String::new()
    }
}
