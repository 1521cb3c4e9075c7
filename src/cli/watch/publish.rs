//! `[git] commit`: the daemon commits the files of a run, and pushes the commits.

use std::time::Duration;

use anyhow::Context as _;
use urldb_protocol::Envelope;

use crate::cli::Context;
use crate::cli::args::CommitArgs;
use crate::cli::resolve::resolve_ledger;
use crate::cli::run_commit::PlannedRunCommit;
use crate::exit::ExitCode;
use crate::explain::explain;
use crate::git::{Repository, Upstream};
use crate::stop::Stop;

/// Most attempts to push the commit of a run. The next run tries again.
const ATTEMPTS: u64 = 5;

/// The commit to make after a run; `None` without `[git] commit`.
///
/// # Errors
/// When the ledger is in no repository, git ignores it or knows no author.
pub(super) fn begin(context: &Context) -> anyhow::Result<Option<PlannedRunCommit>> {
    if !context.config.git.commit {
        return Ok(None);
    }
    PlannedRunCommit::begin(&CommitArgs::ALWAYS, context).context("the run is not committed")
}

/// Commits the files of a run, and pushes this and earlier commits.
///
/// # Errors
/// When git is in the middle of a merge or the like, git or a hook refuses the commit, or the commits cannot
/// be pushed. The files stay written, and the
/// commits stay.
pub(super) fn finish(
    commit: &PlannedRunCommit,
    run: &Envelope,
    exit: ExitCode,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<()> {
    commit.finish(run, exit, context)?;
    let repository = commit.repository();
    match repository.upstream()? {
        Some(upstream) => push(repository, &upstream, context, stop)
            .context("the commits are not pushed; the next run tries again"),
        None => Ok(()),
    }
}

/// Pushes the branch. Somebody may have pushed meanwhile: then their commits are merged first.
fn push(
    repository: &Repository,
    upstream: &Upstream,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut result = repository.push(upstream);
    for seconds in 0..ATTEMPTS - 1 {
        if result.is_ok() || stop.wait_timeout(Duration::from_secs(seconds)) {
            break;
        }
        merge(repository, upstream, context)?;
        result = repository.push(upstream);
    }
    result
}

/// Merges the commits of others. A merge that cannot be finished is undone: it would prevent the commit of
/// the next run.
fn merge(repository: &Repository, upstream: &Upstream, context: &Context) -> anyhow::Result<()> {
    if repository.merge_upstream(upstream)? {
        return Ok(());
    }
    let finished = resolve_ledger(context).and_then(|()| repository.finish_merge());
    finished.map_err(|error| match repository.undo_merge() {
        Ok(()) => error,
        Err(stuck) => error.context(explain(&stuck)),
    })
}
