//! `history.jsonl`: a line for each run, each change of a believed state, and each change of an
//! incident.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::{ClosedBecause, Phase, State};
use urldb_verdict::Selection;

/// One line of the history.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HistoryLine {
    /// A run took place.
    Run(RunLine),
    /// A URL's believed state has become another.
    Change(ChangeLine),
    /// An incident has opened, grown, shrunk or closed.
    Incident(IncidentLine),
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

/// What a run did to one incident.
#[derive(Debug, Clone, Serialize)]
pub struct IncidentLine {
    /// The run.
    pub run: String,
    /// When the run ended.
    pub at: Timestamp,
    /// The id of the incident.
    pub incident: String,
    /// What the run did to it.
    pub phase: Phase,
    /// The host that was asked.
    pub host: String,
    /// The state of the affected URLs.
    pub state: State,
    /// The reason, if it is a part of the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of affected URLs after the run.
    pub urls: u64,
    /// Why the incident closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<ClosedBecause>,
}

/// A run of the past.
#[derive(Debug, Clone, Deserialize)]
pub struct PastRun {
    /// The run's id.
    #[serde(rename = "run")]
    pub id: String,
    /// When it began.
    pub at: Timestamp,
    /// Which records were checked; absent if the run checked all of them.
    #[serde(default)]
    pub selection: Option<PastSelection>,
}

/// The selection of a run of the past.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PastSelection {
    domains: Vec<String>,
    categories: Vec<String>,
    path_prefix: Option<String>,
    records: Vec<serde::de::IgnoredAny>,
}

impl PastRun {
    /// Whether the run was over the whole database.
    pub fn is_complete(&self) -> bool {
        self.selection.is_none()
    }

    /// Whether the run certainly checked the records with this path of a domain.
    pub fn has_checked(&self, domain: &str, path: &str) -> bool {
        let Some(selection) = &self.selection else {
            return true;
        };
        let PastSelection {
            domains,
            categories,
            path_prefix,
            records,
        } = selection;
        let prefix = path_prefix.as_deref().unwrap_or_default();
        categories.is_empty()
            && records.is_empty()
            && (domains.is_empty() || domains.iter().any(|known| known == domain))
            && path.starts_with(prefix)
    }
}

/// The runs of the past, oldest first.
///
/// # Errors
/// When the history exists and cannot be read. Lines of other programs are skipped.
pub fn past_runs(folder: &Path) -> anyhow::Result<Vec<PastRun>> {
    let mut runs = vec![];
    each_line(folder, |line| {
        if let Ok(Kind { kind }) = serde_json::from_slice(line)
            && kind == "run"
            && let Ok(run) = serde_json::from_slice::<PastRun>(line)
        {
            runs.push(run);
        }
    })?;
    runs.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    runs.dedup_by(|a, b| a.id == b.id);
    Ok(runs)
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

fn each_line(folder: &Path, mut take: impl FnMut(&[u8])) -> anyhow::Result<()> {
    let path = folder.join("history.jsonl");
    let reading = || format!("cannot read {}", path.display());
    let file = match urldb_files::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.with_context(reading)?,
    };
    for line in BufReader::new(file).split(b'\n') {
        take(&line.with_context(reading)?);
    }
    Ok(())
}

/// The part of a line that says what the line is about.
#[derive(Deserialize)]
struct Kind {
    kind: String,
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
