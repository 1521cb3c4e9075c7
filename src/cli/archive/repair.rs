//! `urldb archive repair`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use serde::Serialize;
use urldb_text::sanitize;
use urldb_warc::repair::{RepairReport, repair_telling};

use super::index::rebuild_index;
use super::{Context, ExitCode, archive_files};
use crate::ambient::Ambient;
use crate::archive::{self, Keys, Settled, SettledFile, UploadOptions, describe_recovered};
use crate::cli::print::output;
use crate::cli::print::style::{BAD, GOOD, ListFormat, ReportFormat, count, paint, print_warning};
use crate::cli::print::upload::upload_with;
use crate::config::Config;

/// Mend the archive: what its places lack, what is lost, what is damaged; and rebuild the index
///
/// Each place gets its manifest and all files that any place, or this machine,
/// has good copies of. Of files that are lost, the captures are dropped from
/// the ledger, so that the next run captures their content again.
///
/// No good byte is deleted: damaged parts go into files that end with
/// `.damaged`. Where records share a gzip member, the whole file is set aside,
/// and each good record gets a member of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive repair && urldb archive verify
  urldb archive repair --format jsonl | jq -r '.damaged[]?'")]
pub(super) struct Args {
    /// Output for people, or one JSON object per line: files, then a summary
    #[arg(long, default_value = "human")]
    format: ListFormat,
    /// In an archive without `stores`: drop the captures that are not on this machine from the ledger
    #[arg(long)]
    recapture: bool,
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
    /// The first store has a manifest again.
    Restored {
        message: &'a str,
    },
    /// The decision about a lost file.
    Settled {
        file: &'a str,
        message: &'a str,
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
    let config = &context.config;
    let mut out = output::stdout();
    let mut is_index_new = false;
    if let Some(line) = archive::restore_manifest(config)? {
        print_note(&mut out, args, &line)?;
        is_index_new = true;
    }
    archive::settle_lost(config, Ambient::SYSTEM, |settled| {
        is_index_new = true;
        Ok(print_settled(&mut out, settled, args)?)
    })?;
    for name in archive::remove_bad_copies(config)? {
        print_warning(format!(
            "{name}: the copy on this machine was damaged and is removed; a place has the file"
        ));
    }
    if config.archive.stores.is_empty() {
        drop_captures(&mut out, args, config)?;
    }
    let files = archive_files(context)?;
    // A repair that was killed has decided, and has not made the index of the places anew.
    is_index_new |= !config.archive.stores.is_empty() && !files.is_indexed().unwrap_or(false);
    // The files are told first: a kill afterwards leaves nothing to tell.
    let mut told = Ok(());
    let tell = |done: &RepairReport| told = write_files(&mut out, done, args, context);
    let done = repair_telling(files.folder(), &Keys, tell).context("cannot repair the archive")?;
    if is_index_new {
        rebuild_index(&files)?;
    }
    told?;
    write_end(&mut out, &done, args, context)?;
    out.flush()?;
    let format = match args.format {
        ListFormat::Human => ReportFormat::Human,
        ListFormat::Jsonl => ReportFormat::Jsonl,
    };
    let options = UploadOptions {
        is_index_new,
        repairs: true,
    };
    let stored = upload_with(options, context, format)?;
    let left = if done.left.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    };
    Ok(left.max(stored))
}

/// Drops captures of an archive without places from the ledger: those in files that are gone, and those that
/// were never on this machine if the user says so.
fn drop_captures(out: &mut impl Write, args: &Args, config: &Config) -> anyhow::Result<()> {
    let mut gone: BTreeSet<String> = archive::files_that_were_here(config)?.into_iter().collect();
    if args.recapture {
        gone.extend(archive::files_not_here(config)?);
    }
    if gone.is_empty() {
        return Ok(());
    }
    archive::forget_captures(config, &gone, Ambient::SYSTEM)?;
    archive::note_missing(config, &[])?;
    for file in gone {
        let settled = SettledFile {
            file,
            outcome: Settled::Lost,
        };
        print_settled(out, &settled, args)?;
    }
    Ok(())
}

fn print_settled(out: &mut impl Write, settled: &SettledFile, args: &Args) -> io::Result<()> {
    let file = &settled.file;
    let line = match &settled.outcome {
        Settled::Index => format!("{file} is lost: the index is made anew"),
        Settled::Recalled(names) => format!(
            "{file} is lost; the archive has again what it was made of: {}",
            count(names.len() as u64, "file")
        ),
        Settled::Salvaged {
            file: new,
            records,
            damaged,
        } => {
            let aside = match &**damaged {
                [] => String::new(),
                names => format!("; set aside in {}", names.join(", ")),
            };
            let records = count(*records, "good record");
            format!("{file} was damaged everywhere: {new} has its {records}{aside}")
        }
        Settled::Lost => {
            format!("{file} is lost: the next run captures again what the servers still have")
        }
    };
    if args.format == ListFormat::Jsonl {
        return output::write_json_line(
            out,
            &JsonLine::Settled {
                file,
                message: &line,
            },
        );
    }
    writeln!(out, "{}", sanitize(&line))
}

fn print_note(out: &mut impl Write, args: &Args, line: &str) -> io::Result<()> {
    match args.format {
        ListFormat::Human => writeln!(out, "{}", sanitize(line)),
        ListFormat::Jsonl => output::write_json_line(out, &JsonLine::Restored { message: line }),
    }
}

/// Tells the files that were not as they should be.
fn write_files(
    out: &mut impl Write,
    done: &RepairReport,
    args: &Args,
    context: &Context,
) -> io::Result<()> {
    match args.format {
        ListFormat::Human => write_human(out, done, context)?,
        ListFormat::Jsonl => write_json_lines(out, done, context)?,
    }
    out.flush()
}

/// Tells what all of it comes to.
fn write_end(
    out: &mut impl Write,
    done: &RepairReport,
    args: &Args,
    context: &Context,
) -> io::Result<()> {
    if args.format == ListFormat::Jsonl {
        let summary = JsonLine::Summary {
            recovered: done.recovered.len(),
            repaired: done.repaired.len(),
            left: done.left.len(),
        };
        return output::write_json_line(out, &summary);
    }
    if done.repaired.is_empty() && done.left.is_empty() && !context.quiet {
        let was_damaged = done.recovered.iter().any(|file| file.damaged.is_some());
        let other = if was_damaged { "other " } else { "" };
        writeln!(out, "no {other}damage was found; the index is new")?;
    }
    Ok(())
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
    Ok(())
}
