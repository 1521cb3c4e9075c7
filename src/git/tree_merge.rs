//! Merges two commits in memory, file by file, and moves the current branch to the result. Until then, nothing in the
//! work tree and in the index changes, so that a kill leaves both as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::ancestors::Ancestor;
use super::command::{complete, output, succeeds};
use super::paths;
use super::raw_changes::{RAW, RawChange, RawFile, raw_changes};
use super::repository::{Repository, line};
use super::unmerged::index_line;

/// The content of a file in a base, in our version and in theirs.
pub type FileVersions = [Option<Vec<u8>>; 3];

/// Merges the versions of a file; `None` if the file is gone.
pub type MergeFile<'a> = &'a dyn Fn(&Path, &FileVersions) -> Result<Option<Vec<u8>>>;

/// The files that differ between two trees, by path.
type TreeChanges = BTreeMap<PathBuf, RawChange>;

impl Repository {
    /// Whether a commit is, or is an ancestor of, another one.
    ///
    /// # Errors
    /// When git cannot be run.
    pub fn contains(&self, commit: &str, ancestor: &str) -> Result<bool> {
        succeeds(
            self.git()
                .args(["merge-base", "--is-ancestor", ancestor, commit]),
        )
    }

    /// Merges the files of two commits into a new commit, and returns its id. A file that one side changed is that
    /// side's; `merge` gets one that both changed, and `merge_ancestors` one of several common ancestors. The commit is
    /// signed where git's configuration asks for it.
    ///
    /// # Errors
    /// When the commits have no common ancestor, git makes no commit, or `merge` or `merge_ancestors` fails. A shallow
    /// clone may lack the ancestor.
    pub fn merge_commits(
        &self,
        [ours, theirs]: [&str; 2],
        message: &str,
        merge: MergeFile<'_>,
        merge_ancestors: MergeFile<'_>,
    ) -> Result<String> {
        let ancestor = self.common_ancestor(&[ours.to_owned(), theirs.to_owned()], &mut 0)?;
        ensure!(
            ancestor.is_some() || self.is_shallow(),
            "the histories are unrelated; `git pull --no-rebase --allow-unrelated-histories` joins them on purpose"
        );
        let base = self.tree_of(ancestor.as_ref(), merge_ancestors)?;
        let tree = self.merge_trees(&base, [ours, theirs], merge)?;
        let mut git = self.user_command()?;
        git.args(["commit-tree", &tree, "-p", ours, "-p", theirs]);
        if self.is_configured("commit.gpgSign") {
            git.arg("--gpg-sign");
        }
        output(git.args(["-m", message]), b"").and_then(line)
    }

    /// The id of the tree or commit with the files of a common ancestor: of several, their merge; of none, no file.
    fn tree_of(&self, ancestor: Option<&Ancestor>, merge: MergeFile<'_>) -> Result<String> {
        match ancestor {
            None => self.empty_tree(),
            Some(Ancestor::Commit(commit)) => Ok(commit.clone()),
            Some(Ancestor::Merged { base, sides }) => {
                let tree = |ancestor| self.tree_of(ancestor, merge);
                let base = tree(base.as_deref())?;
                let [one, other] = [tree(Some(&sides[0]))?, tree(Some(&sides[1]))?];
                self.merge_trees(&base, [&one, &other], merge)
            }
        }
    }

    /// The id of the tree that merges two trees or commits.
    fn merge_trees(
        &self,
        base: &str,
        [ours, theirs]: [&str; 2],
        merge: MergeFile<'_>,
    ) -> Result<String> {
        let our_changes = self.changes(base, ours)?;
        let mut lines = vec![];
        for (path, changed) in self.changes(base, theirs)? {
            if changed.after.is_some() && clashes(&path, &our_changes) {
                bail!(
                    "{} is a file on one side and a folder on the other one",
                    paths::shown(&path)
                );
            }
            let file = match our_changes.get(&path) {
                None => changed.after,
                Some(ours) if ours.after == changed.after => continue,
                Some(ours) => {
                    let versions = [&changed.before, &ours.after, &changed.after];
                    self.merge_file(&path, versions, merge)?
                }
            };
            // A mode of 0 removes; only the length of the id counts.
            let removed = || (0, "0".repeat(ours.len()));
            let (mode, id) = file.map_or_else(removed, |file| (file.mode, file.id));
            lines.extend(index_line(mode, &id, &path));
        }
        let folder = urldb_files::temporary_folder().context("cannot make a temporary folder")?;
        let index = folder.path().join("index");
        let git = |words: &[&str]| {
            let mut git = self.git();
            git.args(["-c", "index.sparse=false", "-c", "core.splitIndex=false"])
                .args(words)
                .env("GIT_INDEX_FILE", &index);
            git
        };
        complete(&mut git(&["read-tree", ours]), b"")?;
        self.update_index(&index, &lines)?;
        output(&mut git(&["write-tree"]), b"").and_then(line)
    }

    /// The merge of the base and both versions of a file; `None` if it is gone.
    fn merge_file(
        &self,
        path: &Path,
        versions: [&Option<RawFile>; 3],
        merge: MergeFile<'_>,
    ) -> Result<Option<RawFile>> {
        let files = versions.iter().copied().flatten();
        ensure!(
            files.clone().all(RawFile::is_regular),
            "both sides changed {}, which is a link or a submodule: `git pull`",
            paths::shown(path)
        );
        let read = |file: &Option<RawFile>| {
            file.as_ref()
                .map(|file| self.read_blob(&file.id))
                .transpose()
        };
        let [base, ours, theirs] = versions.map(read);
        let Some(bytes) = merge(path, &[base?, ours?, theirs?])? else {
            return Ok(None);
        };
        let mode = versions[1]
            .as_ref()
            .or(versions[2].as_ref())
            .map_or(0o100_644, |file| file.mode);
        let id = self.write_blob(&bytes)?;
        Ok(Some(RawFile { mode, id }))
    }

    /// The files that differ between two trees or commits.
    fn changes(&self, from: &str, to: &str) -> Result<TreeChanges> {
        Ok(raw_changes(self.git().arg("diff-tree").args(RAW).args([
            "--ignore-submodules=none",
            from,
            to,
            "--",
        ]))?
        .into_iter()
        .map(|it| (it.path.clone(), it))
        .collect())
    }

    /// The files that differ between HEAD and a commit, and between HEAD and the work tree: a checkout of the commit
    /// would overwrite edits.
    ///
    /// # Errors
    /// When git fails.
    pub fn edited_before(&self, commit: &str) -> Result<Vec<PathBuf>> {
        let top = self.work_tree()?;
        let uncommitted = self.uncommitted_below(&[top.to_owned()], |_| true)?;
        let edited: BTreeSet<&Path> = uncommitted.paths().collect();
        Ok(self
            .changes("HEAD", commit)?
            .into_iter()
            .filter(|(path, changed)| {
                let is_new = changed.before.is_none() && urldb_files::is_there(&top.join(path));
                is_new || edited.contains(path.as_path())
            })
            .map(|(path, _)| path)
            .collect())
    }

    /// Moves the current branch, the index and the work tree forward to a commit that contains HEAD.
    ///
    /// # Errors
    /// When git refuses, as it does if the commit does not contain HEAD, or an edited file would be overwritten.
    pub fn fast_forward(&self, commit: &str) -> Result<()> {
        complete(
            self.user_command()?
                .args(["merge", "--quiet", "--ff-only", "--no-autostash", commit]),
            b"",
        )
    }
}

/// Whether a path is a folder of files that are there after changes, or is in the place of a folder with one.
fn clashes(path: &Path, changes: &TreeChanges) -> bool {
    let is_there = |change: &RawChange| change.after.is_some();
    let mut folders = path.ancestors().skip(1).filter_map(|it| changes.get(it));
    let mut files = changes
        .range(path.to_owned()..)
        .skip_while(|(other, _)| *other == path)
        .take_while(|(other, _)| other.starts_with(path));
    folders.any(is_there) || files.any(|(_, change)| is_there(change))
}
