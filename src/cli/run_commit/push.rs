//! Pushes the commits of runs. Where somebody else has pushed, both sides are merged in memory before: neither is lost.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use urldb_render::command_line;
use urldb_render::numbers::counted;

use crate::ambient::Ambient;
use crate::cli::Context;
use crate::cli::print::style::print_warning;
use crate::cli::resolve::{merge_ancestors, merge_versions};
use crate::database::stored_across::mistakes_of_merge;
use crate::explain::explain;
use crate::git::{FileVersions, Repository, Upstream};
use crate::stop::Stop;

/// Most refusals of a push one after the other while nobody else pushes. The next run tries again.
const MOST_REFUSALS: u32 = 5;

/// Longest time for which pushes of others do not count as refusals.
const LONGEST: Duration = Duration::from_mins(5);

/// Pushes the current branch, and moves it to the merge of both sides where that is necessary.
///
/// # Errors
/// When the remote repository cannot be reached or refuses five times though nobody else pushes, the branch was
/// rewritten, both sides changed a file in ways that urldb cannot merge or make a mistake only together, or an edited file
/// would be overwritten; in these cases nothing is pushed. Also when `stop` is set.
pub(in crate::cli) fn push(
    repository: &Repository,
    upstream: &Upstream,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<()> {
    repository.ensure_idle()?;
    let start = Instant::now();
    let (mut attempts, mut refusals, mut before) = (0, 0, None);
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
        let FetchedBranch { theirs, merged } = fetched;
        let Err(error) = pushed else {
            return merged.map_or(Ok(()), |merged| repository.fast_forward(&merged));
        };
        let is_overtaken = before.is_some_and(|before| before != theirs);
        if is_overtaken && start.elapsed() < LONGEST {
            refusals = 0;
        }
        before = Some(theirs);
        refusals += 1;
        if refusals == MOST_REFUSALS || stop.wait_timeout(pause(attempts)) {
            return Err(error);
        }
        attempts += 1;
    }
}

/// The time to wait after the attempt of this number, counted from 0: a random part of 1, 2, 4, 8 seconds, so that runs
/// that collided do not meet again.
fn pause(attempt: u32) -> Duration {
    let [random, ..] = (Ambient::SYSTEM.random)();
    Duration::from_secs(1 << attempt.min(3)) * u32::from(random) / 255
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
        let merged =
            repository.merge_commits([ours, theirs], &message, &merge, &merge_ancestors)?;
        ensure_consistent(repository, &merged, [ours, theirs], context)?;
        merged
    };
    let edited = repository.edited_before(&merged)?;
    let top = repository.work_tree()?;
    let names: Vec<_> = edited
        .iter()
        .map(|path| context.shown(&top.join(path)))
        .collect();
    anyhow::ensure!(
        edited.is_empty(),
        "others have changed files that you have edited: commit or stash {}",
        names.join(", ")
    );
    Ok(Some(merged))
}

/// Refuses a merge in which domain files of both sides contradict each other, as where both claim the same cname.
fn ensure_consistent(
    repository: &Repository,
    merged: &str,
    sides: [&str; 2],
    context: &Context,
) -> anyhow::Result<()> {
    let top = repository.work_tree()?;
    let Ok(folder) = repository.relative(&context.database()) else {
        return Ok(());
    };
    let mistakes = mistakes_of_merge(repository, &folder, merged, sides)?;
    if mistakes.is_empty() {
        return Ok(());
    }
    let lines = mistakes.into_iter().map(|mistake| {
        let path = mistake.file.as_deref().map(|file| top.join(file));
        let path = path.map(|path| context.shown(&path)).unwrap_or_default();
        format!("\n{:#}", mistake.in_file(path))
    });
    anyhow::bail!(
        "both sides together make a mistake that neither has alone: `git pull`, mend it, and commit{}",
        lines.collect::<String>()
    )
}
