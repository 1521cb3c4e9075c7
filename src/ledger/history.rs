//! `history.jsonl`: a line for each run, and a line for each change of a believed state.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::State;
use urldb_verdict::Selection;

/// One line of the history.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HistoryLine {
    /// A run took place.
    Run(RunLine),
    /// A URL's believed state has become another.
    Change(ChangeLine),
}

/// The line of one run.
#[derive(Debug, Clone, Serialize)]
pub struct RunLine {
    /// The run's id.
    pub run: String,
    /// When it began.
    pub at: Timestamp,
    /// Which records were checked; absent if the run checked all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Number of URLs that were due.
    pub due: u64,
    /// Number of URLs seen in each state.
    pub states: BTreeMap<State, u64>,
    /// Static URLs that were due and not verified. Every other static URL of the selection was
    /// verified, so the last verification of a URL can be computed.
    pub unverified: Vec<String>,
}

/// One change of a believed state.
#[derive(Debug, Clone, Serialize)]
pub struct ChangeLine {
    /// The run that brought it.
    pub run: String,
    /// When the run ended.
    pub at: Timestamp,
    /// The URL.
    pub url: String,
    /// The state that was believed.
    pub from: State,
    /// The state that is believed now.
    pub to: State,
}

/// Appends lines to the history in `folder`.
///
/// If an earlier crash cut the last line short, a line end comes first, so that only this line is
/// lost.
pub fn append(folder: &Path, lines: &[HistoryLine]) -> anyhow::Result<()> {
    let path = folder.join("history.jsonl");
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)
            .context("cannot write a line of history as JSON")?;
        bytes.push(b'\n');
    }
    write(&path, bytes).with_context(|| format!("cannot append to {}", path.display()))
}

/// When the last run over the whole database began.
///
/// # Errors
/// When the history exists and cannot be read. Lines of other programs are skipped.
pub fn last_run(folder: &Path) -> anyhow::Result<Option<Timestamp>> {
    let path = folder.join("history.jsonl");
    let reading = || format!("cannot read {}", path.display());
    let file = match urldb_files::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.with_context(reading)?,
    };
    let mut last = None;
    for line in BufReader::new(file).split(b'\n') {
        let line = line.with_context(reading)?;
        if let Ok(start) = serde_json::from_slice::<RunStart>(&line)
            && start.kind == "run"
            && start.selection.is_none()
        {
            last = last.max(Some(start.at));
        }
    }
    Ok(last)
}

/// The part of a line that shows whether it is about a run over the whole database, and when that
/// run began.
#[derive(Deserialize)]
struct RunStart {
    kind: String,
    at: Timestamp,
    selection: Option<serde::de::IgnoredAny>,
}

fn write(path: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .open(path)?;
    if ends_within_a_line(&mut file)? {
        bytes.insert(0, b'\n');
    }
    file.write_all(&bytes)?;
    file.sync_all()
}

fn ends_within_a_line(file: &mut fs::File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
