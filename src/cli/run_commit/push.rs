//! Pushes the commits of runs. Where somebody else has pushed, both sides are merged in memory before: neither is lost.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

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
/// When the remote repository cannot be reached or refuses five times, both sides changed a file in ways that urldb
/// cannot merge, or an edited file would be overwritten; in this case nothing is pushed.
pub(in crate::cli) fn push(
    repository: &Repository,
    upstream: &Upstream,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<()> {
    repository.ensure_idle()?;
    let mut result = repository.push(upstream, "HEAD");
    for seconds in 0..ATTEMPTS - 1 {
        if result.is_ok() || stop.wait_timeout(Duration::from_secs(seconds)) {
            break;
        }
        let merged = merged(repository, upstream, context)?;
        result = repository.push(upstream, merged.as_deref().unwrap_or("HEAD"));
        if let (Ok(()), Some(merged)) = (&result, merged) {
            repository.fast_forward(&merged)?;
        }
    }
    result
}

/// Moves the current branch to what others have pushed, merged with its own commits, before a run: a run knows then
/// what the others have told. Where that is not possible now, a warning says why.
pub(in crate::cli) fn catch_up(repository: &Repository, upstream: &Upstream, context: &Context) {
    let moved = || {
        repository.ensure_idle()?;
        match merged(repository, upstream, context)? {
            Some(merged) => repository.fast_forward(&merged),
            None => Ok(()),
        }
    };
    if let Err(error) = moved() {
        let error = error.context("the runs of others are not known yet");
        print_warning(explain(&error));
    }
}

/// The commit that has HEAD and the followed branch; `None` if HEAD has it.
fn merged(
    repository: &Repository,
    upstream: &Upstream,
    context: &Context,
) -> anyhow::Result<Option<String>> {
    let theirs = repository.fetch(upstream)?;
    let ours = repository.head_commit().context("there is no commit yet")?;
    if repository.contains(&ours, &theirs)? {
        return Ok(None);
    }
    let merged = if repository.contains(&theirs, &ours)? {
        theirs
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
        repository.merge_commits([&ours, &theirs], &message, &merge, &merge_ancestors)?
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
