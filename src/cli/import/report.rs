//! The report of an import, for people.

use std::fmt::Write as _;
use std::io::Write as _;

use urldb_interchange::{Notice, NoticeSeverity};
use urldb_text::sanitize;

use crate::cli::Context;
use crate::cli::args::ChangedUrls;
use crate::cli::print::output;
use crate::cli::print::style::{self, BAD, DIM, GOOD, count, paint};
use crate::exit::ExitCode;
use crate::sync::{MergedDomain, Outcome};

/// The number of notices shown: a list of ten million lines may be wrong in each.
const SHOWN: u64 = 100;

/// Counts, and the text for the end.
pub(super) struct ImportReport {
    quiet: bool,
    verbose: bool,
    added: u64,
    merged: u64,
    left_out: u64,
    refused: u64,
    /// A line for each file.
    lines: String,
    /// The added and merged URLs, for the subject of the commit.
    pub(super) changed: ChangedUrls,
    /// The URLs that were in the database before.
    pub(super) known: ChangedUrls,
}

impl ImportReport {
    pub(super) fn new(context: &Context) -> Self {
        Self {
            quiet: context.quiet,
            verbose: context.verbose,
            added: 0,
            merged: 0,
            left_out: 0,
            refused: 0,
            lines: String::new(),
            changed: ChangedUrls::default(),
            known: ChangedUrls::default(),
        }
    }

    /// Counts and prints a notice, unless there were too many.
    pub(super) fn add_notice(&mut self, notice: &Notice) {
        let (number, word) = match notice.severity {
            NoticeSeverity::Remark if self.verbose => (0, paint(DIM, "note:")),
            NoticeSeverity::Remark => return,
            NoticeSeverity::LeftOut => {
                self.left_out += notice.count;
                (self.left_out, paint(style::WARN, "left out:"))
            }
            NoticeSeverity::Refused => {
                self.refused += 1;
                (self.refused, paint(BAD, "refused:"))
            }
        };
        let text = match number {
            0..=SHOWN => sanitize(&notice.to_string()).into_owned(),
            number if number == SHOWN + 1 => "more, which are not shown".to_owned(),
            _ => return,
        };
        // A closed standard error is no error.
        let _ = writeln!(output::stderr(), "{word} {text}");
    }

    /// Counts the records of a domain file, and prints the contradictions between its items.
    pub(super) fn add_domain(&mut self, merged: &MergedDomain) -> anyhow::Result<()> {
        let changes = &merged.changes;
        for notice in changes.contradictions.iter().chain(&changes.left_out) {
            self.add_notice(notice);
        }
        for (_, outcome, url) in merged.records() {
            if self.verbose {
                let word = match outcome {
                    Outcome::Added => paint(GOOD, "added"),
                    Outcome::Updated => paint(GOOD, "merged"),
                    Outcome::Unchanged => paint(DIM, "known"),
                };
                writeln!(self.lines, "{word} {}", sanitize(&url))?;
            }
            match outcome {
                Outcome::Unchanged => self.known.add(&merged.host, || url),
                _ => self.changed.add(&merged.host, || url),
            }
        }
        let [added, others] = [Outcome::Added, Outcome::Updated].map(|it| changes.count(it));
        let known = changes.unchanged;
        self.added += added;
        self.merged += others;
        if added + others > 0 {
            let all = [(added, "added"), (others, "merged"), (known, "known")];
            writeln!(self.lines, "{}: {}", merged.name, style::sum(&all))?;
        }
        Ok(())
    }

    /// Whether nothing may be written.
    pub(super) fn stops(&self, keep_going: bool) -> bool {
        self.refused > 0 && !keep_going
    }

    /// Prints the totals.
    pub(super) fn finish(&self, dry_run: bool, keep_going: bool) -> anyhow::Result<()> {
        if self.stops(keep_going) {
            let refused = count(self.refused, "refusal");
            style::print_warning(format!(
                "nothing was imported because of {refused}; --keep-going imports the rest"
            ));
        }
        if self.quiet || (self.stops(keep_going) && !dry_run) {
            return Ok(());
        }
        let mut out = output::stdout();
        write!(out, "{}", self.lines)?;
        let all = [
            (self.added, "added"),
            (self.merged, "merged"),
            (self.known.len(), "known"),
            (self.left_out, "left out"),
            (self.refused, "refused"),
        ];
        let would = if dry_run {
            "a dry run; with what was read: "
        } else {
            ""
        };
        writeln!(out, "{would}{}", style::sum(&all))?;
        Ok(())
    }

    pub(super) fn exit(&self) -> ExitCode {
        let is_all_left_out = self.changed.is_empty() && self.known.is_empty();
        if self.refused > 0 || (self.left_out > 0 && is_all_left_out) {
            ExitCode::Findings
        } else {
            ExitCode::Success
        }
    }
}
