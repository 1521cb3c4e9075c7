//! The operation that git is in the middle of, and the commits whose files it takes for the common
//! ancestor.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::command::{CommandResult, output, run};
use super::paths;
use super::repository::{Repository, line};
use super::unmerged::UnmergedFile;

use crate::limits;

/// An operation that stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Rebase,
    Am,
    Merge,
    CherryPick,
    Revert,
    Bisect,
    /// A conflict of an operation without a state, such as `git stash pop`.
    Unmerged,
}

impl Operation {
    /// The operation, and the command that ends it.
    fn sentence(self) -> String {
        let (name, command) = match self {
            Self::Rebase => ("a rebase", "rebase"),
            Self::Am => ("`git am`", "am"),
            Self::Merge => ("a merge", "merge"),
            Self::CherryPick => ("a cherry-pick", "cherry-pick"),
            Self::Revert => ("a revert", "revert"),
            Self::Bisect => {
                return "a bisection is in progress: end it with `git bisect reset`".to_owned();
            }
            Self::Unmerged => {
                return "files have unresolved conflicts: resolve each (`git status` lists them), \
                        and `git add` it"
                    .to_owned();
            }
        };
        format!(
            "{name} is in progress: finish it with `git {command} --continue`, or give it up with \
             `git {command} --abort`"
        )
    }
}

/// The file that the common ancestor of an unmerged file is a version of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ancestor {
    /// The file itself.
    ThisFile,
    /// A file of another name, as which git recognized the file: this one in the same folder, if there is
    /// only one.
    OtherFile(Option<PathBuf>),
    /// Git does not tell.
    Unknown,
}

impl Repository {
    /// Checks that git is in the middle of no operation: a commit in between would end it, or become a
    /// part of it.
    ///
    /// # Errors
    /// When an operation is in progress, or files are unmerged; the message says how to end that.
    pub fn ensure_idle(&self) -> Result<()> {
        let Some(operation) = self.operation()? else {
            return Ok(());
        };
        bail!(
            "in {}, {}",
            paths::shown(self.work_tree()?),
            operation.sentence()
        )
    }

    fn operation(&self) -> Result<Option<Operation>> {
        let has = |name: &str| urldb_files::is_there(&self.git_dir().join(name));
        Ok(if has("rebase-apply/applying") {
            Some(Operation::Am)
        } else if has("rebase-apply") || has("rebase-merge") {
            Some(Operation::Rebase)
        } else if has("MERGE_HEAD") {
            Some(Operation::Merge)
        } else if self.has_commit("CHERRY_PICK_HEAD") {
            Some(Operation::CherryPick)
        } else if self.has_commit("REVERT_HEAD") {
            Some(Operation::Revert)
        } else if has("sequencer/todo") {
            Some(self.of_sequencer())
        } else if has("BISECT_LOG") {
            Some(Operation::Bisect)
        } else if !self.unmerged(Path::new(""))?.is_empty() {
            Some(Operation::Unmerged)
        } else {
            None
        })
    }

    /// The operation whose further commits wait: each line of the list begins with its name.
    fn of_sequencer(&self) -> Operation {
        let todo =
            urldb_files::read_to_string(&self.git_dir().join("sequencer/todo"), limits::GIT_FILE);
        if todo.is_ok_and(|todo| todo.starts_with("revert")) {
            Operation::Revert
        } else {
            Operation::CherryPick
        }
    }

    /// Whether git has set a name such as `REVERT_HEAD`, which need not be a file.
    fn has_commit(&self, name: &str) -> bool {
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "--quiet", name]);
        matches!(run(&mut git, b""), Ok(CommandResult::Success(_)))
    }

    /// The file that the common ancestor of an unmerged file, which one side lacks, is a version of.
    ///
    /// # Errors
    /// When git fails.
    pub fn ancestor_of(&self, file: &UnmergedFile) -> Result<Ancestor> {
        let [Some(base), ours, theirs] = &file.stages else {
            return Ok(Ancestor::Unknown);
        };
        let commits = self.ancestors()?;
        // Git removes a file by itself that one side removed and the other side left as it was.
        let is_unchanged = ours.as_ref().or(theirs.as_ref()) == Some(base);
        if commits.is_empty() && !is_unchanged {
            return Ok(Ancestor::Unknown);
        }
        let mut others = vec![];
        for commit in &commits {
            let mut git = self.git();
            git.env("GIT_LITERAL_PATHSPECS", "1")
                .args(["ls-tree", "-z", "--full-tree", commit, "--"])
                .arg(folder_pattern(&file.path));
            let listing = output(&mut git, b"")?;
            let entries = listing.split(|byte| *byte == 0);
            for (path, id) in entries.filter_map(parse_entry) {
                let is_version = id == base.id;
                if path == file.path && !is_unchanged {
                    // The ancestor of several commits may be a merge of theirs.
                    return Ok(if is_version {
                        Ancestor::ThisFile
                    } else {
                        Ancestor::Unknown
                    });
                }
                if is_version && path != file.path && !others.contains(&path) {
                    others.push(path);
                }
            }
        }
        let is_known = others.len() == 1;
        Ok(Ancestor::OtherFile(others.pop().filter(|_| is_known)))
    }

    /// The commits whose files the operation in progress takes for the common ancestor; none if git does
    /// not tell, as in `git stash pop`.
    fn ancestors(&self) -> Result<Vec<String>> {
        let merged =
            urldb_files::read_to_string(&self.git_dir().join("MERGE_HEAD"), limits::GIT_FILE);
        let merged = merged.unwrap_or_default();
        let questions = match merged.lines().next() {
            Some(_) => merged
                .lines()
                .map(|head| vec!["merge-base", "--all", "HEAD", head])
                .collect(),
            None => vec![
                vec!["rev-parse", "--verify", "--quiet", "REVERT_HEAD"],
                vec!["rev-parse", "--revs-only", "CHERRY_PICK_HEAD^@"],
                vec!["rev-parse", "--revs-only", "REBASE_HEAD^@"],
            ],
        };
        let mut commits = vec![];
        for question in questions {
            if let CommandResult::Success(answer) = run(self.git().args(question), b"")? {
                let answer = line(answer)?;
                commits.extend(answer.lines().map(str::to_owned));
            }
        }
        Ok(commits)
    }
}

/// The folder of a file, for `git ls-tree`: everything directly in it.
fn folder_pattern(path: &Path) -> PathBuf {
    match path.parent() {
        // With a slash at its end, the folder itself is not listed.
        Some(folder) if !folder.as_os_str().is_empty() => folder.join(""),
        _ => PathBuf::from("."),
    }
}

/// Reads `MODE TYPE ID\tPATH`.
fn parse_entry(entry: &[u8]) -> Option<(PathBuf, String)> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let id = std::str::from_utf8(&entry[..tab]).ok()?.split(' ').nth(2)?;
    Some((paths::from_bytes(&entry[tab + 1..]), id.to_owned()))
}
