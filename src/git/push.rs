//! Brings commits to the remote repository that a branch follows, and the other way round.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use urldb_process::ProcessGroup;

use super::command::{CommandResult, output, run};
use super::repository::{Repository, line};

/// Longest time that git may talk to a remote repository.
const LIMIT: Duration = Duration::from_mins(2);

/// The branch of a remote repository that the current branch follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The name or the address of the remote repository.
    pub remote: String,
    /// The full name of the branch there.
    pub branch: String,
}

impl Upstream {
    /// The name of the branch for people.
    pub fn short_branch(&self) -> &str {
        self.branch.trim_start_matches("refs/heads/")
    }
}

impl Repository {
    /// The branch that the current branch follows; `None` without one, and if no branch is checked out.
    ///
    /// # Errors
    /// When git cannot be run.
    pub fn upstream(&self) -> Result<Option<Upstream>> {
        let read = |words: &[&str]| {
            Ok::<_, anyhow::Error>(match run(self.git().args(words), b"")? {
                CommandResult::Success(text) => Some(line(text)?),
                CommandResult::Failure(_) => None,
            })
        };
        let Some(here) = read(&["symbolic-ref", "--quiet", "--short", "HEAD"])? else {
            return Ok(None);
        };
        let remote = read(&["config", "--get", &format!("branch.{here}.remote")])?;
        let branch = read(&["config", "--get", &format!("branch.{here}.merge")])?;
        Ok(remote
            .zip(branch)
            .map(|(remote, branch)| Upstream { remote, branch }))
    }

    /// Makes a commit the last one of the followed branch. `commit` is an id, or `HEAD`.
    ///
    /// # Errors
    /// When the remote repository cannot be reached within two minutes, or refuses, as it does if it has
    /// commits that are missing in `commit`.
    pub fn push(&self, upstream: &Upstream, commit: &str) -> Result<()> {
        let refspec = format!("{commit}:{}", upstream.branch);
        self.talk(&["push", "--quiet", "--", &upstream.remote, &refspec])
    }

    /// Fetches the followed branch, and returns the id of its last commit.
    ///
    /// # Errors
    /// When the remote repository cannot be reached within two minutes, or has no such branch.
    pub fn fetch(&self, upstream: &Upstream) -> Result<String> {
        let Upstream { remote, branch } = upstream;
        self.talk(&["fetch", "--quiet", "--no-tags", "--", remote, branch])?;
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}"]);
        output(&mut git, b"").and_then(line)
    }

    /// Runs git without a terminal to ask for a password on. At the time limit, git and its helpers are
    /// killed.
    fn talk(&self, words: &[&str]) -> Result<()> {
        let mut git = self.user_command()?;
        git.args(words)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let name = words.first().copied().unwrap_or_default();
        let done = within(git, LIMIT).with_context(|| format!("cannot run `git {name}`"))?;
        let Some(done) = done else {
            bail!("`git {name}` did not end within two minutes");
        };
        if !done.status.success() {
            let complaint = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            bail!("`git {name}` failed:\n{complaint}");
        }
        Ok(())
    }
}

/// The output of a command; `None` if it was killed at the time limit.
fn within(command: Command, limit: Duration) -> std::io::Result<Option<std::process::Output>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // The group is killed when it is dropped.
        let (child, _group) = ProcessGroup::spawn(&mut command.into())?;
        match tokio::time::timeout(limit, child.wait_with_output()).await {
            Ok(done) => done.map(Some),
            Err(_) => Ok(None),
        }
    })
}
