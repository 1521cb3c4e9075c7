//! Files that were uploaded into the archive's object store, and files that wait.

use std::io::{self, Write};

use super::facts::print_facts;
use super::fixity::check_and_print;
use super::output;
use super::style::{DIM, ReportFormat, count, paint, print_error, print_warning};
use crate::archive::fixity::note_fixed;
use crate::archive::{UploadOptions, UploadReport, facts, upload};
use crate::cli::Context;
use crate::exit::ExitCode;
use crate::stop::Stop;

/// Uploads the finished files of a run, if the archive has places, and mends the places; then reads a share of
/// each place again, and mends the damage that this finds. Prints what is wrong with the archive. The exit code is
/// that of a failure if a person has to act.
pub(crate) fn upload_and_check(
    context: &Context,
    format: ReportFormat,
    stop: &Stop,
) -> io::Result<ExitCode> {
    let (stored, report) = upload_and_print(UploadOptions::default(), context, format)?;
    let (checked, has_damage) = check_and_print(report.as_ref(), context, format, stop)?;
    let code = stored.max(checked);
    if !has_damage || report.is_none() {
        return Ok(code);
    }
    let fixed = upload_with(UploadOptions::default(), context, format)?;
    Ok(code.max(fixed))
}

/// Uploads after the index was merged or made anew.
pub(crate) fn upload_new_index_and_print(
    context: &Context,
    format: ReportFormat,
) -> io::Result<ExitCode> {
    let options = UploadOptions {
        is_index_new: true,
        ..UploadOptions::default()
    };
    upload_with(options, context, format)
}

/// Uploads with options, and prints as [`upload_and_print`].
pub(crate) fn upload_with(
    options: UploadOptions,
    context: &Context,
    format: ReportFormat,
) -> io::Result<ExitCode> {
    upload_and_print(options, context, format).map(|(code, _)| code)
}

fn upload_and_print(
    options: UploadOptions,
    context: &Context,
    format: ReportFormat,
) -> io::Result<(ExitCode, Option<UploadReport>)> {
    let uploaded = upload(&context.config, options).and_then(|report| match report {
        Some(report) => {
            note_fixed(&context.config, &report)?;
            Ok(Ok(report))
        }
        None => facts(&context.config, false).map(Err),
    });
    match uploaded {
        Ok(Ok(report)) => {
            let code = print_upload(&report, context, format)?;
            Ok((code, Some(report)))
        }
        Ok(Err(facts)) => Ok((print_facts(&facts), None)),
        Err(error) => {
            print_error(&error.context("the archive was not stored"));
            Ok((ExitCode::Failure, None))
        }
    }
}

fn print_upload(
    report: &UploadReport,
    context: &Context,
    format: ReportFormat,
) -> io::Result<ExitCode> {
    for place in &report.places {
        if !place.given.is_empty() && format == ReportFormat::Human && !context.quiet {
            let line = format!(
                "stored {}, {}, in {}",
                count(place.given.len() as u64, "file"),
                indicatif::DecimalBytes(place.bytes),
                place.location
            );
            writeln!(output::stdout(), "{}", paint(DIM, line))?;
        }
        if let [first, others @ ..] = &*place.fixed {
            let others = match others.len() {
                0 => String::new(),
                more => format!(" and {}", count(more as u64, "other file")),
            };
            let location = &place.location;
            print_warning(format!(
                "{location} had lost or damaged {first}{others}, which it has again"
            ));
        }
    }
    Ok(print_facts(&report.facts))
}
