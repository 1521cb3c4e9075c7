//! `urldb archive repair`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use serde::Serialize;
use urldb_text::sanitize;
use urldb_warc::repair::{RepairReport, repair_telling};

use super::index::rebuild_index;
use super::line_printer::LinePrinter;
use super::{Context, ExitCode, archive_files};
use crate::ambient::Ambient;
use crate::archive::{self, Keys, Settled, SettledFile, Survey, UploadOptions, describe_recovered};
use crate::cli::print::output;
use crate::cli::print::style::{BAD, GOOD, ListFormat, count, paint, print_warning};
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
enum RepairLine<'a> {
    /// A file that a killed process left unfinished.
    Recovered(RepairedFileLine<'a>),
    Repaired(RepairedFileLine<'a>),
    /// A damaged file that stays as it is.
    Left {
        file: &'a str,
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
struct RepairedFileLine<'a> {
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
    let mut lines = LinePrinter::new(output::stdout(), args.format);
    let mut is_index_new = false;
    match archive::look(config)? {
        Some(mut survey) => is_index_new |= repair_places(&mut lines, &mut survey, config)?,
        None => drop_captures(&mut lines, args, config)?,
    }
    let files = archive_files(context)?;
    // A repair that was killed has decided, and has not made the index of the places anew.
    is_index_new |= !config.archive.stores.is_empty() && !files.is_indexed().unwrap_or(false);
    // The files are told first: a kill afterwards leaves nothing to tell.
    let tell = |done: &RepairReport| print_files(&mut lines, done, context);
    let done = repair_telling(files.folder(), &Keys, tell).context("cannot repair the archive")?;
    if is_index_new {
        rebuild_index(&files)?;
    }
    print_summary(&mut lines, &done, context.quiet);
    lines.end()?;
    let options = UploadOptions {
        is_index_new,
        repairs: true,
    };
    let stored = upload_with(options, context, args.format.into())?;
    let left = if done.left.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    };
    Ok(left.max(stored))
}

/// Decides about manifests and lost files, and removes damaged copies from this machine. Whether the index is to be
/// made anew.
fn repair_places(
    lines: &mut LinePrinter<impl Write>,
    survey: &mut Survey,
    config: &Config,
) -> anyhow::Result<bool> {
    let mut is_index_new = false;
    if let Some(message) = &archive::restore_manifest(config, survey)? {
        lines.print(&RepairLine::Restored { message }, sanitize(message));
        is_index_new = true;
    }
    archive::settle_lost(config, survey, Ambient::SYSTEM, |settled| {
        is_index_new = true;
        print_settled(lines, settled);
    })?;
    for name in archive::remove_bad_copies(config, survey)? {
        print_warning(format!(
            "{name}: the copy on this machine was damaged and is removed; a place has the file"
        ));
    }
    Ok(is_index_new)
}

/// Drops captures of an archive without places from the ledger: those in files that are gone, and those that
/// were never on this machine if the user says so.
fn drop_captures(
    lines: &mut LinePrinter<impl Write>,
    args: &Args,
    config: &Config,
) -> anyhow::Result<()> {
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
        print_settled(lines, &settled);
    }
    Ok(())
}

fn print_settled(lines: &mut LinePrinter<impl Write>, settled: &SettledFile) {
    let file = &settled.file;
    let message = &match &settled.outcome {
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
    lines.print(&RepairLine::Settled { file, message }, sanitize(message));
}

/// Prints the files that were damaged or unfinished.
fn print_files(lines: &mut LinePrinter<impl Write>, done: &RepairReport, context: &Context) {
    let shown = |path: &PathBuf| context.shown(path);
    for recovered in &done.recovered {
        let line = RepairedFileLine {
            file: recovered.file.as_ref().map(shown),
            records: recovered.records,
            damaged: recovered.damaged.iter().map(shown).collect(),
            faults: recovered.fault.iter().map(String::as_str).collect(),
        };
        lines.print(&RepairLine::Recovered(line), describe_recovered(recovered));
    }
    for repaired in &done.repaired {
        let file = shown(&repaired.file);
        let kept = format!("repaired, {} kept", count(repaired.records, "record"));
        let damaged: Vec<String> = repaired.damaged.iter().map(shown).collect();
        let mut text = vec![format!("{file}: {}", paint(GOOD, kept))];
        let faults = repaired.faults.iter();
        text.extend(faults.map(|fault| format!("  {}", sanitize(fault))));
        text.extend(damaged.iter().map(|file| format!("  set aside in {file}")));
        let line = RepairedFileLine {
            file: Some(file),
            records: repaired.records,
            damaged,
            faults: repaired.faults.iter().map(String::as_str).collect(),
        };
        lines.print(&RepairLine::Repaired(line), text.join("\n"));
    }
    for file in &done.left {
        let file = &shown(file);
        let what =
            "damaged, and left as it is: urldb writes no zstd; the index has its good records";
        let text = format!("{file}: {}", paint(BAD, what));
        lines.print(&RepairLine::Left { file }, text);
    }
}

fn print_summary(lines: &mut LinePrinter<impl Write>, done: &RepairReport, is_quiet: bool) {
    let was_damaged = done.recovered.iter().any(|file| file.damaged.is_some());
    let other = if was_damaged { "other " } else { "" };
    let text = format!("no {other}damage was found; the index is new");
    let summary = RepairLine::Summary {
        recovered: done.recovered.len(),
        repaired: done.repaired.len(),
        left: done.left.len(),
    };
    let has_damage = !(done.repaired.is_empty() && done.left.is_empty());
    lines.print_unless(is_quiet || has_damage, &summary, text);
}
