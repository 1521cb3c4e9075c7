//! The common ancestors of the two sides of an operation, and the base of each of its unmerged files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use git2::{ErrorCode, Oid};

use super::command::{CommandResult, run};
use super::repository::{Repository, line};
use super::unmerged::UnmergedFile;

use crate::limits;

/// The most merges of common ancestors. In histories of others each of two ancestors may have two again.
const MOST_MERGES: usize = 32;

/// The common ancestor of the two sides of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ancestor {
    /// A commit, by its id.
    Commit(String),
    /// The merge of two of several common ancestors, after a criss-cross merge.
    Merged {
        /// The common ancestor of the two; `None` if they have none.
        base: Option<Box<Self>>,
        /// The two.
        sides: [Box<Self>; 2],
    },
}

/// The base of an unmerged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// The file in the common ancestor; `None` if it lacks the file.
    File(Option<Vec<u8>>),
    /// A version of a file of another name, for which git took the file: this one in the same folder, if
    /// there is only one.
    OtherFile(Option<PathBuf>),
    /// Git tells only the version, as in `git stash pop`.
    Unknown,
}

/// Merges three versions of a file, its base first; `None` is a version without the file.
pub type MergeVersions<'a> = &'a dyn Fn([Option<Vec<u8>>; 3]) -> Option<Vec<u8>>;

impl Repository {
    /// The possible common ancestors of the operation in progress: one, or the parents of the commit that
    /// is picked, of which git does not remember the right one; none if git does not tell.
    ///
    /// # Errors
    /// When git fails.
    pub fn ancestors(&self) -> Result<Vec<Ancestor>> {
        let merged =
            urldb_files::read_to_string(&self.git_dir().join("MERGE_HEAD"), limits::GIT_FILE)
                .unwrap_or_default();
        if let Some(last) = merged.lines().last() {
            // An octopus merges one branch after the other into the result so far.
            let mut commits = vec![last.to_owned()];
            commits.extend(self.head_commit());
            commits.extend(merged.lines().map(str::to_owned));
            commits.pop();
            let ancestor = self.common_ancestor(&commits, &mut 0)?;
            return Ok(ancestor.into_iter().collect());
        }
        let mut commits = self.commits_of("REVERT_HEAD")?;
        for picked in ["CHERRY_PICK_HEAD^@", "REBASE_HEAD^@"] {
            for parent in self.commits_of(picked)? {
                if !commits.contains(&parent) {
                    commits.push(parent);
                }
            }
        }
        Ok(commits.into_iter().map(Ancestor::Commit).collect())
    }

    /// The base of an unmerged file. `merge` merges the versions of the file in several common ancestors.
    ///
    /// # Errors
    /// When git fails.
    pub fn base_of(
        &self,
        file: &UnmergedFile,
        ancestors: &[Ancestor],
        merge: MergeVersions,
    ) -> Result<Base> {
        let [stage, ours, theirs] = &file.stages;
        let only_side = ours.as_ref().xor(theirs.as_ref());
        // Git removes a file by itself that one side removed and the other side left as it was.
        let is_renamed = only_side.is_some() && only_side == stage.as_ref();
        let mut has_file = false;
        for ancestor in ancestors.iter().filter(|_| !is_renamed) {
            if !self.has_file(ancestor, &file.path)? {
                continue;
            }
            has_file = true;
            let version = self.file_in(ancestor, &file.path, merge)?;
            // Of several, the right one has the version that git took for the base.
            let stored = stage.as_ref().map(|it| self.read_blob(&it.id));
            if ancestors.len() == 1 || version == stored.transpose()? {
                return Ok(Base::File(version));
            }
        }
        if has_file {
            return Ok(Base::Unknown);
        }
        let mut others = BTreeSet::new();
        let folder = file.path.parent().unwrap_or(Path::new(""));
        let Some(stage) = stage
            .as_ref()
            .filter(|_| is_renamed || !ancestors.is_empty())
        else {
            return Ok(Base::Unknown);
        };
        for commit in ancestors.iter().flat_map(Ancestor::commits) {
            let files = self.folder_at(commit, folder)?;
            let same = files.iter().filter(|(_, id)| **id == stage.id);
            others.extend(same.map(|(name, _)| folder.join(name)));
        }
        others.remove(&file.path);
        let other = others.pop_first();
        Ok(Base::OtherFile(other.filter(|_| others.is_empty())))
    }

    /// Whether one of the commits of an ancestor has the file.
    fn has_file(&self, ancestor: &Ancestor, path: &Path) -> Result<bool> {
        for commit in ancestor.commits() {
            if self.blob_at(commit, path)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The file in a common ancestor; `None` if it lacks the file.
    fn file_in(
        &self,
        ancestor: &Ancestor,
        path: &Path,
        merge: MergeVersions,
    ) -> Result<Option<Vec<u8>>> {
        match ancestor {
            Ancestor::Commit(commit) => self
                .blob_at(commit, path)?
                .map(|id| self.read_blob(&id))
                .transpose(),
            Ancestor::Merged { base, sides } => {
                let file = |ancestor| self.file_in(ancestor, path, merge);
                let base = base.as_deref().map(file).transpose()?.flatten();
                Ok(merge([base, file(&sides[0])?, file(&sides[1])?]))
            }
        }
    }

    /// The common ancestor of the first commit and a merge of the others; `None` if they have none. Several
    /// common ancestors are merged, as long as `merges` is below its limit.
    pub(super) fn common_ancestor(
        &self,
        commits: &[String],
        merges: &mut usize,
    ) -> Result<Option<Ancestor>> {
        let mut bases = self.merge_bases(commits)?.into_iter();
        let Some(first) = bases.next() else {
            return Ok(None);
        };
        let mut done = vec![first.clone()];
        let mut ancestor = Ancestor::Commit(first);
        for base in bases {
            if *merges == MOST_MERGES {
                break;
            }
            *merges += 1;
            let sides = [std::slice::from_ref(&base), &done[..]].concat();
            ancestor = Ancestor::Merged {
                base: self.common_ancestor(&sides, merges)?.map(Box::new),
                sides: [ancestor, Ancestor::Commit(base.clone())].map(Box::new),
            };
            done.push(base);
        }
        Ok(Some(ancestor))
    }

    /// The ids of the best common ancestors of the first commit and a merge of the others, sorted.
    fn merge_bases(&self, commits: &[String]) -> Result<Vec<String>> {
        let ids: Result<Vec<Oid>, _> = commits.iter().map(|id| Oid::from_str(id)).collect();
        if let (Some(lib), Ok(ids)) = (self.lib(), ids) {
            match lib.merge_bases_many(&ids) {
                Ok(bases) => {
                    let mut bases: Vec<_> = bases.iter().map(Oid::to_string).collect();
                    bases.sort();
                    return Ok(bases);
                }
                Err(error) if error.code() == ErrorCode::NotFound => return Ok(vec![]),
                Err(_) => {}
            }
        }
        let mut bases = lines_of(self.git().args(["merge-base", "--all"]).args(commits))?;
        bases.sort();
        Ok(bases)
    }

    /// The ids of the commits that a name such as `REVERT_HEAD` stands for.
    fn commits_of(&self, name: &str) -> Result<Vec<String>> {
        lines_of(self.git().args(["rev-parse", "--revs-only", name]))
    }
}

impl Ancestor {
    /// The commits whose files it merges.
    fn commits(&self) -> Vec<&str> {
        match self {
            Self::Commit(commit) => vec![commit],
            Self::Merged { sides, .. } => sides.iter().flat_map(|side| side.commits()).collect(),
        }
    }
}

/// The lines that git printed; none if it failed.
fn lines_of(git: &mut Command) -> Result<Vec<String>> {
    Ok(match run(git, b"")? {
        CommandResult::Success(answer) => line(answer)?.lines().map(str::to_owned).collect(),
        CommandResult::Failure(_) => vec![],
    })
}
