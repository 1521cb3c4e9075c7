//! The rolling check of the archive at the end of a run.

use std::io::{self, Write};

use super::facts::print_facts;
use super::output;
use super::style::{DIM, ReportFormat, count, paint, print_error};
use crate::ambient::Ambient;
use crate::archive::UploadReport;
use crate::archive::fixity::{CheckReport, check_places};
use crate::cli::Context;
use crate::exit::ExitCode;
use crate::stop::Stop;

/// Checks the places of the archive, each once a day, and prints what is wrong. The exit code is that of a failure
/// if nothing can be checked until a person acts. Also says whether a place has damaged files.
pub(super) fn check_and_print(
    uploaded: Option<&UploadReport>,
    context: &Context,
    format: ReportFormat,
    stop: &Stop,
) -> io::Result<(ExitCode, bool)> {
    let now = Ambient::SYSTEM.now_in_seconds();
    match check_places(&context.config, uploaded, now, stop) {
        Ok(reports) => {
            let mut code = ExitCode::Success;
            for CheckReport {
                place, read, facts, ..
            } in &reports
            {
                if context.verbose && format == ReportFormat::Human {
                    let files = count(read.files, "file");
                    let bytes = indicatif::DecimalBytes(read.bytes);
                    let line = format!("read {files}, {bytes}, of {place} again");
                    writeln!(output::stdout(), "{}", paint(DIM, line))?;
                }
                code = code.max(print_facts(facts));
            }
            Ok((code, reports.iter().any(|report| report.has_damage)))
        }
        Err(error) => {
            print_error(&error.context("the archive was not checked"));
            Ok((ExitCode::Failure, false))
        }
    }
}
