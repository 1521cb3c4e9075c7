//! Brings commits to the remote repository that a branch follows, and the other way round.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::AsyncWriteExt as _;
use urldb_process::ProcessGroup;

use super::command::{CommandResult, complete, guarded, output, run};
use super::repository::{Repository, line};
use crate::stop::Stop;

/// Longest time that git may talk to a remote repository.
const LIMIT: Duration = Duration::from_mins(2);

/// Longest time that git gets to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Most bytes of the errors of git and of the remote repository that people see.
const MOST_COMPLAINT: u64 = 64 << 10;

/// Most former states of a branch that are looked at.
const MOST_FORMER: &str = "--max-count=1000";

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

    /// Makes a commit the last one of the followed branch, whose last commit is `former`; `None` if the remote
    /// repository has no such branch. `commit` is an id, or `HEAD`.
    ///
    /// # Errors
    /// When the remote repository cannot be reached within two minutes, or refuses, as it does if the branch has
    /// another last commit by now; and when `stop` is set.
    pub fn push(
        &self,
        upstream: &Upstream,
        commit: &str,
        former: Option<&str>,
        stop: &Stop,
    ) -> Result<()> {
        let Upstream { remote, branch } = upstream;
        let refspec = format!("{commit}:{branch}");
        let lease = format!("--force-with-lease={branch}:{}", former.unwrap_or_default());
        self.talk(&["push", "--quiet", &lease, "--", remote, &refspec], stop)
    }

    /// Fetches the followed branch, and returns the id of its last commit; `None` if the remote repository has no such
    /// branch. What git remembers of the branch stays as it is.
    ///
    /// # Errors
    /// When the remote repository cannot be reached within two minutes, and when `stop` is set.
    pub fn fetch(&self, upstream: &Upstream, stop: &Stop) -> Result<Option<String>> {
        let Upstream { remote, branch } = upstream;
        let words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--refmap=",
            "--",
            remote,
            branch,
        ];
        match self.talk(&words, stop) {
            Err(error) if error.to_string().contains("couldn't find remote ref") => {
                return Ok(None);
            }
            fetched => fetched?,
        }
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}"]);
        output(&mut git, b"").and_then(line).map(Some)
    }

    /// The commits of HEAD that the followed branch had, as far as git remembers, and that its last commit `theirs` does
    /// not have, the latest one first: somebody has rewritten the branch.
    ///
    /// # Errors
    /// When git fails.
    pub fn dropped(&self, theirs: Option<&str>) -> Result<Vec<String>> {
        let listed = |excluded: &[&str]| {
            let text = String::from_utf8(output(
                self.git()
                    .args(["rev-list", "--ignore-missing", "HEAD", "--not"])
                    .args(excluded),
                b"",
            )?)?;
            Ok::<_, anyhow::Error>(text.lines().map(str::to_owned).collect::<Vec<_>>())
        };
        let theirs: Vec<&str> = theirs.into_iter().collect();
        let mut dropped = listed(&theirs)?;
        if dropped.is_empty() {
            return Ok(dropped);
        }
        let former = self.former_heads()?;
        let former = former.iter().map(String::as_str);
        let own: BTreeSet<_> = listed(&former.chain(theirs).collect::<Vec<_>>())?
            .into_iter()
            .collect();
        dropped.retain(|commit| !own.contains(commit));
        Ok(dropped)
    }

    /// The commits that the followed branch has had, as far as git remembers.
    fn former_heads(&self) -> Result<Vec<String>> {
        let Some(name) = self.tracking_ref()? else {
            return Ok(vec![]);
        };
        let read = |git: &mut Command| {
            Ok::<_, anyhow::Error>(match run(git, b"")? {
                CommandResult::Success(text) => String::from_utf8(text)?,
                CommandResult::Failure(_) => String::new(),
            })
        };
        let mut former = read(self.git().args([
            "log",
            "--walk-reflogs",
            "--format=%H",
            MOST_FORMER,
            &name,
            "--",
        ]))?;
        // The commit before the first entry, and the one without any entry.
        for number in [former.lines().count(), 0] {
            let entry = if number == 0 {
                name.clone()
            } else {
                format!("{name}@{{{number}}}")
            };
            former += &read(
                self.git()
                    .args(["rev-parse", "--verify", "--quiet", &entry]),
            )?;
        }
        Ok(former.lines().map(str::to_owned).collect())
    }

    /// Notes the last commit of the followed branch, as `git fetch` does.
    ///
    /// # Errors
    /// When git fails.
    pub fn note_fetched(&self, commit: &str) -> Result<()> {
        let Some(name) = self.tracking_ref()? else {
            return Ok(());
        };
        complete(
            self.git()
                .args(["update-ref", "-m", "fetch by urldb", &name, commit]),
            b"",
        )
    }

    /// The reference by which git remembers the followed branch; `None` if the remote repository has no name.
    fn tracking_ref(&self) -> Result<Option<String>> {
        let mut git = self.git();
        git.args(["rev-parse", "--symbolic-full-name", "@{upstream}"]);
        Ok(match run(&mut git, b"")? {
            CommandResult::Success(name) => Some(line(name)?),
            CommandResult::Failure(_) => None,
        })
    }

    /// Runs git without a terminal to ask for a password on. At the time limit, and when `stop` is set, git and its
    /// helpers are ended.
    fn talk(&self, words: &[&str], stop: &Stop) -> Result<()> {
        let name = words.first().copied().unwrap_or_default();
        ensure!(!stop.is_set(), "`git {name}` was not started: interrupted");
        let mut errors = urldb_files::unnamed_file().context("cannot make a temporary file")?;
        let mut git = self.user_command()?;
        git.args(words)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0");
        let mut git = guarded(&git);
        git.stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(errors.try_clone()?);
        let status =
            within(git, LIMIT, stop).with_context(|| format!("cannot run `git {name}`"))?;
        let Some(status) = status else {
            if stop.is_set() {
                bail!("`git {name}` was interrupted");
            }
            bail!("`git {name}` did not end within two minutes");
        };
        if !status.success() {
            let mut complaint = vec![];
            errors.rewind()?;
            errors.take(MOST_COMPLAINT).read_to_end(&mut complaint)?;
            let complaint = String::from_utf8_lossy(&complaint);
            bail!("`git {name}` failed:\n{}", complaint.trim());
        }
        Ok(())
    }
}

/// The exit status of a command; `None` if it was ended at the time limit, or when `stop` was set.
fn within(command: Command, limit: Duration, stop: &Stop) -> io::Result<Option<ExitStatus>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (mut child, mut group) = ProcessGroup::spawn(&mut command.into())?;
        let has_ended = tokio::select! {
            () = group.ended(&mut child) => true,
            () = stop.wait() => false,
            () = tokio::time::sleep(limit) => false,
        };
        if has_ended {
            if let Some(mut guard) = child.stdin.take() {
                let _ = guard.write_all(b"\n").await;
            }
            // Other processes that git has left, such as a cache of credentials, stay.
            group.release();
            return child.wait().await.map(Some);
        }
        // git removes its lock files.
        group.end(&mut child, PATIENCE).await;
        child.wait().await.map(|_| None)
    })
}
