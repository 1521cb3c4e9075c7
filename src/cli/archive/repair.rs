//! `urldb archive repair`.

use std::io::Write;

use anyhow::Context as _;
use urldb_warc::repair::repair;

use super::{Context, Exit, archive_folder};
use crate::archive::{Keys, describe};
use crate::cli::style::{GOOD, count, paint, plain};

/// Set aside what is damaged in the archive, keep the rest, and make the index anew
///
/// Nothing is deleted: the damaged parts are in files beside, which end with
/// `.damaged`. Where records shared a gzip member, that is the whole file, and
/// each record gets a member of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive repair && urldb archive verify")]
pub(super) struct Args {}

pub(super) fn run(_: &Args, context: &Context) -> anyhow::Result<Exit> {
    let _owner = context.own()?;
    let folder = archive_folder(context)?;
    let done = repair(&folder, &Keys).context("cannot repair the archive")?;
    let mut out = anstream::stdout().lock();
    for recovered in &done.recovered {
        writeln!(out, "{}", describe(recovered))?;
    }
    for repaired in &done.repaired {
        let what = format!("repaired, {} kept", count(repaired.records, "record"));
        writeln!(
            out,
            "{}: {}",
            context.shown(&repaired.file),
            paint(GOOD, what)
        )?;
        for fault in &repaired.faults {
            writeln!(out, "  {}", plain(fault))?;
        }
        for damaged in &repaired.damaged {
            writeln!(out, "  set aside in {}", context.shown(damaged))?;
        }
    }
    if done.repaired.is_empty() && !context.quiet {
        writeln!(out, "no damage was found; the index is new")?;
    }
    Ok(Exit::Fine)
}
