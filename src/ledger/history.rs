//! `history.jsonl`: a line for each run, and one for each change of state.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::State;

use urldb_verdict::Selection;

/// One line.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// A run took place.
    Run(RunLine),
    /// A URL's believed state has become another.
    Change(ChangeLine),
}

/// What one run did.
#[derive(Debug, Clone, Serialize)]
pub struct RunLine {
    /// The run's id.
    pub run: String,
    /// When it began.
    pub at: Timestamp,
    /// Which records were looked at; absent when it was all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// How many URLs were due.
    pub due: u64,
    /// How many are in each state, as seen.
    pub states: BTreeMap<State, u64>,
    /// Static URLs that were due and whose bytes were not verified. Every
    /// other static URL of the selection was: so "last verified" can be computed.
    pub unverified: Vec<String>,
}

/// One change of a believed state.
#[derive(Debug, Clone, Serialize)]
pub struct ChangeLine {
    /// The run that brought it.
    pub run: String,
    /// When.
    pub at: Timestamp,
    /// The URL.
    pub url: String,
    /// What was believed.
    pub from: State,
    /// What is believed now.
    pub to: State,
}

/// Appends lines to the history in `folder`, all or, if the disk is full, none that counts:
/// a line that was cut short by an earlier crash is ended first, so it spoils no other.
pub fn append(folder: &Path, lines: &[Line]) -> anyhow::Result<()> {
    let path = folder.join("history.jsonl");
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)
            .context("cannot write a line of history as JSON")?;
        bytes.push(b'\n');
    }
    write(&path, bytes).with_context(|| format!("cannot append to {}", path.display()))
}

/// When the last run over everything began.
///
/// # Errors
/// When the history is there and cannot be read; a line that is not ours is passed over.
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
        if let Ok(begun) = serde_json::from_slice::<Begun>(&line)
            && begun.kind == "run"
            && begun.selection.is_none()
        {
            last = last.max(Some(begun.at));
        }
    }
    Ok(last)
}

/// The part of a line that says whether it is about a run over everything, and when that was.
#[derive(Deserialize)]
struct Begun {
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
