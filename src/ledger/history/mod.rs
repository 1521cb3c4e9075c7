//! The history: a line for each run. What became of URLs is in the files of incidents.
//!
//! Each month has a file, `history/2026-11.jsonl`, to which its runs append. The first run of a month
//! lists all unverified URLs, each later run only what differs from the run before. So a file can be
//! read without the files before it, and git never has to store an old month again.

mod base;
mod chains;
mod order;
mod reading;
mod run_line;
#[cfg(test)]
pub(crate) mod tests;
mod verifications;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_files::{Root, RootFile};
use urldb_protocol::State;
use urldb_verdict::Selection;

pub use base::BaseRun;
pub use chains::VerificationsBuilder;
pub use order::{Starts, is_known, take_future};
pub use reading::{Lines, PastRuns, is_history, lines, past_runs};
pub use run_line::{HistoryBase, ImpairedHosts, Verification, run_line};
pub use verifications::{SoughtUrl, Verifications};

const FOLDER: &str = "history";

/// The folder of the months.
pub fn folder(ledger: &Root) -> Root {
    ledger.folder(FOLDER)
}

/// The line of one run.
///
/// The *unverified URLs after a run* are the static URLs whose bytes were not found as promised when a
/// run last read them. A run with `verified` other than 0 has verified each static URL that it asked
/// for and that is not among them. [`Verifications`] tells when a URL was verified last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RunLine {
    /// The run's id.
    pub run: String,
    /// When it began.
    pub at: Timestamp,
    /// The records that were checked; absent if the run checked all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The run before, from whose unverified URLs `became_unverified` and `verified_again` lead to
    /// those of this run. Absent if `unverified` lists them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The run ended before it had asked all URLs: somebody stopped it, its `deadline` or `byte-budget` was reached,
    /// or a shard has no result. It proves nothing about those without a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// Number of URLs that were due.
    pub due: u64,
    /// Number of static URLs whose bytes were found as promised. A run that verified none, perhaps without
    /// a network, does not change the unverified URLs.
    pub verified: u64,
    /// Number of static URLs that only answered 304 Not Modified: they are not verified, and enter or
    /// leave no list.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_modified: u64,
    /// Number of URLs without a conclusion because our own network failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_network: u64,
    /// The hosts that could not be checked whole, if the run was about all their URLs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impaired: Vec<String>,
    /// The hosts that were `impaired` in earlier runs, and of which the run checked all URLs, or found none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_longer_impaired: Vec<String>,
    /// The days whose records were read in full; absent without a 304.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehash: Option<RehashDays>,
    /// Number of URLs seen in each state.
    pub states: BTreeMap<State, u64>,
    /// All unverified URLs after the run, in the first run of a month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<Vec<String>>,
    /// The URLs that were not verified, and are not among the unverified URLs after `base`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub became_unverified: Vec<String>,
    /// The URLs that were verified, and are among the unverified URLs after `base`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified_again: Vec<String>,
}

/// The records that a run read in full, with `rehash-every`: those whose turn was on one of the last
/// `days` days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RehashDays {
    /// In how many days each record has one turn.
    pub every: u64,
    /// Number of days, the day of the run included.
    pub days: u64,
}

/// Appends the line of a run to the file of the month in which it began.
///
/// If an earlier crash cut the last line short, a line end comes first, so that only this line is
/// lost.
pub fn append(folder: &Root, line: &RunLine) -> anyhow::Result<()> {
    let file = file_of(folder, line.at);
    let mut bytes = serde_json::to_vec(line).context("cannot write a line of history as JSON")?;
    bytes.push(b'\n');
    write(&file, bytes).with_context(|| format!("cannot append to {file}"))
}

/// The file of a run that began at this time. Months are those of UTC.
fn file_of(folder: &Root, started: Timestamp) -> RootFile {
    let month = started.strftime("%Y-%m");
    self::folder(folder).file(format!("{month}.jsonl"))
}

fn write(file: &RootFile, mut bytes: Vec<u8>) -> io::Result<()> {
    let mut file = file.open_to_append()?;
    if ends_within_a_line(&mut file)? {
        bytes.insert(0, b'\n');
    }
    file.write_all(&bytes)?;
    file.sync_all()
}

fn ends_within_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}
