//! `urldb archive verify`.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use urldb_store::StoreError;
use urldb_text::sanitize;
use urldb_warc::FindingCode;
use urldb_warc::finding::Severity;
use urldb_warc::verify::{ArchiveFinding, Verifier, VerifySummary};

use super::line_printer::LinePrinter;
use super::{Context, ExitCode, archive_files};
use crate::archive::{self, Keys};
use crate::cli::print::output;
use crate::cli::print::progress::ProgressLine;
use crate::cli::print::style::{BAD, DIM, ListFormat, WARN, count, paint};

/// Read every byte of the archive, and report what is wrong
///
/// Checks framing, compression, digests, fields, references between records,
/// and the index. The exit code is 1 if there is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive verify
  urldb archive verify --format jsonl | jq -r 'select(.severity == \"error\") | .code'")]
pub(super) struct Args {
    /// Output for people, or one JSON object per line: findings, then a summary
    #[arg(long, default_value = "human")]
    format: ListFormat,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum VerifyLine<'a> {
    Finding {
        code: &'static str,
        severity: &'static str,
        file: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        record_id: Option<&'a str>,
        message: &'a str,
    },
    Summary {
        files: u64,
        records: u64,
        bytes: u64,
        errors: u64,
        warnings: u64,
    },
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let files = archive_files(context)?;
    let names = files.with_records()?;
    let bar = ProgressLine::new(names.len() as u64, context.quiet);
    let mut lines = LinePrinter::new(output::stdout(), args.format);
    let mut last = PathBuf::new();
    let mut report =
        |finding| bar.suspend(|| print_finding(&mut lines, &finding, &mut last, context));
    let mut verifier = Verifier::new(&files, &Keys, &mut report);
    for name in &names {
        match files.whole(name) {
            Ok(whole) => verifier.file(name, whole.as_ref()),
            Err(error) => {
                let code = finding_of(&error).ok_or(error)?;
                let name = name.as_str();
                verifier.add_finding(name, code.0, code.1);
            }
        }
        bar.advance();
    }
    for fact in archive::facts(&context.config, true)? {
        let sentence = fact.to_string();
        if fact.files.is_empty() {
            verifier.add_finding("", fact.code, sentence.clone());
        }
        for name in &fact.files {
            verifier.add_finding(name, fact.code, sentence.clone());
        }
    }
    for name in files.unread()? {
        verifier.unread_file(&name);
    }
    if files.has_index()? {
        verifier.index();
    }
    let summary = verifier.finish();
    bar.finish();
    print_summary(&mut lines, summary, context.quiet);
    lines.end()?;
    Ok(if summary.errors > 0 {
        ExitCode::Findings
    } else {
        ExitCode::Success
    })
}

/// The finding about a file that is not to be had: the store does not have it or has other bytes, or the
/// file on this machine cannot be read. `None` if nothing is known about it, since the store cannot be asked.
fn finding_of(error: &io::Error) -> Option<(FindingCode, String)> {
    let of_store = error
        .get_ref()
        .and_then(|cause| cause.downcast_ref::<StoreError>());
    let code = match error.kind() {
        io::ErrorKind::NotFound => FindingCode::FileMissing,
        io::ErrorKind::InvalidData => FindingCode::FileDamaged,
        _ if of_store.is_some() => return None,
        _ => FindingCode::Unreadable,
    };
    Some((code, error.to_string()))
}

/// Prints a finding. `last` is the file of the finding before.
fn print_finding(
    lines: &mut LinePrinter<impl Write>,
    finding: &ArchiveFinding,
    last: &mut PathBuf,
    context: &Context,
) {
    let severity = finding.code.severity();
    let style = match severity {
        Severity::Error => BAD,
        Severity::Warning => WARN,
    };
    let file = context.shown(&finding.file);
    let heading = (finding.file != *last).then(|| format!("{file}\n"));
    let at = finding.offset.map(|offset| format!("at byte {offset}, "));
    let id = finding.record_id.as_deref();
    let shown_id = id.filter(|_| context.verbose);
    let text = format!(
        "{}  {}{}: {}{}",
        heading.unwrap_or_default(),
        at.unwrap_or_default(),
        paint(style, finding.code.name()),
        sanitize(&finding.message),
        shown_id.map_or(String::new(), |id| format!(
            "\n    {}",
            paint(DIM, sanitize(id))
        )),
    );
    let line = VerifyLine::Finding {
        code: finding.code.name(),
        severity: severity.as_str(),
        file: &file,
        offset: finding.offset,
        record_id: id,
        message: &finding.message,
    };
    lines.print(&line, text);
    last.clone_from(&finding.file);
}

fn print_summary(lines: &mut LinePrinter<impl Write>, summary: VerifySummary, is_quiet: bool) {
    let VerifySummary {
        files,
        records,
        bytes,
        errors,
        warnings,
    } = summary;
    let text = format!(
        "verified {} in {}, {}: {}, {}",
        count(records, "record"),
        count(files, "file"),
        indicatif::BinaryBytes(bytes),
        count(errors, "error"),
        count(warnings, "warning"),
    );
    let line = VerifyLine::Summary {
        files,
        records,
        bytes,
        errors,
        warnings,
    };
    lines.print_unless(is_quiet, &line, text);
}
