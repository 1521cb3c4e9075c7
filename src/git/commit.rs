//! Commits files of the work tree, as a user would: with the user's hooks and signing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::command::{CommandResult, GitFailure, command, complete, output, run, run_whole};
use super::inspection::version;
use super::paths;
use super::repository::{Repository, line};

/// Variables by which a user changes the meaning of path patterns.
const PATHSPECS: [&str; 4] = [
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// The first version of git that adds files outside of a sparse checkout only with `--sparse`.
const ADDS_OUTSIDE: [u32; 3] = [2, 34, 0];

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// The abbreviated id.
    pub id: String,
    /// The number of files in the commit.
    pub files: usize,
    /// The output of git and of the user's hooks.
    pub printed: String,
}

/// A file that differs from the last commit.
struct UncommittedFile {
    path: PathBuf,
    is_tracked: bool,
}

/// Files that differ from the last commit, relative to the work tree.
#[derive(Default)]
pub struct UncommittedFiles {
    files: BTreeSet<PathBuf>,
    /// Those of the files that git does not track yet.
    new: BTreeSet<PathBuf>,
    /// The files, or folders in which no other file differs.
    patterns: BTreeSet<PathBuf>,
}

/// Most files of a folder that are named one by one: git compares each name with each file that it tracks.
const MOST_PATTERNS: usize = 500;

impl UncommittedFiles {
    /// The paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }
}

impl Repository {
    /// Checks that git can make a commit, before anything is written. [`Self::ensure_idle`] is not asked
    /// before the commit: what is written does not depend on it.
    ///
    /// # Errors
    /// When there is no work tree, git cannot be run, or knows no author.
    pub fn ensure_can_commit(&self) -> Result<()> {
        self.work_tree()?;
        for identity in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            output(self.git().args(["var", identity]), b"")
                .context("git cannot make a commit here")?;
        }
        Ok(())
    }

    /// Commits these files as they are on disk, whatever is staged, and nothing else; other staged
    /// changes stay staged. `None` if all of them are as in the last commit.
    ///
    /// # Errors
    /// When git ignores a file, is in the middle of a merge or the like, or refuses the commit, or a hook
    /// does. The files stay as they are, and the index gets back its entries.
    pub fn commit_files(&self, files: &[PathBuf], message: &str) -> Result<Option<NewCommit>> {
        let mut named = BTreeSet::new();
        for file in files {
            named.insert(self.relative(file)?);
        }
        let folders: BTreeSet<PathBuf> = named
            .iter()
            .filter_map(|file| file.parent())
            .map(Path::to_owned)
            .collect();
        let changes = self.changes_below(folders, |path| named.contains(path))?;
        for file in &changes.files {
            named.remove(file);
        }
        if let Some(ignored) = self.ignored(&named)?.first() {
            bail!(
                "git ignores {}: remove it from .gitignore, or leave out --commit",
                paths::shown(ignored)
            );
        }
        self.commit_changes(&changes, message)
    }

    /// The files below the folders `dirs` that differ from the last commit and are wanted by path (relative to the
    /// work tree), except ignored ones.
    ///
    /// # Errors
    /// When git fails, or a folder is outside of the work tree.
    pub fn uncommitted_below(
        &self,
        dirs: &[PathBuf],
        wants: impl Fn(&Path) -> bool,
    ) -> Result<UncommittedFiles> {
        let dirs: Result<BTreeSet<PathBuf>> = dirs.iter().map(|dir| self.relative(dir)).collect();
        self.changes_below(dirs?, wants)
    }

    /// Whether git ignores everything new at `path`, which need not exist. A tracked file is not ignored.
    ///
    /// # Errors
    /// When git fails, or the path is outside of the work tree.
    pub fn ignores(&self, path: &Path) -> Result<bool> {
        let named = BTreeSet::from([self.relative(path)?]);
        Ok(!self.ignored(&named)?.is_empty())
    }

    /// The wanted files below the folders that differ from the last commit.
    fn changes_below(
        &self,
        dirs: BTreeSet<PathBuf>,
        wants: impl Fn(&Path) -> bool,
    ) -> Result<UncommittedFiles> {
        let mut changes = UncommittedFiles::default();
        for dir in dirs {
            let found = self.uncommitted(&dir)?;
            let are_all_wanted = found.iter().all(|file| wants(&file.path));
            let is_large = are_all_wanted && found.len() > MOST_PATTERNS;
            for file in found.into_iter().filter(|file| wants(&file.path)) {
                if !is_large {
                    changes.patterns.insert(file.path.clone());
                }
                if !file.is_tracked {
                    changes.new.insert(file.path.clone());
                }
                changes.files.insert(file.path);
            }
            if is_large {
                changes.patterns.insert(dir);
            }
        }
        Ok(changes)
    }

    /// Commits these files as they are on disk, as [`Self::commit_files`].
    ///
    /// # Errors
    /// As [`Self::commit_files`], but for ignored files.
    pub fn commit_changes(
        &self,
        changes: &UncommittedFiles,
        message: &str,
    ) -> Result<Option<NewCommit>> {
        if changes.files.is_empty() {
            return Ok(None);
        }
        self.ensure_idle()?;
        if !changes.new.is_empty() {
            // A commit of named files takes only files that the index knows.
            let mut add = self.command_of_commits()?;
            add.args(["add", "--intent-to-add"]);
            // A new file may be where a sparse checkout leaves out files.
            if self.is_sparse() && version()? >= ADDS_OUTSIDE {
                add.arg("--sparse");
            }
            add.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
            complete(&mut add, &literal_patterns(&changes.patterns))?;
        }
        let committed = self.commit_patterns(&changes.patterns, message);
        if committed.is_err() && !changes.new.is_empty() {
            let mut forget = self.git_update_index();
            forget.args(["--force-remove", "-z", "--stdin"]);
            // The user needs the error of the commit, not that of the repair.
            let _ = complete(&mut forget, &nul_separated(&changes.new));
        }
        committed.map(|printed| {
            Some(NewCommit {
                id: self.short_head().unwrap_or_default(),
                files: changes.files.len(),
                printed,
            })
        })
    }

    /// Runs `git commit`, and returns its output.
    fn commit_patterns(&self, patterns: &BTreeSet<PathBuf>, message: &str) -> Result<String> {
        let mut git = self.command_of_commits()?;
        git.args(["commit", "--quiet", "--only", "--message", message]);
        git.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        let done = run_whole(&mut git, &literal_patterns(patterns))?;
        let printed = [done.stdout, done.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).trim_end().to_owned();
        if done.status.success() {
            return Ok(printed);
        }
        if printed.is_empty() {
            bail!("`git commit` ended with {}", done.status);
        }
        bail!("`git commit` refused:\n{printed}")
    }

    /// A command as [`Self::user_command`], with all files in the index: git (seen with 2.47) crashes when it adds or
    /// commits files outside of a sparse checkout with a sparse index.
    fn command_of_commits(&self) -> Result<Command> {
        let mut git = self.user_command()?;
        if self.is_sparse() {
            git.args(["-c", "index.sparse=false"]);
        }
        Ok(git)
    }

    /// Whether the work tree is a sparse checkout.
    pub(super) fn is_sparse(&self) -> bool {
        urldb_files::is_file(&self.git_dir().join("info/sparse-checkout"))
            && self.is_configured("core.sparseCheckout")
    }

    /// A `git` command as the user would type it at the top of the work tree: hooks get the
    /// environment that they always get.
    pub(super) fn user_command(&self) -> Result<Command> {
        let mut git = command(self.work_tree()?);
        git.envs(self.env().iter()).env_remove("GIT_PREFIX");
        for name in PATHSPECS {
            git.env_remove(name);
        }
        Ok(git)
    }

    /// The files below the folder `dir` (relative to the work tree) that differ from the last commit.
    fn uncommitted(&self, dir: &Path) -> Result<Vec<UncommittedFile>> {
        let listing = output(
            self.git()
                .env("GIT_LITERAL_PATHSPECS", "1")
                .env("GIT_OPTIONAL_LOCKS", "0")
                .args(["status", "--porcelain=v1", "-z", "--no-renames"])
                .args(["--untracked-files=all", "--ignore-submodules=all", "--"])
                .arg(paths::pathspec(dir)),
            b"",
        )?;
        Ok(paths::entries(&listing)
            .filter_map(|entry| match entry {
                [index, _, b' ', path @ ..] => Some(UncommittedFile {
                    path: paths::from_bytes(path),
                    is_tracked: *index != b'?',
                }),
                _ => None,
            })
            .collect())
    }

    /// Those of the paths that git ignores and does not track.
    fn ignored(&self, paths: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
        if paths.is_empty() {
            return Ok(vec![]);
        }
        let mut git = self.git();
        git.args(["check-ignore", "-z", "--stdin"]);
        let listing = match run(&mut git, &nul_separated(paths))? {
            CommandResult::Success(listing) => listing,
            // Git ignores none of them.
            CommandResult::Failure(GitFailure { code: Some(1), .. }) => return Ok(vec![]),
            CommandResult::Failure(failure) => {
                bail!("`git check-ignore` failed: {}", failure.complaint)
            }
        };
        Ok(paths::entries(&listing).map(paths::from_bytes).collect())
    }

    /// The id of the commit that is checked out, as git shortens it.
    ///
    /// # Errors
    /// When git fails, as without a commit.
    pub fn short_head(&self) -> Result<String> {
        output(self.git().args(["rev-parse", "--short", "HEAD"]), b"").and_then(line)
    }
}

/// The paths, each ended by a NUL.
fn nul_separated(paths: &BTreeSet<PathBuf>) -> Vec<u8> {
    paths
        .iter()
        .map(|path| paths::to_bytes(path))
        .flat_map(|path| [path, vec![0]].concat())
        .collect()
}

/// Patterns that match exactly these files, or all files below these folders, each ended by a NUL. A
/// variable in place of the prefix would reach the user's hooks.
fn literal_patterns(paths: &BTreeSet<PathBuf>) -> Vec<u8> {
    paths
        .iter()
        .map(|path| paths::to_bytes(path))
        .flat_map(|path| [b":(top,literal)".to_vec(), path, vec![0]].concat())
        .collect()
}
