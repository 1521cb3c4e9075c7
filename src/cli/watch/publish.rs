//! `[git] commit`: the daemon commits the files of a run, and pushes the commits.

use anyhow::Context as _;
use urldb_protocol::Envelope;

use crate::cli::Context;
use crate::cli::args::CommitArgs;
use crate::cli::run_commit::{PlannedRunCommit, push};
use crate::exit::ExitCode;
use crate::stop::Stop;

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
