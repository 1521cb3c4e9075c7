//! `--format jsonl` of `check` and `run`: one JSON object a line.

use std::cell::RefCell;
use std::io::{self, Write};

use serde::Serialize;
use urldb_protocol::{
    Envelope, Finding, FixedMistake, Incident, JobResult, Mistake, RunInfo, Summary,
};

use super::output::{self, write_json_line};
use super::progress::ProgressLine;
use crate::run::Progress;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum ReportLine<'a> {
    Result(&'a JobResult),
    Incident(&'a Incident),
    Finding(&'a Finding),
    Mistake(&'a Mistake),
    Fixed(&'a FixedMistake),
    Summary {
        protocol: u32,
        run: &'a RunInfo,
        archived: &'a [String],
        summary: &'a Summary,
    },
}

/// Prints the result of each URL as soon as it is final.
pub(crate) struct ResultLines<'a> {
    bar: &'a ProgressLine,
    /// The first error of standard output; the run goes on.
    failure: RefCell<Option<io::Error>>,
}

impl<'a> ResultLines<'a> {
    /// Prints above the progress line.
    pub(crate) fn new(bar: &'a ProgressLine) -> Self {
        Self {
            bar,
            failure: RefCell::default(),
        }
    }

    /// The first error of standard output, if there was one.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }
}

impl Progress for ResultLines<'_> {
    fn result(&self, result: &JobResult) {
        let mut failure = self.failure.borrow_mut();
        if failure.is_none() {
            let line = ReportLine::Result(result);
            let write = || write_json_line(&mut output::stdout(), &line);
            *failure = self.bar.suspend(write).err();
        }
    }
}

/// Writes the report behind the results: a line for each of its elements, and the summary.
pub(super) fn write(out: &mut impl Write, envelope: &Envelope) -> io::Result<()> {
    let Envelope {
        protocol,
        run,
        incidents,
        findings,
        mistakes,
        fixed,
        archived,
        summary,
        ..
    } = envelope;
    incidents
        .iter()
        .map(ReportLine::Incident)
        .chain(findings.iter().map(ReportLine::Finding))
        .chain(mistakes.iter().map(ReportLine::Mistake))
        .chain(fixed.iter().map(ReportLine::Fixed))
        .try_for_each(|line| write_json_line(out, &line))?;
    let summary = ReportLine::Summary {
        protocol: *protocol,
        run,
        archived,
        summary,
    };
    write_json_line(out, &summary)
}
