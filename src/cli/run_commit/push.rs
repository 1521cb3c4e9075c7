//! Pushes the commits of runs. Where somebody else has pushed, both sides are merged in memory before: neither is lost.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use urldb_render::command_line;
use urldb_render::numbers::counted;

use crate::cli::Context;
use crate::cli::print::style::print_warning;
use crate::cli::resolve::{merge_ancestors, merge_versions};
use crate::explain::explain;
use crate::git::{FileVersions, Repository, Upstream};
use crate::stop::Stop;

/// Most attempts to push. The next run tries again.
const ATTEMPTS: u64 = 5;

/// Pushes the current branch, and moves it to the merge of both sides where that is necessary.
///
/// # Errors
/// When the remote repository cannot be reached or refuses five times, the branch was rewritten, both sides changed a
/// file in ways that urldb cannot merge, or an edited file would be overwritten; in these cases nothing is pushed. Also
/// when `stop` is set.
pub(in crate::cli) fn push(
    repository: &Repository,
    upstream: &Upstream,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<()> {
    repository.ensure_idle()?;
    let mut seconds = 0;
    loop {
        let fetched = fetched(repository, upstream, context, stop)?;
        let pushed = match &fetched {
            // The branch has HEAD.
            FetchedBranch {
                theirs,
                merged: Some(merged),
            } if theirs.as_ref() == Some(merged) => Ok(()),
            FetchedBranch { theirs, merged } => {
                let commit = merged.as_deref().unwrap_or("HEAD");
                repository.push(upstream, commit, theirs.as_deref(), stop)
            }
        };
        let Err(error) = pushed else {
            return fetched
                .merged
                .map_or(Ok(()), |merged| repository.fast_forward(&merged));
        };
        if seconds == ATTEMPTS - 1 || stop.wait_timeout(Duration::from_secs(seconds)) {
            return Err(error);
        }
        seconds += 1;
    }
}

/// Moves the current branch to what others have pushed, merged with its own commits, before a run: a run knows then
/// what the others have told. Where that is not possible now, a warning says why.
pub(in crate::cli) fn catch_up(
    repository: &Repository,
    upstream: &Upstream,
    context: &Context,
    stop: &Stop,
) {
    let moved = || {
        repository.ensure_idle()?;
        match fetched(repository, upstream, context, stop)?.merged {
            Some(merged) => repository.fast_forward(&merged),
            None => Ok(()),
        }
    };
    if let Err(error) = moved() {
        let error = error.context("the runs of others are not known yet");
        print_warning(explain(&error));
    }
}

/// The followed branch after a fetch.
struct FetchedBranch {
    /// Its last commit; `None` if the remote repository does not have the branch.
    theirs: Option<String>,
    /// The commit that has HEAD and the last commit; `None` if HEAD has it.
    merged: Option<String>,
}

fn fetched(
    repository: &Repository,
    upstream: &Upstream,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<FetchedBranch> {
    let ours = repository.head_commit().context("there is no commit yet")?;
    let theirs = repository.fetch(upstream, stop)?;
    ensure_not_rewritten(repository, upstream, theirs.as_deref())?;
    let merged = match &theirs {
        Some(theirs) => {
            repository.note_fetched(theirs)?;
            merged(repository, upstream, [&ours, theirs], context)?
        }
        None => None,
    };
    Ok(FetchedBranch { theirs, merged })
}

/// Refuses to bring back commits that somebody has removed from the branch.
fn ensure_not_rewritten(
    repository: &Repository,
    upstream: &Upstream,
    theirs: Option<&str>,
) -> anyhow::Result<()> {
    let dropped = repository.dropped(theirs)?;
    let Some(last) = dropped.first() else {
        return Ok(());
    };
    let (remote, branch) = (upstream.remote.as_str(), upstream.short_branch());
    let number = counted(dropped.len() as u64, "commit");
    let line = |words: &[&str]| command_line(words).unwrap_or_default();
    let push = line(&["git", "push", remote, &format!("HEAD:{branch}")]);
    let Some(theirs) = theirs else {
        anyhow::bail!(
            "somebody has removed the branch {branch}, which had {number} of yours, from the remote repository. \
             To make it again on purpose: `{push}`"
        );
    };
    let fetch = line(&["git", "fetch", remote, branch]);
    let rebase = line(&["git", "rebase", "--onto", "FETCH_HEAD", last]);
    let restore = if repository.contains("HEAD", theirs)? {
        push
    } else {
        format!("{fetch} && git merge --allow-unrelated-histories FETCH_HEAD && {push}")
    };
    anyhow::bail!(
        "somebody has rewritten the branch {branch}: it no longer has {number} of yours, the last one {last}, and urldb \
         does not bring them back.\n\
         To take the rewritten history, with your new commits: `{fetch} && {rebase}`\n\
         To put the former commits back on purpose: `{restore}`"
    )
}

/// The commit that has HEAD and their last commit; `None` if HEAD has it.
fn merged(
    repository: &Repository,
    upstream: &Upstream,
    [ours, theirs]: [&str; 2],
    context: &Context,
) -> anyhow::Result<Option<String>> {
    if repository.contains(ours, theirs)? {
        return Ok(None);
    }
    let merged = if repository.contains(theirs, ours)? {
        theirs.to_owned()
    } else {
        let branch = upstream.short_branch();
        let message = format!("Merge branch '{branch}' of the remote repository");
        let top = repository.work_tree()?;
        let merge = |path: &Path, versions: &FileVersions| {
            merge_versions(&top.join(path), versions, context)
        };
        let merge_ancestors = |path: &Path, versions: &FileVersions| {
            merge_ancestors(&top.join(path), versions, context)
        };
        repository.merge_commits([ours, theirs], &message, &merge, &merge_ancestors)?
    };
    let edited = repository.edited_before(&merged)?;
    let top = repository.work_tree()?;
    let names = edited.iter().map(|path| context.shown(&top.join(path)));
    let names: Vec<_> = names.collect();
    anyhow::ensure!(
        edited.is_empty(),
        "others have changed files that you have edited: commit or stash {}",
        names.join(", ")
    );
    Ok(Some(merged))
}
