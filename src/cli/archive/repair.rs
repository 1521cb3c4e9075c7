//! `urldb archive repair`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use serde::Serialize;
use urldb_text::sanitize;
use urldb_warc::repair::{RepairReport, repair};

use super::{Context, ExitCode, archive_files};
use crate::archive::{Keys, describe_recovered};
use crate::cli::print::output;
use crate::cli::print::style::{BAD, GOOD, ListFormat, count, paint, print_warning};

/// Set aside the damaged parts of the archive, keep the rest, and rebuild the index
///
/// Nothing is deleted: damaged parts go into files that end with `.damaged`.
/// Where records share a gzip member, the whole file is set aside, and each
/// good record gets a member of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive repair && urldb archive verify
  urldb archive repair --format jsonl | jq -r '.damaged[]?'")]
pub(super) struct Args {
    /// Output for people, or one JSON object per line: files, then a summary
    #[arg(long, default_value = "human")]
    format: ListFormat,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum JsonLine<'a> {
    /// A file that a killed process left unfinished.
    Recovered(RepairedFile<'a>),
    Repaired(RepairedFile<'a>),
    /// A damaged file that stays as it is.
    Left {
        file: String,
    },
    Summary {
        recovered: usize,
        repaired: usize,
        left: usize,
    },
}

#[derive(Serialize)]
struct RepairedFile<'a> {
    /// The file with the good records; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    records: u64,
    /// The files with the damaged parts.
    damaged: Vec<String>,
    faults: Vec<&'a str>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    let files = archive_files(context)?;
    for name in files.remove_bad_copies()? {
        print_warning(format!(
            "{name}: the copy on this machine was damaged and is removed; the store has the file"
        ));
    }
    let done = repair(files.folder(), &Keys).context("cannot repair the archive")?;
    let mut out = output::stdout();
    match args.format {
        ListFormat::Human => write_human(&mut out, &done, context)?,
        ListFormat::Jsonl => write_json_lines(&mut out, &done, context)?,
    }
    Ok(if done.left.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

fn write_human(out: &mut impl Write, done: &RepairReport, context: &Context) -> io::Result<()> {
    for recovered in &done.recovered {
        writeln!(out, "{}", describe_recovered(recovered))?;
    }
    for file in &done.repaired {
        let what = format!("repaired, {} kept", count(file.records, "record"));
        writeln!(out, "{}: {}", context.shown(&file.file), paint(GOOD, what))?;
        for fault in &file.faults {
            writeln!(out, "  {}", sanitize(fault))?;
        }
        for damaged in &file.damaged {
            writeln!(out, "  set aside in {}", context.shown(damaged))?;
        }
    }
    for file in &done.left {
        let what =
            "damaged, and left as it is: urldb writes no zstd; the index has its good records";
        writeln!(out, "{}: {}", context.shown(file), paint(BAD, what))?;
    }
    if done.repaired.is_empty() && done.left.is_empty() && !context.quiet {
        let was_damaged = done.recovered.iter().any(|file| file.damaged.is_some());
        let other = if was_damaged { "other " } else { "" };
        writeln!(out, "no {other}damage was found; the index is new")?;
    }
    Ok(())
}

fn write_json_lines(
    out: &mut impl Write,
    done: &RepairReport,
    context: &Context,
) -> io::Result<()> {
    let shown = |path: &PathBuf| context.shown(path);
    for recovered in &done.recovered {
        let outcome = RepairedFile {
            file: recovered.file.as_ref().map(shown),
            records: recovered.records,
            damaged: recovered.damaged.iter().map(shown).collect(),
            faults: recovered.fault.iter().map(String::as_str).collect(),
        };
        output::write_json_line(out, &JsonLine::Recovered(outcome))?;
    }
    for repaired in &done.repaired {
        let outcome = RepairedFile {
            file: Some(shown(&repaired.file)),
            records: repaired.records,
            damaged: repaired.damaged.iter().map(shown).collect(),
            faults: repaired.faults.iter().map(String::as_str).collect(),
        };
        output::write_json_line(out, &JsonLine::Repaired(outcome))?;
    }
    for file in &done.left {
        output::write_json_line(out, &JsonLine::Left { file: shown(file) })?;
    }
    let summary = JsonLine::Summary {
        recovered: done.recovered.len(),
        repaired: done.repaired.len(),
        left: done.left.len(),
    };
    output::write_json_line(out, &summary)
}
