//! `--commit`, which commits the files that a command has written.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use urldb_render::numbers::{NO_BREAK, count};
use urldb_text::{sanitize, sanitize_lines};
use urldb_warc::index::INDEX_DIRECTORY;

use super::UncommittedChanges;
use crate::archive::fixity::IN_ARCHIVE;
use crate::cli::Context;
use crate::cli::print::{output, style};
use crate::cli::resolve::FileKind;
use crate::exit::ExitCode;
use crate::git::{GitEnv, NewCommit, Repository};

/// Longest URL in a message that urldb writes, in characters.
const LONGEST_URL: usize = 60;

/// `--commit` and `--message`.
#[derive(Debug, Default, Args)]
pub(crate) struct CommitArgs {
    /// Commit the files that the command writes, and nothing else
    #[arg(long)]
    commit: bool,
    /// Message of the commit, in place of one that names the change
    #[arg(
        short,
        long,
        value_name = "MESSAGE",
        requires = "commit",
        value_parser = clap::builder::NonEmptyStringValueParser::new()
    )]
    message: Option<String>,
}

impl CommitArgs {
    /// As if `--commit` were given.
    pub(crate) const ALWAYS: Self = Self {
        commit: true,
        message: None,
    };

    /// The commit to make, if the option is given.
    ///
    /// # Errors
    /// When the folder, in which the command writes, is in no repository, or git knows no author.
    pub(crate) fn begin(&self, folder: &Path) -> anyhow::Result<Option<PlannedCommit>> {
        if !self.commit {
            return Ok(None);
        }
        let repository = repository_of(folder)?;
        let repository = repository.with_context(|| {
            let folder = folder.display();
            format!("--commit: {folder} is in no git repository; `git init` makes one")
        })?;
        repository.ensure_can_commit().context("--commit")?;
        Ok(Some(PlannedCommit {
            repository,
            message: self.message.clone(),
        }))
    }
}

/// The repository of a folder, which need not exist yet.
fn repository_of(folder: &Path) -> anyhow::Result<Option<Repository>> {
    let existing = folder
        .ancestors()
        .find(|folder| urldb_files::is_folder(folder));
    match existing {
        Some(existing) => Repository::discover(existing, GitEnv::from_process()),
        None => Ok(None),
    }
}

/// A commit of the files that the command will write, checked before it writes any.
pub(crate) struct PlannedCommit {
    repository: Repository,
    message: Option<String>,
}

impl PlannedCommit {
    /// The message of the commit: the user's, or this one.
    fn message(&self, subject: impl FnOnce() -> String) -> String {
        self.message.clone().unwrap_or_else(subject)
    }

    /// Changes of earlier commands that the last commit does not have.
    pub(crate) fn uncommitted<'a>(&'a self, context: &'a Context) -> UncommittedChanges<'a> {
        UncommittedChanges::new(&self.repository, context)
    }

    /// Commits the files that the command wrote, or found written.
    ///
    /// # Errors
    /// When git is in the middle of a merge or the like, or git or a hook refuses. The files stay written.
    pub(crate) fn finish(
        self,
        files: &[PathBuf],
        subject: impl FnOnce() -> String,
        exit: ExitCode,
        context: &Context,
    ) -> anyhow::Result<()> {
        if files.is_empty() {
            say_nothing("no file was written", context);
            return Ok(());
        }
        if exit == ExitCode::Interrupted {
            say_interrupted();
            return Ok(());
        }
        let message = self.message(subject);
        let committed = self.repository.commit_files(files, &message);
        let committed = committed.context(
            "the files are written, but not committed; the same command commits them later",
        );
        report(committed?, &message, context);
        Ok(())
    }
}

/// The commit of a run: the files of the ledger that differ from the last commit, and those of the
/// archive where git already tracks a file of it.
pub(crate) struct PlannedRunCommit {
    commit: PlannedCommit,
    ledger: PathBuf,
    archive: PathBuf,
}

impl PlannedRunCommit {
    /// The commit to make, if the option is given.
    ///
    /// # Errors
    /// As [`CommitArgs::begin`], and when git ignores the ledger.
    pub(crate) fn begin(args: &CommitArgs, context: &Context) -> anyhow::Result<Option<Self>> {
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
    pub(crate) fn repository(&self) -> &Repository {
        &self.commit.repository
    }

    /// Commits the files of the run that began at `started`, and those of earlier runs.
    ///
    /// # Errors
    /// As [`PlannedCommit::finish`].
    pub(crate) fn finish(
        &self,
        started: Timestamp,
        exit: ExitCode,
        context: &Context,
    ) -> anyhow::Result<()> {
        if exit == ExitCode::Interrupted {
            say_interrupted();
            return Ok(());
        }
        let message = self.commit.message(|| {
            started
                .strftime("Record the run of %Y-%m-%dT%H:%M:%SZ")
                .to_string()
        });
        let repository = &self.commit.repository;
        let mut folders = vec![self.ledger.clone()];
        let mut elsewhere = None;
        if let Some(other) = repository_of(&self.archive)?
            && other.tracks_below(&self.archive)?
        {
            if other.work_tree()? == repository.work_tree()? {
                folders.push(self.archive.clone());
            } else {
                elsewhere = Some(other);
            }
        }
        let committed = commit_below(repository, &folders, &message, context)?;
        report(committed, &message, context);
        if let Some(other) = elsewhere {
            let archive = std::slice::from_ref(&self.archive);
            let committed = commit_below(&other, archive, &message, context)?;
            report(committed, &message, context);
        }
        Ok(())
    }
}

fn commit_below(
    repository: &Repository,
    folders: &[PathBuf],
    message: &str,
    context: &Context,
) -> anyhow::Result<Option<NewCommit>> {
    let top = repository.work_tree()?.to_owned();
    let committed =
        repository.commit_below(folders, message, |path| is_of_run(&top.join(path), context));
    committed.context("the files are written, but not committed; a later run commits them")
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

/// Prints the commit and the output of hooks.
fn report(committed: Option<NewCommit>, message: &str, context: &Context) {
    let Some(NewCommit { id, files, printed }) = committed else {
        say_nothing("the files are as in the last commit", context);
        return;
    };
    if !printed.is_empty() {
        say(&sanitize_lines(&printed));
    }
    if !context.quiet {
        let done = style::paint(style::GOOD, "committed");
        let subject = sanitize(message.lines().next().unwrap_or_default());
        let files = style::count(files as u64, "file");
        say(&format!("{done} {id} {subject} ({files})"));
    }
}

fn say_interrupted() {
    style::print_warning("interrupted, so what was written is not committed");
}

fn say_nothing(why: &str, context: &Context) {
    if !context.quiet {
        say(&format!("nothing to commit: {why}"));
    }
}

/// Standard output may be a document for programs.
fn say(text: &str) {
    // A closed standard error is no error.
    let _ = writeln!(output::stderr(), "{text}");
}

/// The URLs that a command changed, for the subject of its commit.
#[derive(Debug, Default)]
pub(crate) struct ChangedUrls {
    count: u64,
    /// The only URL.
    only: Option<String>,
    hosts: BTreeSet<String>,
}

impl ChangedUrls {
    /// Adds a URL of a domain.
    pub(crate) fn add(&mut self, host: &str, url: impl FnOnce() -> String) {
        self.only = (self.count == 0).then(url);
        self.count += 1;
        if !self.hosts.contains(host) {
            self.hosts.insert(host.to_owned());
        }
    }

    /// Their number.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there is exactly one.
    pub(crate) fn is_one(&self) -> bool {
        self.count == 1
    }

    /// `http://example.org/a`, `3 URLs of example.org`, `3 URLs of 2 hosts`.
    pub(crate) fn phrase(&self) -> String {
        if let Some(url) = &self.only
            && url.chars().count() <= LONGEST_URL
        {
            return sanitize(url).into_owned();
        }
        let urls = count(self.count, "URL").replace(NO_BREAK, " ");
        let mut hosts = self.hosts.iter();
        match (hosts.next(), hosts.next()) {
            (Some(host), None) => format!("{urls} of {}", sanitize(host)),
            (None, _) => urls,
            _ => {
                let hosts = count(self.hosts.len() as u64, "host").replace(NO_BREAK, " ");
                format!("{urls} of {hosts}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(urls: &[(&str, &str)]) -> String {
        let mut changed = ChangedUrls::default();
        for (host, url) in urls {
            changed.add(host, || (*url).to_owned());
        }
        changed.phrase()
    }

    #[test]
    fn a_phrase_names_one_url_and_counts_several() {
        let a = ("a.test", "http://a.test/");
        assert_eq!(phrase(&[a]), "http://a.test/");
        assert_eq!(phrase(&[a, a, a]), "3 URLs of a.test");
        assert_eq!(
            phrase(&[a, ("b.test", "http://b.test/")]),
            "2 URLs of 2 hosts"
        );
        assert_eq!(phrase(&[("a.test", &"x".repeat(61))]), "1 URL of a.test");
        assert_eq!(
            phrase(&[("a.test", "http://a.test/\u{202e}x\ny")]),
            "http://a.test/\u{fffd}x\u{fffd}y"
        );
    }
}
