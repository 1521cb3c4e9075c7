//! A difference as one JSON document, described in docs/output-formats.md.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value as Json;
use urldb_format::{DifferenceKind, KeyChange, RecordDifference};

use super::compared::{ComparedFile, FileStatus, Side, Totals, method};
use super::{Writer, values};
use crate::cli::print::output;
use crate::config::ChangedKeys;
use crate::git::{Commit, Comparison, Snapshot};

/// Writes the document piece by piece, a line for each file: the memory does not grow with the
/// difference.
pub(super) struct JsonWriter<W> {
    out: W,
    has_files: bool,
}

#[derive(Serialize)]
struct StateObject<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
}

#[derive(Serialize)]
struct FileObject<'a> {
    file: &'a str,
    host: &'a str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mistakes: Vec<MistakeObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metadata: Vec<KeyObject<'a>>,
    records: Vec<RecordObject<'a>>,
}

#[derive(Serialize)]
struct MistakeObject<'a> {
    version: &'static str,
    line: usize,
    column: usize,
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct RecordObject<'a> {
    change: &'static str,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    line: usize,
    promise_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keys: Vec<KeyObject<'a>>,
}

#[derive(Serialize)]
struct KeyObject<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Json>,
    promise: bool,
}

impl<'a> StateObject<'a> {
    fn of_commit(commit: &'a Commit) -> Self {
        Self {
            kind: "commit",
            revision: Some(&commit.name),
            commit: commit.id.as_deref(),
        }
    }

    fn from_snapshot(snapshot: &'a Snapshot) -> Self {
        let kind = match snapshot {
            Snapshot::Commit(commit) => return Self::of_commit(commit),
            Snapshot::Index => "index",
            Snapshot::WorkTree => "work-tree",
        };
        Self {
            kind,
            revision: None,
            commit: None,
        }
    }
}

impl<W: Write> JsonWriter<W> {
    /// Writes the beginning of the document.
    pub(super) fn new(
        mut out: W,
        settings: Option<&ChangedKeys>,
        comparison: &Comparison,
    ) -> io::Result<Self> {
        let before = output::json(&StateObject::of_commit(&comparison.before))?;
        let after = output::json(&StateObject::from_snapshot(&comparison.after))?;
        write!(out, "{{\"before\":{before},\n\"after\":{after},\n")?;
        if let Some(settings) = settings {
            writeln!(out, "\"settings\":{},", output::json(settings)?)?;
        }
        write!(out, "\"files\":[")?;
        Ok(Self {
            out,
            has_files: false,
        })
    }
}

impl<W: Write> Writer for JsonWriter<W> {
    fn add(&mut self, file: &ComparedFile<'_>) -> io::Result<()> {
        let mistakes = file.mistakes().map(|(side, finding)| MistakeObject {
            version: match side {
                Side::Before => "before",
                Side::After => "after",
            },
            line: finding.line,
            column: finding.column,
            code: finding.code.as_str(),
            message: &finding.message,
        });
        let records = file.difference.records.iter();
        let object = FileObject {
            file: &file.name,
            host: file.host(),
            change: match file.status {
                FileStatus::Added => "added",
                FileStatus::Removed => "removed",
                FileStatus::Changed => "changed",
                FileStatus::Moved => "moved",
            },
            moved_from: file.former_host(),
            mistakes: mistakes.collect(),
            metadata: file.difference.metadata.iter().map(key).collect(),
            records: records.map(|it| record(file, it)).collect(),
        };
        let comma = if self.has_files { "," } else { "" };
        self.has_files = true;
        write!(self.out, "{comma}\n{}", output::json(&object)?)
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        let summary = output::json(totals)?;
        writeln!(self.out, "],\n\"summary\":{summary}}}")?;
        self.out.flush()
    }
}

fn record<'a>(file: &ComparedFile<'_>, record: &'a RecordDifference<'_>) -> RecordObject<'a> {
    let entry = record.entry();
    RecordObject {
        change: match record.kind {
            DifferenceKind::Added => "added",
            DifferenceKind::Removed => "removed",
            DifferenceKind::Changed => "changed",
            DifferenceKind::Unknown => "not-compared",
        },
        url: file.url(record),
        method: entry.and_then(method),
        request: entry.and_then(|entry| entry.record().request_key()),
        variant: file.variant(record),
        line: entry.map_or(1, urldb_format::RecordEntry::line),
        promise_changed: record.changes_promise(),
        keys: record.keys.iter().map(key).collect(),
    }
}

fn key(change: &KeyChange) -> KeyObject<'_> {
    KeyObject {
        key: &change.key,
        before: change.before.as_ref().map(values::json),
        after: change.after.as_ref().map(values::json),
        promise: change.is_promise,
    }
}
