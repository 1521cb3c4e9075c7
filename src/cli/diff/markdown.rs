//! A difference for a pull request: Markdown for a comment or a job summary.
//!
//! Text from files and names of commits stand in code spans, so that none of it is markup, a link or a
//! mention.

use std::io::{self, Write};

use urldb_format::{DifferenceKind, KeyChange, RecordDifference};
use urldb_render::numbers::number;
use urldb_render::{LARGEST_BODY, code, shorten};
use urldb_text::sanitize;

use super::compared::{ComparedFile, Side, Totals, count, method};
use super::{Writer, values};
use crate::config::{ChangedKeys, FILE_NAME};
use crate::environment;
use crate::git::{Commit, Comparison, Snapshot};

/// Longest value or key, in characters.
const LONGEST_VALUE: usize = 200;

/// Longest URL, in characters.
const LONGEST_URL: usize = 2_000;

/// Most keys of one record.
const MOST_KEYS: usize = 20;

/// Longest name of a commit, in characters.
const LONGEST_NAME: usize = 100;

/// A list of more items is folded.
const FOLDED: usize = 10;

/// Room for the headings and counts, in bytes.
const FRAME: usize = 4_000;

/// The sections, in the order of their importance to a reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Promises,
    Moved,
    Metadata,
    Removed,
    NotCompared,
    Added,
    Changed,
}

const SECTIONS: [(Section, &str); 7] = [
    (Section::Promises, "Promise changed"),
    (Section::Moved, "Domains moved"),
    (Section::Metadata, "Metadata changed"),
    (Section::Removed, "Removed"),
    (Section::NotCompared, "Not compared"),
    (Section::Added, "Added"),
    (Section::Changed, "Changed, with the same promise"),
];

/// Collects as much of each section as a comment holds, counts the rest, and writes all at the end.
pub(super) struct MarkdownWriter<W> {
    out: W,
    /// The line about urldb.toml.
    settings: Option<String>,
    states: String,
    sections: [Items; SECTIONS.len()],
}

#[derive(Default)]
struct Items {
    kept: Vec<String>,
    size: usize,
    /// The number of items, kept or not.
    total: u64,
}

impl Items {
    fn push(&mut self, item: String) {
        self.total += 1;
        self.size += item.len() + 1;
        if self.size <= LARGEST_BODY {
            self.kept.push(item);
        }
    }
}

impl<W: Write> MarkdownWriter<W> {
    pub(super) fn new(out: W, settings: Option<&ChangedKeys>, comparison: &Comparison) -> Self {
        let before = commit(&comparison.before);
        let after = match &comparison.after {
            Snapshot::Commit(after) => commit(after),
            Snapshot::Index => "the index".to_owned(),
            Snapshot::WorkTree => "the work tree".to_owned(),
        };
        Self {
            out,
            settings: settings.map(settings_line),
            states: format!("From {before} to {after}."),
            sections: std::array::from_fn(|_| Items::default()),
        }
    }

    fn push(&mut self, section: Section, item: String) {
        let index = SECTIONS.iter().position(|(known, _)| *known == section);
        if let Some(items) = index.and_then(|index| self.sections.get_mut(index)) {
            items.push(item);
        }
    }

    fn record(&mut self, file: &ComparedFile<'_>, record: &RecordDifference<'_>) {
        let method = record.entry().and_then(method);
        let method = method.map_or_else(String::new, |method| {
            format!("{} ", shown(method, LONGEST_VALUE))
        });
        let url = shown(&file.name(record), LONGEST_URL);
        let section = match record.kind {
            DifferenceKind::Added => Section::Added,
            DifferenceKind::Removed => Section::Removed,
            DifferenceKind::Changed if record.changes_promise() => Section::Promises,
            DifferenceKind::Changed => Section::Changed,
            // One line for the file counts them.
            DifferenceKind::Unknown => return,
        };
        let keys = match record.kind {
            DifferenceKind::Changed => keys(&record.keys),
            _ => String::new(),
        };
        self.push(section, format!("- {method}{url}{keys}"));
    }
}

impl<W: Write> Writer for MarkdownWriter<W> {
    fn add(&mut self, file: &ComparedFile<'_>) -> io::Result<()> {
        let name = shown(&file.name, LONGEST_VALUE);
        for (side, finding) in file.mistakes() {
            let version = match side {
                Side::Before => "earlier version",
                Side::After => "later version",
            };
            let message = shown(&finding.message, LONGEST_VALUE);
            let unknown = count(file.unknown(), "record");
            let item = format!(
                "- {name}, {version}, line {}: {}: {message} ({unknown} not compared)",
                finding.line, finding.code
            );
            self.push(Section::NotCompared, item);
        }
        if let Some(former) = file.former_host() {
            let former = shown(former, LONGEST_VALUE);
            self.push(Section::Moved, format!("- {name}, from {former}"));
        }
        let metadata = file.changed_metadata();
        if !metadata.is_empty() {
            self.push(Section::Metadata, format!("- {name}{}", keys(metadata)));
        }
        for record in &file.difference.records {
            self.record(file, record);
        }
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        let mut parts = match self.settings.take() {
            None => vec![format!("## urldb: {}", totals.sentence())],
            Some(settings) => vec![
                format!("## urldb: {FILE_NAME} changes; {}", totals.sentence()),
                settings,
            ],
        };
        parts.push(self.states.clone());
        let taken: usize = parts.iter().map(String::len).sum();
        let mut room = (LARGEST_BODY - FRAME).saturating_sub(taken);
        for (items, (_, heading)) in self.sections.iter().zip(SECTIONS) {
            if items.total == 0 {
                continue;
            }
            let mut kept: Vec<&str> = vec![];
            for item in &items.kept {
                let Some(left) = room.checked_sub(item.len() + 1) else {
                    break;
                };
                room = left;
                kept.push(item);
            }
            parts.push(format!("### {heading}: {}", number(items.total)));
            parts.extend(list(&kept, items.total));
        }
        parts.extend(totals.notes().into_iter().map(|note| format!("{note}.")));
        writeln!(self.out, "{}", parts.join("\n\n"))?;
        self.out.flush()
    }
}

/// The line about the keys of urldb.toml that differ.
pub(crate) fn settings_line(settings: &ChangedKeys) -> String {
    let keys = settings.sentence(|name| shown(name, LONGEST_VALUE));
    format!("**`{FILE_NAME}` changes:** {keys}.")
}

/// The first items, folded if they are many, and the number of the others.
fn list(lines: &[&str], total: u64) -> Vec<String> {
    let mut parts = vec![];
    match lines.len() {
        0 => {}
        1..=FOLDED => parts.push(lines.join("\n")),
        shown => {
            let summary = format!("<details><summary>Show {shown}</summary>");
            parts.extend([summary, lines.join("\n"), "</details>".to_owned()]);
        }
    }
    let more = total - lines.len() as u64;
    if more > 0 {
        parts.push(format!("{} more found no room here.", number(more)));
    }
    parts
}

/// The branch of a commit of a pull request in a workflow of GitHub: people do not know the id. The
/// workflow checks out a merge of the pull request into its base, the first parent.
fn branch(name: &str) -> Option<String> {
    let variable = |name: &str| environment::variable(name).filter(|value| !value.is_empty());
    match name.strip_prefix(&variable("GITHUB_SHA")?)? {
        "" => variable("GITHUB_HEAD_REF"),
        "^1" => variable("GITHUB_BASE_REF"),
        _ => None,
    }
}

/// The name of a commit and its short id.
fn commit(commit: &Commit) -> String {
    let branch = branch(&commit.name);
    let name = shown(branch.as_deref().unwrap_or(&commit.name), LONGEST_NAME);
    match &commit.id {
        Some(id) if branch.is_none() && id.starts_with(&commit.name) => name,
        Some(id) => format!("{name} ({})", id.get(..10).unwrap_or(id)),
        None => "a repository without commits".to_owned(),
    }
}

/// The keys as a nested list: `  - length: old → new`.
fn keys(keys: &[KeyChange]) -> String {
    let mut lines: Vec<String> = keys.iter().take(MOST_KEYS).map(key).collect();
    if keys.len() > MOST_KEYS {
        lines.push(format!("\n  - and {} more keys", keys.len() - MOST_KEYS));
    }
    lines.concat()
}

fn key(change: &KeyChange) -> String {
    let value = |value| shown(&values::line(value), LONGEST_VALUE);
    let change_text = match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("{} → {}", value(before), value(after)),
        (None, Some(after)) => format!("new: {}", value(after)),
        (Some(before), None) => format!("removed, was {}", value(before)),
        (None, None) => String::new(),
    };
    format!("\n  - {}: {change_text}", shown(&change.key, LONGEST_VALUE))
}

/// Text from outside in a code span, on one line. An empty text has no span.
fn shown(text: &str, longest: usize) -> String {
    match text {
        "" => "(empty)".to_owned(),
        text => code(&shorten(&sanitize(text), longest)),
    }
}
