//! The commits that changed records: one pass over `git log`.
//!
//! The pass keeps of each line of a domain file only whether it begins a document or names its path, and
//! applies the differences of one commit after the other. So it knows the record of each changed line,
//! and never parses a file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::Result;
use jiff::Timestamp;
use urldb_protocol::CommitInfo;
use urldb_text::sanitize;

use super::file_lines::{Edited, FileLines};
use crate::config::Config;
use crate::database::moves;
use crate::git::{LogPart, LoggedCommit, Repository};

/// The most names of a host whose commits are read. A longer chain is cut.
const MOST_NAMES: usize = 16;

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
    /// The hosts that got other names, oldest first.
    moves: Vec<Move>,
}

/// A commit that moved the records of a host to another name.
#[derive(Debug)]
struct Move {
    commit: u32,
    from: String,
    to: String,
    /// Number of paths that both had.
    common: u64,
}

/// An earlier name of a host.
#[derive(Debug)]
pub struct FormerName<'a> {
    /// The name.
    pub host: &'a str,
    /// The commit of the move.
    moved: u32,
    /// When the name got records of its own again.
    reused: Option<Timestamp>,
}

impl FormerName<'_> {
    /// Whether an event at that time under the name is of the host.
    pub(super) fn includes(&self, at: Timestamp) -> bool {
        self.reused.is_none_or(|reused| at < reused)
    }
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
    /// The commits that changed the domain file of one host, under its earlier names too, or any domain file.
    ///
    /// # Errors
    /// When git fails.
    pub fn read(config: &Config, host: Option<&str>) -> Result<Result<Self, UnknownCommits>> {
        let folder = config.root.join(&config.database.path);
        let Some(repository) = Repository::of_project(&folder)? else {
            return Ok(Err(UnknownCommits::NoRepository));
        };
        if repository.lacks_history()? {
            return Ok(Err(UnknownCommits::Shallow));
        }
        let folder = repository.relative(&folder)?;
        let mut names: Vec<String> = host.into_iter().map(str::to_owned).collect();
        loop {
            let mut reading = Reading::default();
            let files = names.iter().map(|host| folder.join(format!("{host}.yaml")));
            let paths = match host {
                Some(_) => files.collect(),
                None => vec![folder.clone()],
            };
            repository.log(&paths, |part| {
                reading.take(part, &folder);
                Ok(())
            })?;
            reading.end_file();
            let mut commits = reading.commits;
            // With some files only, the other half of a move may be missing.
            let both = reading.began.intersection(&reading.ended);
            let candidates: Vec<u32> = match host {
                Some(_) => reading.began.union(&reading.ended).copied().collect(),
                None => both.copied().collect(),
            };
            commits.find_moves(&repository, &folder, &candidates)?;
            // The records that moved are known from both files.
            let unread = commits.moves.iter().find_map(|it| {
                let is_read = |name: &String| names.contains(name);
                match (is_read(&it.from), is_read(&it.to)) {
                    (false, true) => Some(it.from.clone()),
                    (true, false) => Some(it.to.clone()),
                    _ => None,
                }
            });
            match unread.filter(|_| host.is_some() && names.len() < MOST_NAMES) {
                Some(name) => names.push(name),
                None => return Ok(Ok(commits)),
            }
        }
    }

    fn find_moves(
        &mut self,
        repository: &Repository,
        folder: &Path,
        candidates: &[u32],
    ) -> Result<()> {
        for commit in candidates {
            let Some(LoggedCommit { id, .. }) = self.all.get(*commit as usize) else {
                continue;
            };
            for (from, to) in moves::of_commit(repository, id, folder)? {
                let common = self
                    .records
                    .iter()
                    .filter(|((host, path), changes)| {
                        let key = (to.clone(), path.clone());
                        let new = self.records.get(&key).map_or(&[][..], Vec::as_slice);
                        *host == from
                            && changes.contains(&(*commit, Change::Removed))
                            && new.contains(&(*commit, Change::Added))
                    })
                    .count() as u64;
                self.moves.push(Move {
                    commit: *commit,
                    from,
                    to,
                    common,
                });
            }
        }
        Ok(())
    }

    /// Whether there are commits that changed the domain file of a host.
    pub fn has(&self, host: &str) -> bool {
        self.files.contains_key(host)
    }

    /// The earlier names of a host, each once, the latest first. A host that moved back has its own name among them no
    /// more.
    pub fn former_names<'a>(&'a self, host: &'a str) -> Vec<FormerName<'a>> {
        let (mut names, mut name, mut end) = (Vec::<FormerName>::new(), host, u32::MAX);
        // Each step leads to an earlier commit.
        while let Some(found) = self
            .moves
            .iter()
            .rev()
            .find(|it| it.to == name && it.commit < end)
        {
            let reused = self
                .files
                .get(&found.from)
                .map_or(&[][..], Vec::as_slice)
                .iter()
                .find(|it| it.commit > found.commit);
            let is_known = found.from == host || names.iter().any(|it| it.host == found.from);
            if !is_known {
                names.push(FormerName {
                    host: &found.from,
                    moved: found.commit,
                    reused: reused
                        .and_then(|it| self.all.get(it.commit as usize))
                        .map(|commit| commit.at),
                });
            }
            (name, end) = (&found.from, found.commit);
        }
        names
    }

    /// The names that a URL of a host had, the latest first.
    pub fn former_urls<'a>(
        &'a self,
        host: &'a str,
        url: &'a str,
    ) -> impl Iterator<Item = String> + 'a {
        let rest = url.split_once("://").and_then(|(scheme, rest)| {
            Some((
                scheme,
                rest.strip_prefix(&*urldb_canon::authority(host))
                    .filter(|path| path.starts_with('/'))?,
            ))
        });
        let former = self.former_names(host).into_iter();
        former.filter_map(move |former| {
            let (scheme, path) = rest?;
            Some(format!(
                "{scheme}://{}{path}",
                urldb_canon::authority(former.host)
            ))
        })
    }

    /// The commits that changed the domain file of a host, oldest first, those under earlier names included: each with
    /// its name.
    pub(super) fn of_host<'a>(&'a self, host: &'a str) -> Vec<(&'a str, Timestamp, CommitInfo)> {
        let changes = self.names(host).into_iter().flat_map(|(name, end)| {
            self.files
                .get(name)
                .into_iter()
                .flatten()
                .filter(move |change| change.commit < end)
                .map(move |change| (name, *change))
        });
        self.infos(changes).collect()
    }

    /// The commits that changed a record, oldest first, those under earlier names of the host included.
    pub(super) fn of_record(&self, host: &str, path: &str) -> Vec<(Timestamp, CommitInfo)> {
        let changes = self.names(host).into_iter().flat_map(|(name, end)| {
            self.records
                .get(&(name.to_owned(), path.to_owned()))
                .into_iter()
                .flatten()
                .filter(move |(commit, _)| *commit < end)
                .map(move |(commit, change)| {
                    let is = |kind| u64::from(*change == kind);
                    let change = FileChange {
                        commit: *commit,
                        added: is(Change::Added),
                        changed: is(Change::Changed),
                        removed: is(Change::Removed),
                    };
                    (name, change)
                })
        });
        self.infos(changes)
            .map(|(_, at, info)| (at, info))
            .collect()
    }

    /// Changes of the records of several names, in the order of the commits.
    fn infos<'a>(
        &self,
        changes: impl Iterator<Item = (&'a str, FileChange)>,
    ) -> impl Iterator<Item = (&'a str, Timestamp, CommitInfo)> {
        let mut changes: Vec<_> = changes.collect();
        changes.sort_by_key(|(_, change)| change.commit);
        changes
            .into_iter()
            .filter_map(|(name, change)| self.info(&change, name))
    }

    /// The commits that changed domain files, by host: each with the host. A move belongs to the new name.
    pub(super) fn of_hosts(&self) -> impl Iterator<Item = (&str, Timestamp, CommitInfo)> {
        self.files
            .iter()
            .flat_map(|(host, changes)| changes.iter().filter_map(|change| self.info(change, host)))
            .filter(|(_, _, info)| info.moved_to.is_none() || info.moved_from.is_some())
    }

    /// The names that a host has had, each with the commit that ended it.
    fn names<'a>(&'a self, host: &'a str) -> Vec<(&'a str, u32)> {
        let mut names: Vec<(&str, u32)> = self
            .former_names(host)
            .into_iter()
            .map(|it| (it.host, it.moved))
            .collect();
        names.push((host, u32::MAX));
        names
    }

    /// The id of the last commit that changed the domain file of a host. Line numbers of the file hold in
    /// that commit.
    pub(super) fn last_of_host(&self, host: &str) -> Option<&str> {
        let commit = self.all.get(*self.last.get(host)? as usize)?;
        Some(&commit.id)
    }

    /// The places of the commits in their order, by id.
    pub(super) fn places(&self) -> HashMap<&str, usize> {
        self.all
            .iter()
            .map(|commit| commit.id.as_str())
            .zip(0..)
            .collect()
    }

    /// A change of the records of a host. Records that moved are neither added nor removed.
    fn info<'a>(
        &self,
        change: &FileChange,
        host: &'a str,
    ) -> Option<(&'a str, Timestamp, CommitInfo)> {
        let commit = self.all.get(change.commit as usize)?;
        let mut moves = self.moves.iter().filter(|it| it.commit == change.commit);
        let from = moves.clone().find(|it| it.to == host);
        let to = moves.find(|it| it.from == host);
        let less =
            |records: u64, by: Option<&Move>| records.saturating_sub(by.map_or(0, |it| it.common));
        let info = CommitInfo {
            id: commit.id.clone(),
            author: sanitize(&commit.author).into_owned(),
            subject: sanitize(&commit.subject).into_owned(),
            added: less(change.added, from),
            changed: change.changed,
            removed: less(change.removed, to),
            moved_from: from.map(|it| it.from.clone()),
            moved_to: to.map(|it| it.to.clone()),
        };
        Some((host, commit.at, info))
    }
}

#[derive(Debug, Default)]
struct Reading {
    commits: Commits,
    files: HashMap<String, FileLines>,
    edited: Option<Edited>,
    /// Commits in which a file became one with lines.
    began: BTreeSet<u32>,
    /// Commits in which a file lost all lines.
    ended: BTreeSet<u32>,
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
                    self.files.entry(edited.host.clone()).or_default().apply(
                        edited,
                        start,
                        removed.len(),
                        &added,
                    );
                }
            }
        }
    }

    fn begin_file(&mut self, path: &Path, folder: &Path) {
        let name = path.strip_prefix(folder).ok();
        let name = name.filter(|name| name.components().count() == 1);
        let host = name
            .filter(|name| urldb_format::is_domain_file(name))
            .map(urldb_format::host_of);
        // The old name and the new one are the same.
        if self.edited.as_ref().map(|edited| &edited.host) == host.as_ref() {
            return;
        }
        self.end_file();
        self.edited = host.map(|host| {
            let was_empty = self
                .files
                .get(&host)
                .is_none_or(|file| file.lines.is_empty());
            Edited::new(host, was_empty)
        });
    }

    fn end_file(&mut self) {
        let Some(edited) = self.edited.take() else {
            return;
        };
        let commit = u32::try_from(self.commits.all.len())
            .unwrap_or(u32::MAX)
            .saturating_sub(1);
        self.commits.last.insert(edited.host.clone(), commit);
        let Some(file) = self.files.get(&edited.host).filter(|file| !file.is_lost) else {
            return;
        };
        match (edited.was_empty, file.lines.is_empty()) {
            (true, false) => self.began.insert(commit),
            (false, true) => self.ended.insert(commit),
            _ => false,
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
