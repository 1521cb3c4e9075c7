//! Merges two commits in memory, file by file, and moves the current branch to the result. Until then, nothing in the
//! work tree and in the index changes, so that a kill leaves both as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use git2::{Delta, Index, IndexEntry, IndexTime, Oid, Tree};

use super::ancestors::Ancestor;
use super::command::{CommandResult, complete, output, run};
use super::paths;
use super::repository::{Repository, line};

/// The content of a file in a base, in our version and in theirs.
pub type FileVersions = [Option<Vec<u8>>; 3];

/// Merges the versions of a file; `None` if the file is gone.
pub type MergeFile<'a> = &'a dyn Fn(&Path, &FileVersions) -> Result<Option<Vec<u8>>>;

/// A file in a tree: its blob, and its mode.
type TreeFile = (Oid, u32);

/// The files that differ between two trees, by path, as the second tree has them.
type ChangedFiles = BTreeMap<Vec<u8>, Option<TreeFile>>;

impl Repository {
    /// Whether a commit is, or is an ancestor of, another one.
    ///
    /// # Errors
    /// When git cannot be run.
    pub fn contains(&self, commit: &str, ancestor: &str) -> Result<bool> {
        let mut git = self.git();
        git.args(["merge-base", "--is-ancestor", ancestor, commit]);
        Ok(matches!(run(&mut git, b"")?, CommandResult::Success(_)))
    }

    /// Merges the files of two commits into a new commit, and returns its id. A file that one side changed is that
    /// side's; `merge` gets one that both changed, and `merge_ancestors` one of several common ancestors.
    ///
    /// # Errors
    /// When libgit2 refuses the repository, the commits have no common ancestor, git makes no commit, or `merge` or
    /// `merge_ancestors` fails. A shallow clone may lack the ancestor.
    pub fn merge_commits(
        &self,
        [ours, theirs]: [&str; 2],
        message: &str,
        merge: MergeFile<'_>,
        merge_ancestors: MergeFile<'_>,
    ) -> Result<String> {
        let lib = self.lib().context("libgit2 cannot read this repository")?;
        let ancestor = self.common_ancestor(&[ours.to_owned(), theirs.to_owned()], &mut 0)?;
        ensure!(
            ancestor.is_some() || self.is_shallow(),
            "the histories are unrelated; `git pull --no-rebase --allow-unrelated-histories` joins them on purpose"
        );
        let base = ancestor.map(|it| self.tree_of(lib, &it, merge_ancestors));
        let base = base.transpose()?;
        let sides = [tree_of_commit(lib, ours)?, tree_of_commit(lib, theirs)?];
        let tree = self.merge_trees(lib, base.as_ref(), sides.each_ref(), merge)?;
        let tree = tree.id().to_string();
        let mut git = self.user_command()?;
        git.args(["commit-tree", &tree, "-p", ours, "-p", theirs])
            .args(["-m", message]);
        output(&mut git, b"").and_then(line)
    }

    /// The tree of a common ancestor: of several, their merge.
    fn tree_of<'a>(
        &self,
        lib: &'a git2::Repository,
        ancestor: &Ancestor,
        merge: MergeFile<'_>,
    ) -> Result<Tree<'a>> {
        match ancestor {
            Ancestor::Commit(commit) => tree_of_commit(lib, commit),
            Ancestor::Merged { base, sides } => {
                let tree = |ancestor| self.tree_of(lib, ancestor, merge);
                let base = base.as_deref().map(tree).transpose()?;
                let sides = [tree(&sides[0])?, tree(&sides[1])?];
                self.merge_trees(lib, base.as_ref(), sides.each_ref(), merge)
            }
        }
    }

    fn merge_trees<'a>(
        &self,
        lib: &'a git2::Repository,
        base: Option<&Tree<'a>>,
        [ours, theirs]: [&Tree<'a>; 2],
        merge: MergeFile<'_>,
    ) -> Result<Tree<'a>> {
        let ours_changed = changed(lib, base, ours)?;
        let mut merged = Index::new()?;
        merged.read_tree(ours)?;
        for (path, their_file) in changed(lib, base, theirs)? {
            let file = match ours_changed.get(&path) {
                None => their_file,
                Some(our_file) if *our_file == their_file => continue,
                Some(our_file) => {
                    let name = paths::from_bytes(&path);
                    let base = base.and_then(|base| base.get_path(&name).ok());
                    let base = base.map(|entry| entry.id());
                    let ids = [base, our_file.map(|it| it.0), their_file.map(|it| it.0)];
                    let versions =
                        ids.map(|id| id.map(|id| self.read_blob(&id.to_string())).transpose());
                    let [base, ours, theirs] = versions;
                    let bytes = merge(&name, &[base?, ours?, theirs?])?;
                    let mode = our_file.or(their_file).map_or(0o100_644, |it| it.1);
                    bytes
                        .map(|bytes| lib.blob(&bytes))
                        .transpose()?
                        .map(|id| (id, mode))
                }
            };
            match file {
                Some(file) => merged.add(&entry(path, file))?,
                None => merged.remove(&paths::from_bytes(&path), 0)?,
            }
        }
        Ok(lib.find_tree(merged.write_tree_to(lib)?)?)
    }

    /// The files that differ between HEAD and a commit, and between HEAD and the work tree: a checkout of the commit
    /// would overwrite edits.
    ///
    /// # Errors
    /// When git fails.
    pub fn edited_before(&self, commit: &str) -> Result<Vec<PathBuf>> {
        let mut git = self.git();
        git.args([
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--name-status",
            "HEAD",
            commit,
            "--",
        ]);
        let listing = output(&mut git, b"")?;
        let mut words = listing
            .split(|byte| *byte == 0)
            .filter(|word| !word.is_empty());
        let edited = self.uncommitted_paths()?;
        let top = self.work_tree()?;
        let mut files = vec![];
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            let path = paths::from_bytes(path);
            let is_new = status == b"A" && urldb_files::is_there(&top.join(&path));
            if is_new || edited.contains(&path) {
                files.push(path);
            }
        }
        Ok(files)
    }

    fn uncommitted_paths(&self) -> Result<BTreeSet<PathBuf>> {
        let files = self.uncommitted_below(&[self.work_tree()?.to_owned()], |_| true)?;
        Ok(files.paths().map(Path::to_owned).collect())
    }

    /// Moves the current branch, the index and the work tree forward to a commit that contains HEAD.
    ///
    /// # Errors
    /// When git refuses, as it does if the commit does not contain HEAD, or an edited file would be overwritten.
    pub fn fast_forward(&self, commit: &str) -> Result<()> {
        let mut git = self.user_command()?;
        git.args(["merge", "--quiet", "--ff-only", "--no-autostash", commit]);
        complete(&mut git, b"")
    }
}

fn tree_of_commit<'a>(lib: &'a git2::Repository, commit: &str) -> Result<Tree<'a>> {
    Ok(lib.find_commit(Oid::from_str(commit)?)?.tree()?)
}

fn changed(lib: &git2::Repository, from: Option<&Tree<'_>>, to: &Tree<'_>) -> Result<ChangedFiles> {
    let diff = lib.diff_tree_to_tree(from, Some(to), None)?;
    let files = diff.deltas().filter_map(|delta| {
        let (old, new) = (delta.old_file(), delta.new_file());
        let path = new.path_bytes().or_else(|| old.path_bytes())?.to_vec();
        let is_there = delta.status() != Delta::Deleted;
        Some((path, is_there.then(|| (new.id(), new.mode().into()))))
    });
    Ok(files.collect())
}

fn entry(path: Vec<u8>, (id, mode): TreeFile) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path,
    }
}
