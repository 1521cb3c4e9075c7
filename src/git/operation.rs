//! The operation that git is in the middle of.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail};
use urldb_files::write_atomically;

use super::command::{complete, output, succeeds};
use super::paths;
use super::repository::{Repository, line};

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
        let command = self.command().unwrap_or_default();
        let name = match self {
            Self::Am => "`git am`".to_owned(),
            Self::Bisect => {
                return "a bisection is in progress: end it with `git bisect reset`".to_owned();
            }
            Self::Unmerged => {
                return "files have unresolved conflicts: resolve each (`git status` lists them), \
                        and `git add` it"
                    .to_owned();
            }
            _ => format!("a {command}"),
        };
        format!(
            "{name} is in progress: finish it with `git {command} --continue`, or give it up with \
             `git {command} --abort`"
        )
    }

    /// The command of git that a commit ends or takes further.
    fn command(self) -> Option<&'static str> {
        match self {
            Self::Rebase => Some("rebase"),
            Self::Am => Some("am"),
            Self::Merge => Some("merge"),
            Self::CherryPick => Some("cherry-pick"),
            Self::Revert => Some("revert"),
            Self::Bisect | Self::Unmerged => None,
        }
    }
}

impl Repository {
    /// Commits with the message that git has prepared, and lets the merge, rebase or the like go on. Returns the new
    /// commit, its id and its subject; `None` if nothing of the kind is in progress.
    ///
    /// # Errors
    /// When files are still unmerged, a hook refuses, or git stops at the next conflict.
    pub fn go_on(&self) -> Result<Option<String>> {
        let Some(command) = self.operation()?.and_then(Operation::command) else {
            return Ok(None);
        };
        let mut git = self.user_command()?;
        // Git takes the message as it is, without its comments.
        git.env("GIT_EDITOR", "true").args([command, "--continue"]);
        complete(&mut git, b"").with_context(|| format!("`git {command} --continue` stopped"))?;
        output(self.git().args(["log", "-1", "--format=%h %s"]), b"")
            .and_then(line)
            .map(Some)
    }

    /// Checks that git is in the middle of no operation: a commit in between would end it, or become a
    /// part of it.
    ///
    /// # Errors
    /// When an operation is in progress, or files are unmerged; the message says how to end that.
    pub fn ensure_idle(&self) -> Result<()> {
        if let Some(operation) = self.operation()? {
            let top = paths::shown(self.work_tree()?);
            bail!("in {top}, {}", operation.sentence());
        }
        Ok(())
    }

    /// Adds lines to the message that git has prepared for the commit which ends a merge, a cherry-pick or a revert;
    /// nothing if it has prepared none.
    ///
    /// # Errors
    /// When the file of the message cannot be read or written.
    pub fn add_to_message(&self, lines: &[String]) -> Result<()> {
        let file = self.git_dir().join("MERGE_MSG");
        let text = match urldb_files::read_to_string(&file, limits::GIT_FILE) {
            _ if lines.is_empty() => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            text => text.context("cannot read the message of the merge")?,
        };
        // Below, git lists the conflicts.
        let comments = text.find("\n#").map_or(text.len(), |at| at + 1);
        let (message, comments) = text.split_at(comments);
        let text = format!("{}\n\n{}\n{comments}", message.trim_end(), lines.join("\n"));
        write_atomically(&file, text.as_bytes()).context("cannot write the message of the merge")
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
        let todo = self.git_dir().join("sequencer/todo");
        if urldb_files::read_to_string(&todo, limits::GIT_FILE)
            .is_ok_and(|todo| todo.starts_with("revert"))
        {
            Operation::Revert
        } else {
            Operation::CherryPick
        }
    }

    /// Whether git has set a name such as `REVERT_HEAD`, which need not be a file.
    fn has_commit(&self, name: &str) -> bool {
        succeeds(self.git().args(["rev-parse", "--verify", "--quiet", name])).unwrap_or_default()
    }
}
