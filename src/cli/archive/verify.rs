//! `urldb archive verify`.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use urldb_store::StoreError;
use urldb_text::sanitize;
use urldb_warc::FindingCode;
use urldb_warc::finding::Severity;
use urldb_warc::verify::{ArchiveFinding, Verifier, VerifySummary};

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
enum JsonLine<'a> {
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
    let mut output = FindingPrinter {
        context,
        format: args.format,
        file: PathBuf::new(),
        failure: None,
    };
    let mut report = |finding| bar.suspend(|| output.add(&finding));
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
    output.end(&summary)?;
    Ok(if summary.errors > 0 {
        ExitCode::Findings
    } else {
        ExitCode::Success
    })
}

/// The finding about a file that is not to be had: the store does not have it or has other bytes, or the
/// file on this machine cannot be read. `None` if nothing is known about it, since the store cannot be asked.
fn finding_of(error: &io::Error) -> Option<(FindingCode, String)> {
    let cause = error.get_ref();
    let of_store = cause.and_then(|cause| cause.downcast_ref::<StoreError>());
    let code = match error.kind() {
        io::ErrorKind::NotFound => FindingCode::FileMissing,
        io::ErrorKind::InvalidData => FindingCode::FileDamaged,
        _ if of_store.is_some() => return None,
        _ => FindingCode::Unreadable,
    };
    Some((code, error.to_string()))
}

/// Prints findings as the verifier finds them.
struct FindingPrinter<'a> {
    context: &'a Context,
    format: ListFormat,
    /// The file of the last finding.
    file: PathBuf,
    failure: Option<io::Error>,
}

impl FindingPrinter<'_> {
    fn add(&mut self, finding: &ArchiveFinding) {
        if self.failure.is_none() {
            self.failure = self.write(finding).err();
        }
    }

    fn write(&mut self, finding: &ArchiveFinding) -> io::Result<()> {
        let mut out = output::stdout();
        let severity = finding.code.severity();
        let file = self.context.shown(&finding.file);
        if self.format == ListFormat::Jsonl {
            let line = JsonLine::Finding {
                code: finding.code.name(),
                severity: severity.as_str(),
                file: &file,
                offset: finding.offset,
                record_id: finding.record_id.as_deref(),
                message: &finding.message,
            };
            return output::write_json_line(&mut out, &line);
        }
        if finding.file != self.file {
            writeln!(out, "{file}")?;
            self.file.clone_from(&finding.file);
        }
        let style = match severity {
            Severity::Error => BAD,
            Severity::Warning => WARN,
        };
        let code = paint(style, finding.code.name());
        let place = finding
            .offset
            .map_or(String::new(), |offset| format!("at byte {offset}, "));
        writeln!(out, "  {place}{code}: {}", sanitize(&finding.message))?;
        match &finding.record_id {
            Some(id) if self.context.verbose => writeln!(out, "    {}", paint(DIM, sanitize(id))),
            _ => Ok(()),
        }
    }

    fn end(self, summary: &VerifySummary) -> io::Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let VerifySummary {
            files,
            records,
            bytes,
            errors,
            warnings,
        } = *summary;
        let mut out = output::stdout();
        if self.format == ListFormat::Jsonl {
            let line = JsonLine::Summary {
                files,
                records,
                bytes,
                errors,
                warnings,
            };
            return output::write_json_line(&mut out, &line);
        }
        if self.context.quiet {
            return Ok(());
        }
        writeln!(
            out,
            "verified {} in {}, {}: {}, {}",
            count(records, "record"),
            count(files, "file"),
            indicatif::BinaryBytes(bytes),
            count(errors, "error"),
            count(warnings, "warning"),
        )
    }
}
