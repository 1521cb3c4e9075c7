//! Files that were uploaded into the archive's object store, and files that wait.

use std::io::{self, Write};

use urldb_text::sanitize;

use super::fixity::check_and_print;
use super::output;
use super::style::{DIM, ReportFormat, count, paint, print_error, print_warning};
use crate::archive::fixity::note_mended;
use crate::archive::{CopyReport, Fact, UploadOptions, UploadReport, facts, upload};
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
    let mended = upload_with(UploadOptions::default(), context, format)?;
    Ok(code.max(mended))
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
            note_mended(&context.config, &report)?;
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

/// Prints facts about the archive, on standard error. The exit code is that of a failure if a person has to act.
pub(crate) fn print_facts(facts: &[Fact]) -> ExitCode {
    let mut code = ExitCode::Success;
    for fact in facts {
        if fact.needs_person {
            print_error(&anyhow::anyhow!("{fact}"));
            code = ExitCode::Failure;
        } else {
            print_warning(sanitize(&fact.to_string()));
        }
    }
    code
}

fn print_upload(
    report: &UploadReport,
    context: &Context,
    format: ReportFormat,
) -> io::Result<ExitCode> {
    let UploadReport {
        location,
        files,
        bytes,
        waiting,
        delay,
        faults,
        copies,
        facts,
        ..
    } = report;
    let stored = copies.iter();
    let stored = stored.map(|it| (&it.location, it.given.len() as u64, it.bytes));
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
    copies.iter().for_each(warn_of_copies);
    // A place that does not answer is told of above.
    let is_told = |fact: &&Fact| {
        let told = |text: &String| text.contains(&fact.to_string());
        let of_copies = copies
            .iter()
            .flat_map(|it| it.fault.iter().chain(&it.delay));
        !of_copies.chain(faults).chain(delay).any(told)
    };
    let untold: Vec<Fact> = facts.iter().filter(is_told).cloned().collect();
    let code = print_facts(&untold);
    let faults = faults
        .iter()
        .chain(copies.iter().filter_map(|it| it.fault.as_ref()));
    let faults: Vec<&String> = faults.collect();
    for fault in &faults {
        print_error(&anyhow::anyhow!("{fault}"));
    }
    Ok(if faults.is_empty() {
        code
    } else {
        ExitCode::Failure
    })
}

fn warn_of_copies(copy: &CopyReport) {
    let location = &copy.location;
    if let [first, others @ ..] = &*copy.mended {
        let others = match others.len() {
            0 => String::new(),
            more => format!(" and {}", count(more as u64, "other file")),
        };
        print_warning(format!(
            "{location} had lost or damaged {first}{others}, which it has again"
        ));
    }
    if let Some(delay) = &copy.delay {
        print_warning(format!(
            "{location} has not got all files, which the next run makes up for: {delay}"
        ));
    }
}
