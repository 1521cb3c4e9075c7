//! The rolling check of the archive at the end of a run.

use std::io::{self, Write};

use super::output;
use super::style::{DIM, ReportFormat, count, paint, print_error, print_warning};
use crate::ambient::Ambient;
use crate::archive::UploadReport;
use crate::archive::fixity::{CheckReport, check_places};
use crate::cli::Context;
use crate::exit::ExitCode;
use crate::stop::Stop;

/// Most damaged or missing files that are named.
const MOST_FAULTS: usize = 5;

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
            let mut has_damage = false;
            for report in reports {
                print(&report, context, format)?;
                has_damage |= report.check.is_some_and(|check| !check.damaged.is_empty());
            }
            Ok((ExitCode::Success, has_damage))
        }
        Err(error) => {
            print_error(&error.context("the archive was not checked"));
            Ok((ExitCode::Failure, false))
        }
    }
}

fn print(report: &CheckReport, context: &Context, format: ReportFormat) -> io::Result<()> {
    let CheckReport {
        place,
        read,
        faults,
        trouble,
        ..
    } = report;
    if context.verbose && format == ReportFormat::Human {
        let files = count(read.files, "file");
        let bytes = indicatif::DecimalBytes(read.bytes);
        let line = format!("read {files}, {bytes}, of {place} again");
        writeln!(output::stdout(), "{}", paint(DIM, line))?;
    }
    for fault in faults.iter().take(MOST_FAULTS) {
        print_warning(fault);
    }
    if let Some(more @ 1..) = faults.len().checked_sub(MOST_FAULTS) {
        let files = count(more as u64, "more file");
        print_warning(format!("{place} has {files} that are damaged or missing"));
    }
    if let Some(trouble) = trouble {
        print_warning(format!(
            "{place} was not checked to the end, which the next check makes up for: {trouble}"
        ));
    }
    Ok(())
}
