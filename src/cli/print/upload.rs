//! Files that were uploaded into the archive's object store, and files that wait.

use std::io::{self, Write};

use super::output;
use super::style::{DIM, ReportFormat, count, paint, print_error, print_warning};
use crate::archive::{UploadReport, upload, upload_new_index};
use crate::cli::Context;
use crate::exit::ExitCode;

/// Uploads the finished files of the archive, if it has a store, and prints the result. The exit code is
/// that of a failure if a person has to act.
pub(crate) fn upload_and_print(context: &Context, format: ReportFormat) -> io::Result<ExitCode> {
    print_upload(upload(&context.config), context, format)
}

/// Uploads after the index was merged or made anew.
pub(crate) fn upload_new_index_and_print(
    context: &Context,
    format: ReportFormat,
) -> io::Result<ExitCode> {
    print_upload(upload_new_index(&context.config), context, format)
}

fn print_upload(
    uploaded: anyhow::Result<Option<UploadReport>>,
    context: &Context,
    format: ReportFormat,
) -> io::Result<ExitCode> {
    let report = match uploaded {
        Ok(None) => return Ok(ExitCode::Success),
        Ok(Some(report)) => report,
        Err(error) => {
            print_error(&error.context("the archive was not stored"));
            return Ok(ExitCode::Failure);
        }
    };
    let UploadReport {
        location,
        files,
        bytes,
        waiting,
        delay,
        faults,
        copies,
        ..
    } = &report;
    let stored = copies.iter().map(|it| (&it.location, it.files, it.bytes));
    for (location, files, bytes) in [(location, *files, *bytes)].into_iter().chain(stored) {
        if files > 0 && format == ReportFormat::Human && !context.quiet {
            let line = format!(
                "stored {}, {}, in {location}",
                count(files, "file"),
                indicatif::DecimalBytes(bytes)
            );
            writeln!(output::stdout(), "{}", paint(DIM, line))?;
        }
    }
    if let Some(delay) = delay {
        let files = count(*waiting, "archive file");
        print_warning(format!(
            "{files} not stored yet, which the next run makes up for: {delay}"
        ));
    }
    for copy in copies {
        let location = &copy.location;
        if let Some(delay) = &copy.delay {
            print_warning(format!(
                "{location} has not got all files, which the next run makes up for: {delay}"
            ));
        } else if copy.waiting > 0 && copy.fault.is_none() {
            let files = count(copy.waiting, "file");
            print_warning(format!(
                "{location} lacks {files}, which the next runs copy"
            ));
        }
    }
    let faults = faults
        .iter()
        .chain(copies.iter().filter_map(|it| it.fault.as_ref()));
    let faults: Vec<&String> = faults.collect();
    for fault in &faults {
        print_error(&anyhow::anyhow!("{fault}"));
    }
    Ok(if faults.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Failure
    })
}
