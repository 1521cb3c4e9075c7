//! Two states of the files in a repository, and the files that differ between them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::command::{CommandResult, output, run};
use super::paths;
use super::raw_changes::{RAW, RawChange, RawFile, raw_changes};
use super::repository::{Repository, line};

/// A commit to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The name that the user gave to the commit.
    pub name: String,
    /// The id, in hexadecimal; `None` in a repository without commits, which has no files then.
    pub id: Option<String>,
}

/// A state to compare a commit with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Snapshot {
    /// The files of a commit.
    Commit(Commit),
    /// The staged files.
    Index,
    /// The files on disk, also those that git does not track.
    WorkTree,
}

/// Two states of the files in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The earlier state.
    pub before: Commit,
    /// The later state.
    pub after: Snapshot,
}

/// A file that may differ between two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// The file in the earlier state.
    pub before: FileVersion,
    /// The file in the later state.
    pub after: FileVersion,
}

/// A file in one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileVersion {
    /// The state has no such file.
    Absent,
    /// A regular file with this blob, in hexadecimal.
    Blob(String),
    /// The file on disk.
    OnDisk,
    /// A symbolic link in a commit or in the index, whose target is this blob.
    Link(String),
    /// A submodule in a commit or in the index.
    Submodule,
    /// A file with an unresolved conflict in the index.
    Unmerged,
}

impl Repository {
    /// The comparison that `range` describes: `REV..REV`, `REV...REV` (since the branches parted), `REV`
    /// with the work tree, or with the index if `staged` is set. Without a range and beside the dots,
    /// HEAD is meant.
    ///
    /// # Errors
    /// When a part of the range names no commit, or git fails.
    pub fn comparison(&self, range: Option<&str>, staged: bool) -> Result<Comparison> {
        let Some((before, after)) = range.and_then(|range| range.split_once("..")) else {
            let after = if staged {
                Snapshot::Index
            } else {
                Snapshot::WorkTree
            };
            let before = match range {
                Some(revision) => self.named_commit(revision)?,
                None => self.head()?,
            };
            return Ok(Comparison { before, after });
        };
        if staged {
            bail!("the index is compared with one commit: name that commit, without `..`");
        }
        let (after, since_parted) = match after.strip_prefix('.') {
            Some(after) => (after, true),
            None => (after, false),
        };
        let or_head = |revision| match revision {
            "" => "HEAD",
            other => other,
        };
        let mut before = self.named_commit(or_head(before))?;
        let after = self.named_commit(or_head(after))?;
        if since_parted {
            before.id = Some(self.merge_base(&before, &after)?);
        }
        let after = Snapshot::Commit(after);
        Ok(Comparison { before, after })
    }

    /// The files on disk, compared with a commit.
    ///
    /// # Errors
    /// When `revision` names no commit, or git fails.
    pub fn changes_since(&self, revision: &str) -> Result<Comparison> {
        Ok(Comparison {
            before: self.named_commit(revision)?,
            after: Snapshot::WorkTree,
        })
    }

    /// Whether the file on disk has the bytes of the earlier state, as git stores them.
    ///
    /// # Errors
    /// When git fails.
    pub fn is_same_on_disk(&self, file: &ChangedFile) -> Result<bool> {
        let path = self.work_tree()?.join(&file.path);
        let FileVersion::Blob(before) = &file.before else {
            return Ok(false);
        };
        if !urldb_files::is_there(&path) {
            return Ok(false);
        }
        Ok(line(output(
            self.git().args(["hash-object", "--"]).arg(path),
            b"",
        )?)? == *before)
    }

    /// The files below the folder `dir` (relative to the work tree) that differ, and perhaps some that do
    /// not, by path.
    ///
    /// # Errors
    /// When git fails.
    pub fn changed_files(&self, comparison: &Comparison, dir: &Path) -> Result<Vec<ChangedFile>> {
        let before = match &comparison.before.id {
            Some(id) => id.clone(),
            None => self.empty_tree()?,
        };
        let mut git = self.git();
        git.env("GIT_LITERAL_PATHSPECS", "1");
        match &comparison.after {
            Snapshot::Commit(after) => {
                let after = after.id.as_deref().unwrap_or_default();
                git.arg("diff-tree").args(RAW).args([&before, after])
            }
            Snapshot::Index => git
                .arg("diff-index")
                .args(["--cached", "--ita-invisible-in-index"])
                .args(RAW)
                .arg(&before),
            Snapshot::WorkTree => git.arg("diff-index").args(RAW).arg(&before),
        };
        git.arg("--").arg(paths::pathspec(dir));
        let mut files = BTreeMap::new();
        for change in raw_changes(&mut git)? {
            let file = ChangedFile {
                path: change.path.clone(),
                before: version(change.before.as_ref()),
                after: after(&change, &comparison.after),
            };
            files.insert(change.path, file);
        }
        if comparison.after == Snapshot::WorkTree {
            for path in self.untracked(dir)? {
                let known = files.entry(path.clone());
                // A file that is in the commit, but not in the index.
                known
                    .and_modify(|file| file.after = FileVersion::OnDisk)
                    .or_insert(ChangedFile {
                        path,
                        before: FileVersion::Absent,
                        after: FileVersion::OnDisk,
                    });
            }
        }
        Ok(files.into_values().collect())
    }

    /// The files below the folder `dir` (relative to the work tree) that differ between two commits.
    ///
    /// # Errors
    /// When git fails.
    pub fn changed_between(&self, commits: [&str; 2], dir: &Path) -> Result<Vec<ChangedFile>> {
        let [before, after] = commits.map(|id| Commit {
            name: id.to_owned(),
            id: Some(id.to_owned()),
        });
        let after = Snapshot::Commit(after);
        self.changed_files(&Comparison { before, after }, dir)
    }

    /// The files of a state below the folder or at the path `dir` (relative to the work tree).
    ///
    /// # Errors
    /// When git fails.
    pub fn files_of(&self, state: &Snapshot, dir: &Path) -> Result<Vec<(PathBuf, FileVersion)>> {
        let nothing = Commit {
            name: String::new(),
            id: None,
        };
        let comparison = Comparison {
            before: nothing,
            after: state.clone(),
        };
        Ok(self
            .changed_files(&comparison, dir)?
            .into_iter()
            .map(|file| (file.path, file.after))
            .collect())
    }

    /// The files below the folder `dir` that git does not track, ignored ones included.
    fn untracked(&self, dir: &Path) -> Result<Vec<PathBuf>> {
        let listing = self.ls_files(&["--others"], &[dir])?;
        Ok(paths::entries(&listing).map(paths::from_bytes).collect())
    }

    /// The commit that is checked out.
    fn head(&self) -> Result<Commit> {
        let name = "HEAD".to_owned();
        match self.head_commit() {
            Some(id) => Ok(Commit { name, id: Some(id) }),
            None if self.is_unborn()? => Ok(Commit { name, id: None }),
            None => self.named_commit(&name),
        }
    }

    /// Whether the branch that is checked out has no commit yet.
    fn is_unborn(&self) -> Result<bool> {
        let mut branch = self.git();
        branch.args(["symbolic-ref", "--quiet", "HEAD"]);
        let CommandResult::Success(branch) = run(&mut branch, b"")? else {
            return Ok(false);
        };
        let mut known = self.git();
        known.args(["show-ref", "--verify", "--quiet", "--"]);
        known.arg(line(branch)?);
        Ok(matches!(run(&mut known, b"")?, CommandResult::Failure(_)))
    }

    fn named_commit(&self, revision: &str) -> Result<Commit> {
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "--end-of-options"])
            .arg(format!("{revision}^{{commit}}"));
        let complaint = match run(&mut git, b"")? {
            CommandResult::Success(id) => {
                return Ok(Commit {
                    name: revision.to_owned(),
                    id: Some(line(id)?),
                });
            }
            CommandResult::Failure(failure) => failure.complaint,
        };
        let advice = if self.is_shallow() {
            "this clone is shallow: `git fetch --unshallow` gets its older commits"
        } else {
            "`git log --oneline --all` lists commits, and `git fetch` gets those of the remote \
             repository"
        };
        bail!(
            "{} names no commit: {}; {advice}",
            match revision {
                "" => "the empty text".to_owned(),
                revision => paths::shown(Path::new(revision)),
            },
            paths::shown(Path::new(&complaint))
        )
    }

    /// The last commit that two branches have in common.
    fn merge_base(&self, one: &Commit, other: &Commit) -> Result<String> {
        let ids = [one, other].map(|commit| commit.id.as_deref().unwrap_or_default());
        let mut git = self.git();
        git.arg("merge-base").args(ids);
        match run(&mut git, b"")? {
            CommandResult::Success(id) => line(id),
            CommandResult::Failure(_) => {
                let [one, other] = [one, other].map(|it| paths::shown(Path::new(&it.name)));
                let advice = if self.is_shallow() {
                    "this clone is shallow: `git fetch --unshallow` gets older commits"
                } else {
                    "compare them with two dots"
                };
                bail!("{one} and {other} have no common ancestor; {advice}")
            }
        }
    }
}

fn version(file: Option<&RawFile>) -> FileVersion {
    match file {
        None => FileVersion::Absent,
        Some(file) if file.is_regular() => FileVersion::Blob(file.id.clone()),
        Some(file) if file.mode == 0o120_000 => FileVersion::Link(file.id.clone()),
        Some(_) => FileVersion::Submodule,
    }
}

fn after(change: &RawChange, state: &Snapshot) -> FileVersion {
    let is_on_disk = *state == Snapshot::WorkTree;
    match &change.after {
        _ if change.is_unmerged && is_on_disk => FileVersion::OnDisk,
        _ if change.is_unmerged => FileVersion::Unmerged,
        Some(_) if is_on_disk => FileVersion::OnDisk,
        file => version(file.as_ref()),
    }
}
