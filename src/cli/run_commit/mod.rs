//! The commit of a run: its files, and a message that tells what happened.

mod changes;
mod push;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use urldb_protocol::Envelope;
use urldb_render::commit_message;
use urldb_warc::index::INDEX_DIRECTORY;

use super::Context;
use super::args::{CommitArgs, PlannedCommit, report, say_interrupted};
use super::print::style::print_note;
use super::resolve::FileKind;
use crate::archive::fixity::IN_ARCHIVE;
use crate::exit::ExitCode;
use crate::git::{Repository, UncommittedFiles, Upstream};

pub(super) use push::{catch_up, push};

/// The branch that the current branch of a repository follows.
///
/// # Errors
/// When it follows no branch of a remote repository.
pub(super) fn upstream_of(repository: &Repository) -> anyhow::Result<Upstream> {
    repository.upstream()?.context(
        "the branch follows no branch of a remote repository; `git push --set-upstream origin HEAD` makes it follow \
         one, after `git remote add origin URL` where there is no remote repository yet",
    )
}

/// Says that the ledger is not committed, if there is no `commit`, and git neither tracks a file of it nor ignores it.
pub(super) fn remind_of_commit(commit: Option<&PlannedRunCommit>, context: &Context) {
    if commit.is_some() || context.quiet {
        return;
    }
    let ledger = context.ledger();
    let is_left = |repository: Repository| -> anyhow::Result<bool> {
        let file = ledger.path().join("history");
        Ok(!repository.is_tracked(ledger.path())? && !repository.ignores(&file)?)
    };
    let repository = Repository::of_project(ledger.path()).ok().flatten();
    if repository.is_some_and(|repository| is_left(repository).unwrap_or_default()) {
        let folder = context.shown(ledger.path());
        print_note(&format!(
            "git does not track {folder}/: `git add {folder}` adds it to the next commit"
        ));
    }
}

/// The commit of a run: the files of the ledger that differ from the last commit, and those of the
/// archive where git already tracks a file of it.
pub(super) struct PlannedRunCommit {
    commit: PlannedCommit,
    ledger: PathBuf,
    archive: PathBuf,
}

impl PlannedRunCommit {
    /// The commit to make, if the option is given.
    ///
    /// # Errors
    /// As [`CommitArgs::begin`], and when git ignores the ledger.
    pub(super) fn begin(args: &CommitArgs, context: &Context) -> anyhow::Result<Option<Self>> {
        let (ledger, config) = (context.ledger().path().to_owned(), &context.config);
        let Some(commit) = args.begin(&ledger)? else {
            return Ok(None);
        };
        anyhow::ensure!(
            !commit.repository.ignores(&ledger.join("history"))?,
            "--commit: git ignores {}; remove the folder from .gitignore",
            context.shown(&ledger)
        );
        Ok(Some(Self {
            commit,
            ledger,
            archive: config.archive_root().path().to_owned(),
        }))
    }

    /// The repository of the ledger.
    pub(super) fn repository(&self) -> &Repository {
        &self.commit.repository
    }

    /// Commits the files of a run, and those of earlier runs. The message tells the news since the last commit.
    ///
    /// # Errors
    /// As [`PlannedCommit::finish`].
    pub(super) fn finish(
        &self,
        run: &Envelope,
        exit: ExitCode,
        context: &Context,
    ) -> anyhow::Result<()> {
        if exit == ExitCode::Interrupted {
            say_interrupted();
            return Ok(());
        }
        let repository = &self.commit.repository;
        let mut folders = vec![self.ledger.clone()];
        let mut elsewhere = None;
        if let Some(other) = Repository::of_project(&self.archive)?
            && other.is_tracked(&self.archive)?
        {
            if other.work_tree()? == repository.work_tree()? {
                folders.push(self.archive.clone());
            } else {
                elsewhere = Some(other);
            }
        }
        let files = uncommitted(repository, &folders, context)?;
        let changes = changes::since_head(repository, files.paths(), run, context)?;
        let message = self.commit.message(|| commit_message(&changes, run));
        commit(repository, &files, &message, context)?;
        if let Some(other) = elsewhere {
            let files = uncommitted(&other, std::slice::from_ref(&self.archive), context)?;
            commit(&other, &files, &message, context)?;
        }
        Ok(())
    }
}

fn commit(
    repository: &Repository,
    files: &UncommittedFiles,
    message: &str,
    context: &Context,
) -> anyhow::Result<()> {
    let committed = repository
        .commit_changes(files, message)
        .context(NOT_COMMITTED)?;
    report(committed, message, context);
    Ok(())
}

const NOT_COMMITTED: &str = "the files are written, but not committed; a later run commits them";

fn uncommitted(
    repository: &Repository,
    folders: &[PathBuf],
    context: &Context,
) -> anyhow::Result<UncommittedFiles> {
    let top = repository.work_tree()?.to_owned();
    repository
        .uncommitted_below(folders, |path| is_of_run(&top.join(path), context))
        .context(NOT_COMMITTED)
}

/// Whether runs write this file of the ledger or the archive, and it belongs into a commit: no domain
/// file, no temporary file, no archive file that is still open, no segment of the index, which is made of
/// the archive files, and nothing of other programs.
fn is_of_run(path: &Path, context: &Context) -> bool {
    let archive = context.config.root.join(&context.config.archive.path);
    let archive = urldb_files::real_path(&archive).unwrap_or(archive);
    let Ok(name) = path.strip_prefix(&archive) else {
        let kind = FileKind::from_path(path, &context.config);
        return kind.is_some_and(|kind| kind != FileKind::Domain);
    };
    let is_of_index = name.starts_with(INDEX_DIRECTORY);
    let name = name.to_string_lossy();
    let is_hidden = name.starts_with('.') && name != IN_ARCHIVE;
    !is_of_index && !is_hidden && !name.ends_with(".open")
}
