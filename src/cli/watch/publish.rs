//! `[git] commit`: the daemon commits what a run has written, and pushes the commits.

use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;

use crate::cli::Context;
use crate::cli::args::{CommitArgs, PlannedRunCommit};
use crate::cli::resolve::resolve_ledger;
use crate::exit::ExitCode;
use crate::git::{Repository, Upstream};
use crate::stop::Stop;

/// How often the daemon tries to push what a run has written. The next run tries again.
const ATTEMPTS: u32 = 5;

/// The commit that follows a scheduled run.
pub(super) struct Publication {
    commit: PlannedRunCommit,
}

impl Publication {
    /// The commit to make after a run; `None` without `[git] commit`.
    ///
    /// # Errors
    /// When the repository of the ledger cannot take a commit now.
    pub(super) fn begin(context: &Context) -> anyhow::Result<Option<Self>> {
        if !context.config.git.commit {
            return Ok(None);
        }
        let commit = PlannedRunCommit::begin(&CommitArgs::ALWAYS, context);
        let commit = commit.context("the run is not committed")?;
        Ok(commit.map(|commit| Self { commit }))
    }

    /// Commits what the run has written that began at `started`, and pushes this and earlier commits.
    ///
    /// # Errors
    /// When git or a hook refuses the commit, or the commits cannot be pushed. The files stay written, and
    /// the commits stay.
    pub(super) fn finish(
        &self,
        started: Timestamp,
        exit: ExitCode,
        context: &Context,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        self.commit.finish(started, exit, context)?;
        let repository = self.commit.repository();
        match repository.upstream()? {
            Some(upstream) => push(repository, &upstream, context, stop)
                .context("the commits are not pushed; the next run tries again"),
            None => Ok(()),
        }
    }
}

/// Pushes the branch. Somebody may have pushed meanwhile: then their commits are merged first.
fn push(
    repository: &Repository,
    upstream: &Upstream,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut wait = Duration::ZERO;
    let mut result = repository.push(upstream);
    for _ in 1..ATTEMPTS {
        if result.is_ok() || stop.is_set() {
            break;
        }
        std::thread::sleep(wait);
        wait += Duration::from_secs(1);
        if !repository.merge_upstream(upstream)? {
            resolve_ledger(context)?;
            repository.finish_merge()?;
        }
        result = repository.push(upstream);
    }
    result
}
