//! `--commit`, which commits the files that a command has written.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use urldb_format::DomainFile;
use urldb_render::numbers::{NO_BREAK, count};
use urldb_text::{sanitize, sanitize_lines};

use crate::cli::Context;
use crate::cli::print::{output, style};
use crate::database::edit::Edit;
use crate::exit::ExitCode;
use crate::git::{NewCommit, Repository};

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
        let repository = Repository::of_project(folder)?.with_context(|| {
            let folder = folder.display();
            format!("--commit: {folder} is in no git repository; `git init` makes one")
        })?;
        repository.ensure_can_commit().context("--commit")?;
        repository.wait_for_writer();
        Ok(Some(PlannedCommit {
            repository,
            message: self.message.clone(),
        }))
    }
}

/// `--dry-run`, and the commit of what is written without it.
#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    /// Show what would be written; write nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    commit: CommitArgs,
}

impl WriteArgs {
    /// [`CommitArgs::begin`] for the database; nothing in a dry run.
    pub(crate) fn begin(&self, context: &Context) -> anyhow::Result<Option<PlannedCommit>> {
        if self.dry_run {
            return Ok(None);
        }
        self.commit.begin(&context.database())
    }

    /// The edit of the database; nothing in a dry run.
    pub(crate) fn edit(&self, context: &Context) -> anyhow::Result<Option<Edit>> {
        let is_real = !self.dry_run;
        is_real
            .then(|| Edit::begin(&context.database()))
            .transpose()
    }
}

/// A commit of the files that the command will write, checked before it writes any.
pub(crate) struct PlannedCommit {
    pub(in crate::cli) repository: Repository,
    message: Option<String>,
}

impl PlannedCommit {
    /// The message of the commit: the user's, or this one.
    pub(in crate::cli) fn message(&self, subject: impl FnOnce() -> String) -> String {
        self.message.clone().unwrap_or_else(subject)
    }

    /// The domain file at `path` as the last commit has it.
    ///
    /// # Errors
    /// When git fails.
    pub(in crate::cli) fn in_head(&self, path: &Path) -> anyhow::Result<Option<DomainFile>> {
        let name = self.repository.relative(path)?;
        let bytes = self
            .repository
            .blob_at("HEAD", &name)?
            .map(|blob| self.repository.read_blob(&blob));
        Ok(bytes
            .transpose()?
            .map(|bytes| DomainFile::parse(path, &bytes).file))
    }

    /// Commits those of the files that differ from the last commit.
    ///
    /// # Errors
    /// When git is in the middle of a merge or the like, or git or a hook refuses. The files stay written.
    pub(crate) fn finish(
        &self,
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
        let committed = self.repository.commit_files(files, &message).context(
            "the files are written, but not committed; the same command commits them later",
        );
        report(committed?, &message, context);
        Ok(())
    }
}

/// Prints the commit and the output of hooks.
pub(in crate::cli) fn report(committed: Option<NewCommit>, message: &str, context: &Context) {
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

pub(in crate::cli) fn say_interrupted() {
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
