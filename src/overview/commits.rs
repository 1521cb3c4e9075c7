//! The commits that changed records: one pass over `git log`.
//!
//! The pass keeps of each line of a domain file only whether it begins a document or names its path, and
//! applies the differences of one commit after the other. So it knows the record of each changed line,
//! and never parses a file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::Result;
use jiff::Timestamp;
use urldb_format::LineKind;
use urldb_protocol::CommitInfo;
use urldb_text::sanitize;

use crate::config::Config;
use crate::git::{GitEnv, LogPart, LoggedCommit, Repository};

/// The commits that changed records.
#[derive(Debug, Default)]
pub struct Commits {
    /// Oldest first.
    all: Vec<LoggedCommit>,
    /// By the host of the domain file, oldest first.
    files: BTreeMap<String, Vec<FileChange>>,
    /// By host and path, oldest first: indexes of commits, and their changes.
    records: HashMap<(String, String), Vec<(u32, Change)>>,
    /// By the host of the domain file: the last commit that touched the file.
    last: BTreeMap<String, u32>,
}

/// Numbers of records that one commit changed in one domain file.
#[derive(Debug, Clone, Copy)]
struct FileChange {
    commit: u32,
    added: u64,
    changed: u64,
    removed: u64,
}

/// The change of one record by one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Changed,
    Removed,
}

/// Why the commits are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownCommits {
    /// The folder is in no git repository.
    NoRepository,
    /// The repository lacks older commits.
    Shallow,
}

impl Commits {
    /// The commits that changed the domain file of one host, or any domain file.
    ///
    /// # Errors
    /// When git fails.
    pub fn read(config: &Config, host: Option<&str>) -> Result<Result<Self, UnknownCommits>> {
        let folder = config.root.join(&config.database.path);
        let Some(repository) = Repository::discover(&folder, GitEnv::from_process())? else {
            return Ok(Err(UnknownCommits::NoRepository));
        };
        if repository.lacks_history()? {
            return Ok(Err(UnknownCommits::Shallow));
        }
        let folder = repository.relative(&folder)?;
        let path = match host {
            Some(host) => folder.join(format!("{host}.yaml")),
            None => folder.clone(),
        };
        let mut reading = Reading::default();
        repository.log(&path, |part| {
            reading.take(part, &folder);
            Ok(())
        })?;
        reading.end_file();
        Ok(Ok(reading.commits))
    }

    /// The commits that changed the domain file of a host, oldest first.
    pub(super) fn of_host(&self, host: &str) -> impl Iterator<Item = (Timestamp, CommitInfo)> {
        let changes = self.files.get(host).map_or(&[][..], Vec::as_slice);
        changes.iter().filter_map(|change| {
            let (at, info) = self.info(change.commit)?;
            Some((
                at,
                CommitInfo {
                    added: change.added,
                    changed: change.changed,
                    removed: change.removed,
                    ..info
                },
            ))
        })
    }

    /// The commits that changed a record, oldest first.
    pub(super) fn of_record(
        &self,
        host: &str,
        path: &str,
    ) -> impl Iterator<Item = (Timestamp, CommitInfo)> {
        let key = (host.to_owned(), path.to_owned());
        let changes = self.records.get(&key).map_or(&[][..], Vec::as_slice);
        changes.iter().filter_map(|(commit, change)| {
            let (at, info) = self.info(*commit)?;
            let is = |kind| u64::from(*change == kind);
            Some((
                at,
                CommitInfo {
                    added: is(Change::Added),
                    changed: is(Change::Changed),
                    removed: is(Change::Removed),
                    ..info
                },
            ))
        })
    }

    /// The id of the last commit that changed the domain file of a host. Line numbers of the file hold in
    /// that commit.
    pub(super) fn last_of_host(&self, host: &str) -> Option<&str> {
        let commit = self.all.get(*self.last.get(host)? as usize)?;
        Some(&commit.id)
    }

    /// The places of the commits in their order, by id.
    pub(super) fn places(&self) -> HashMap<&str, usize> {
        let ids = self.all.iter().map(|commit| commit.id.as_str());
        ids.zip(0..).collect()
    }

    /// The hosts whose domain files commits have changed.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    fn info(&self, index: u32) -> Option<(Timestamp, CommitInfo)> {
        let commit = self.all.get(index as usize)?;
        let info = CommitInfo {
            id: commit.id.clone(),
            author: sanitize(&commit.author).into_owned(),
            subject: sanitize(&commit.subject).into_owned(),
            added: 0,
            changed: 0,
            removed: 0,
        };
        Some((commit.at, info))
    }
}

/// A line of a domain file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    /// Begins a document.
    Separator,
    /// The path of a record.
    Path(Box<str>),
    Other,
}

impl Line {
    fn of(text: &str) -> Self {
        if LineKind::of(text.as_bytes()) == LineKind::Marker {
            return Self::Separator;
        }
        match text.strip_prefix("_path: ") {
            Some(path) => Self::Path(plain(path).into()),
            None => Self::Other,
        }
    }
}

/// The value of a scalar as canonical files have it: plain, or in single quotes.
fn plain(text: &str) -> String {
    let quoted = text
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''));
    quoted.map_or_else(|| text.to_owned(), |text| text.replace("''", "'"))
}

#[derive(Debug, Default)]
struct FileLines {
    lines: Vec<Line>,
    /// Number of records of each path.
    records: HashMap<Box<str>, u32>,
    /// A difference did not fit: what follows is unknown.
    is_lost: bool,
}

/// A file while the differences of one commit are applied.
#[derive(Debug, Default)]
struct Edited {
    host: String,
    /// Lines added so far, less those removed.
    shift: isize,
    touched: BTreeSet<Box<str>>,
    /// The touched paths that had a record before the commit.
    before: BTreeSet<Box<str>>,
}

#[derive(Debug, Default)]
struct Reading {
    commits: Commits,
    files: HashMap<String, FileLines>,
    edited: Option<Edited>,
}

impl Reading {
    fn take(&mut self, part: LogPart, folder: &Path) {
        match part {
            LogPart::Commit(commit) => {
                self.end_file();
                self.commits.all.push(commit);
            }
            LogPart::File(path) => self.begin_file(&path, folder),
            LogPart::Hunk {
                start,
                removed,
                added,
            } => {
                if let Some(edited) = &mut self.edited {
                    let file = self.files.entry(edited.host.clone()).or_default();
                    file.apply(edited, start, removed.len(), &added);
                }
            }
        }
    }

    fn begin_file(&mut self, path: &Path, folder: &Path) {
        let name = path.strip_prefix(folder).ok();
        let name = name.filter(|name| name.components().count() == 1);
        let host = name.filter(|name| urldb_format::is_domain_file(name));
        let host = host.map(urldb_format::host_of);
        // The old name and the new one are the same.
        if self.edited.as_ref().map(|edited| &edited.host) == host.as_ref() {
            return;
        }
        self.end_file();
        self.edited = host.map(|host| Edited {
            host,
            ..Edited::default()
        });
    }

    fn end_file(&mut self) {
        let Some(edited) = self.edited.take() else {
            return;
        };
        let commit = u32::try_from(self.commits.all.len()).unwrap_or(u32::MAX);
        let commit = commit.saturating_sub(1);
        self.commits.last.insert(edited.host.clone(), commit);
        let Some(file) = self.files.get(&edited.host).filter(|file| !file.is_lost) else {
            return;
        };
        let mut sum = FileChange {
            commit,
            added: 0,
            changed: 0,
            removed: 0,
        };
        for path in edited.touched {
            let change = match (
                edited.before.contains(&path),
                file.records.contains_key(&path),
            ) {
                (true, true) => Change::Changed,
                (true, false) => Change::Removed,
                (false, true) => Change::Added,
                (false, false) => continue,
            };
            match change {
                Change::Added => sum.added += 1,
                Change::Changed => sum.changed += 1,
                Change::Removed => sum.removed += 1,
            }
            let key = (edited.host.clone(), path.into());
            self.commits
                .records
                .entry(key)
                .or_default()
                .push((commit, change));
        }
        self.commits.files.entry(edited.host).or_default().push(sum);
    }
}

impl FileLines {
    /// Replaces `removed` lines after the first `start` lines of the old file.
    fn apply(&mut self, edited: &mut Edited, start: usize, removed: usize, added: &[String]) {
        let from = start.checked_add_signed(edited.shift);
        let range = from.and_then(|from| Some(from..from.checked_add(removed)?));
        let Some(range) = range.filter(|range| !self.is_lost && range.end <= self.lines.len())
        else {
            self.is_lost = true;
            return;
        };
        for path in self.paths_in(range.clone()) {
            // A path that an earlier hunk of the commit has added was not there before.
            if edited.touched.insert(path.clone()) {
                edited.before.insert(path);
            }
        }
        let from = range.start;
        let new = added.iter().map(|text| Line::of(text));
        let old: Vec<Line> = self.lines.splice(range, new).collect();
        for line in old {
            if let Line::Path(path) = line
                && let Some(count) = self.records.get_mut(&path)
            {
                *count -= 1;
                if *count == 0 {
                    self.records.remove(&path);
                }
            }
        }
        for path in self.paths_in(from..from + added.len()) {
            if edited.touched.insert(path.clone()) && self.records.contains_key(&path) {
                edited.before.insert(path);
            }
        }
        for line in &self.lines[from..from + added.len()] {
            if let Line::Path(path) = line {
                *self.records.entry(path.clone()).or_default() += 1;
            }
        }
        let shift = isize::try_from(added.len()).unwrap_or_default()
            - isize::try_from(removed).unwrap_or_default();
        edited.shift += shift;
    }

    /// The paths of the documents that have a line in the range, separators apart: which of two equal
    /// separators a difference shows is chance.
    fn paths_in(&self, range: std::ops::Range<usize>) -> Vec<Box<str>> {
        let mut paths = vec![];
        let mut index = range.start;
        while index < range.end {
            if self.lines[index] == Line::Separator {
                index += 1;
                continue;
            }
            let is_separator = |line: &Line| *line == Line::Separator;
            let before = &self.lines[..index];
            let start = before.iter().rposition(is_separator).map_or(0, |at| at + 1);
            let after = &self.lines[index..];
            let end = after
                .iter()
                .position(is_separator)
                .map_or(self.lines.len(), |at| index + at);
            paths.extend(self.lines[start..end].iter().find_map(|line| match line {
                Line::Path(path) => Some(path.clone()),
                _ => None,
            }));
            index = end;
        }
        paths
    }
}
