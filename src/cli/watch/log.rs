//! The log of the daemon: text, or one JSON object a line.

use std::io::{self, Write};

use clap::ValueEnum;
use jiff::Timestamp;
use serde::Serialize;
use urldb_text::{Finding, Severity};

use crate::ambient::Ambient;
use crate::cli::Context;
use crate::cli::print::findings::write_finding;
use crate::cli::print::output::{self, write_json_line};
use crate::cli::print::style::{self, DIM, ReportFormat, paint};
use crate::explain::explain;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Text for people.
    Human,
    /// One JSON object a line, reports included.
    Jsonl,
}

impl LogFormat {
    pub(super) const fn of_reports(self) -> ReportFormat {
        match self {
            Self::Human => ReportFormat::Human,
            Self::Jsonl => ReportFormat::Jsonl,
        }
    }
}

/// The log of the daemon. The daemon goes on when its output is closed.
#[derive(Debug, Clone, Copy)]
pub(super) struct DaemonLog {
    pub(super) format: LogFormat,
    pub(super) quiet: bool,
}

/// A line of the log that is no line of a report.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum LogLine<'a> {
    Event {
        at: Timestamp,
        message: &'a str,
    },
    Warning {
        at: Timestamp,
        message: &'a str,
    },
    Error {
        at: Timestamp,
        message: &'a str,
    },
    /// A mistake in an edited file; warnings of `urldb lint` included.
    Lint {
        at: Timestamp,
        file: String,
        line: usize,
        column: usize,
        code: &'a str,
        severity: Severity,
        message: &'a str,
    },
}

impl DaemonLog {
    pub(super) fn event(self, message: &str) {
        if self.quiet {
            return;
        }
        let at = (Ambient::SYSTEM.now)();
        match self.format {
            LogFormat::Human => {
                let time = at.strftime("%H:%M:%SZ").to_string();
                let _ = writeln!(output::stdout(), "{} {message}", paint(DIM, time));
            }
            LogFormat::Jsonl => write(&LogLine::Event { at, message }),
        }
    }

    pub(super) fn warning(self, message: &str) {
        let at = (Ambient::SYSTEM.now)();
        match self.format {
            LogFormat::Human => style::print_warning(message),
            LogFormat::Jsonl => write(&LogLine::Warning { at, message }),
        }
    }

    pub(super) fn error(self, error: &anyhow::Error) {
        let at = (Ambient::SYSTEM.now)();
        match self.format {
            LogFormat::Human => style::print_error(error),
            LogFormat::Jsonl => write(&LogLine::Error {
                at,
                message: &explain(error),
            }),
        }
    }

    /// # Errors
    /// When the output is closed.
    pub(super) fn finding(self, finding: &Finding, context: &Context) -> io::Result<()> {
        if self.format == LogFormat::Human {
            return write_finding(&mut output::stdout(), context, finding);
        }
        let file = finding.file.as_deref().map(|file| context.shown(file));
        let line = LogLine::Lint {
            at: (Ambient::SYSTEM.now)(),
            file: file.unwrap_or_default(),
            line: finding.line,
            column: finding.column,
            code: finding.code.as_str(),
            severity: finding.severity,
            message: &finding.message,
        };
        write_json_line(&mut output::stdout(), &line)
    }
}

fn write(line: &LogLine<'_>) {
    let _ = write_json_line(&mut output::stdout(), line);
}
