//! Configuration, database, ledger, archive, and files that killed processes left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use urldb_files::{Root, RootFile, is_there};
use urldb_format::{DomainFile, Linter, fold};
use urldb_render::numbers::{count, share_with, size};
use urldb_render::wrong_clock;
use urldb_text::Finding;

use super::schedule::{StoredLedger, Workflow};
use super::{Check, Outcome, ProjectSetup};
use crate::config::ConfigError;
use crate::database::across::{AcrossFiles, is_on_disk};
use crate::database::site_rules;
use crate::explain::explain;
use crate::ledger::{Incidents, PastRuns, RunLine, damage, past_runs};
use crate::notify::Outbox;
use crate::run::{Overdue, overdue};
use crate::schedule::RepositoryLock;

/// A temporary file, or a lock of git, of this age belongs to no command that is at work, but for one that waits
/// for an editor.
pub(super) const OLD: Duration = Duration::from_mins(1);

/// Most files that a sentence names.
const MOST_NAMES: usize = 3;

/// The branch on which the action keeps the ledger.
const STATE_BRANCH: &str = "urldb-status";

/// The mistakes of urldb.toml.
pub(super) fn mistakes(error: &ConfigError, directory: &Path) -> Check {
    let folder = format!("{}/", directory.display());
    let text = error.to_string().replace(&folder, "");
    let lines: Vec<&str> = text.lines().collect();
    let fault = Check::fault("config", lines.join("; "));
    match error {
        ConfigError::Outside(_) => fault,
        ConfigError::Io { .. } | ConfigError::Invalid(_) => {
            fault.fixed_by_script("to edit it", "\"${EDITOR:-vi}\" urldb.toml")
        }
    }
}

/// Numbers about the domain files.
#[derive(Default)]
struct DatabaseCounts {
    files: u64,
    urls: u64,
    /// Files with errors.
    mistaken: u64,
    /// Files that `urldb fmt` would change.
    not_canonical: u64,
}

/// The check of a ledger that a workflow stores nowhere.
fn forgotten(name: &str, workflow: &str) -> Check {
    let sentence = format!(
        "{name}: {workflow} does not push it, so each of its runs sees every failure for the first time; \
         `urldb run --commit --push` does"
    );
    Check::advice("ledger", sentence).edited("to edit it", workflow)
}

/// Git's treatment of a folder of the project.
pub(super) enum FolderTracking {
    Committed,
    Ignored,
    /// Neither committed nor ignored.
    Untracked,
    /// There is no repository, or the folder is outside of it.
    Elsewhere,
}

impl ProjectSetup<'_> {
    pub(super) fn configuration(&self) -> Check {
        let file = &self.config.file;
        if file.as_os_str().is_empty() {
            return Check::advice(
                "config",
                "there is no urldb.toml: all settings have defaults",
            )
            .fixed_by("to write one", &["urldb", "init"]);
        }
        Check::ok("config", format!("{}: no mistakes", self.name(file)))
    }

    pub(super) fn database_folder(&self) -> PathBuf {
        self.config.database_root().path().to_owned()
    }

    pub(super) fn ledger_folder(&self) -> PathBuf {
        self.config.ledger_root().path().to_owned()
    }

    pub(super) fn archive_folder(&self) -> PathBuf {
        self.config.archive_root().path().to_owned()
    }

    pub(super) fn database(&self) -> Check {
        match self.count_records() {
            Ok(counts) => self.judge_database(&counts),
            Err(error) => {
                Check::failed("database", &error).fixed_by("to create it", &["urldb", "init"])
            }
        }
    }

    fn count_records(&self) -> anyhow::Result<DatabaseCounts> {
        let database = self.config.open_database()?;
        let mut counts = DatabaseCounts {
            files: database.all_files().count() as u64,
            mistaken: database.misnamed().len() as u64,
            ..DatabaseCounts::default()
        };
        let rules = site_rules::read(&self.database_folder())?;
        let mut across = AcrossFiles::new(rules.holding());
        let mut mistaken = BTreeSet::new();
        for path in database.all_files() {
            let linter = || (Linter::new(path, &self.config.lint.keys), false, 0);
            let (_, mut has_mistake, urls) = fold(path, linter, |state, document| {
                let (linter, has_mistake, urls) = state;
                *has_mistake |= linter.see(document).iter().any(Finding::is_error);
                *urls += u64::from(document.path().is_some());
            });
            counts.urls += urls;
            across.add(path);
            let canonical = if DomainFile::is_canonical(path).unwrap_or(false) {
                None
            } else {
                let whole = DomainFile::read_or_report(path).file;
                whole.canonical().ok().filter(|it| *it != whole.text())
            };
            if let Some(canonical) = &canonical {
                // Formatting removes some findings.
                let formatted = DomainFile::parse(path, canonical.as_bytes());
                let findings = urldb_format::lint(&formatted, &self.config.lint.keys);
                has_mistake = findings.iter().any(Finding::is_error);
            }
            let is_canonical = canonical.is_none();
            if has_mistake {
                mistaken.insert(path.to_owned());
            }
            counts.not_canonical += u64::from(!has_mistake && !is_canonical);
        }
        let across = across
            .finish(is_on_disk, |_| true)
            .into_iter()
            .filter(Finding::is_error);
        mistaken.extend(across.filter_map(|finding| finding.file));
        counts.mistaken += mistaken.len() as u64;
        counts.mistaken += u64::from(rules.findings.iter().any(Finding::is_error));
        Ok(counts)
    }

    fn judge_database(&self, counts: &DatabaseCounts) -> Check {
        let folder = self.folder_name(&self.database_folder());
        let &DatabaseCounts {
            files,
            urls,
            mistaken,
            not_canonical,
        } = counts;
        let content = format!(
            "{folder}: {}, {}",
            count(files, "domain file"),
            count(urls, "URL")
        );
        if mistaken > 0 {
            let sentence = format!("{content}; {} with mistakes", count(mistaken, "file"));
            return Check::fault("database", sentence)
                .fixed_by("to see the mistakes", &["urldb", "lint"]);
        }
        if not_canonical > 0 {
            let some = share_with(not_canonical, files, "file", "", ["is", "are"]);
            let sentence = format!("{content}; {some} not canonical");
            return Check::advice("database", sentence)
                .fixed_by("to format them", &["urldb", "fmt"]);
        }
        if urls == 0 {
            return Check::advice("database", format!("{folder}: no URLs yet"))
                .fixed_by("to add one", &["urldb", "add", "--static", "URL"]);
        }
        Check::ok("database", format!("{content}, all canonical"))
    }

    /// Git's treatment of a folder. `file` is a name that a file in the folder could have.
    pub(super) fn tracking(&self, folder: &Path, file: &str) -> anyhow::Result<FolderTracking> {
        let Some(repository) = &self.repository else {
            return Ok(FolderTracking::Elsewhere);
        };
        if repository.relative(folder).is_err() {
            return Ok(FolderTracking::Elsewhere);
        }
        Ok(if repository.is_tracked(folder)? {
            FolderTracking::Committed
        } else if repository.ignores(&folder.join(file))? {
            FolderTracking::Ignored
        } else {
            FolderTracking::Untracked
        })
    }

    /// Whether the folder has a repository of its own.
    fn is_repository(folder: &Path) -> bool {
        is_there(&folder.join(".git"))
    }

    pub(super) fn ledger(&self, workflows: &[Workflow]) -> Check {
        let folder = self.ledger_folder();
        self.try_ledger(&folder, workflows)
            .unwrap_or_else(|error| Check::failed("ledger", &error))
    }

    fn try_ledger(&self, folder: &Path, workflows: &[Workflow]) -> anyhow::Result<Check> {
        if let Some(damage) = self.damage() {
            return Ok(damage);
        }
        let PastRuns {
            known: runs,
            future,
        } = past_runs(&self.config.ledger_root(), self.now)?;
        let mut check = self.ledger_after(&runs, folder, workflows)?;
        if let Some(future) = future {
            check.outcome = check.outcome.max(Outcome::Advice);
            check.sentence = format!("{}; {}", check.sentence, wrong_clock(future));
        }
        Ok(check)
    }

    /// The fault of files of the ledger that no run can use. Files with conflicts have a check of their own.
    fn damage(&self) -> Option<Check> {
        let repository = self.repository.as_ref();
        if repository.is_some_and(|it| it.work_tree().is_ok() && it.ensure_idle().is_err()) {
            return None;
        }
        let damaged = damage::damaged(&self.config.ledger_root(), |file| {
            let repository = repository?;
            let path = repository.relative(&file.path()).ok()?;
            let blob = repository.blob_at("HEAD", &path).ok()??;
            repository.read_blob(&blob).ok()
        });
        let first = damaged.first()?;
        let files: Vec<PathBuf> = damaged.iter().map(|it| it.file.path()).collect();
        let sentence = format!(
            "{} of the ledger: {} ({})",
            count(files.len() as u64, "damaged file"),
            names(files.iter().map(|file| self.name(file))),
            explain(&first.why)
        );
        let is_tracked = |file: &PathBuf| {
            repository.is_some_and(|repository| repository.is_tracked(file).unwrap_or(false))
        };
        let (purpose, words) = if files.iter().all(is_tracked) {
            (
                "to restore them from the last commit",
                &["git", "checkout", "HEAD", "--"][..],
            )
        } else {
            ("to begin them anew", &["rm", "--"][..])
        };
        let arguments: Vec<String> = files.iter().map(|file| self.argument(file)).collect();
        let arguments = arguments.iter().map(String::as_str);
        let words: Vec<&str> = words.iter().copied().chain(arguments).collect();
        Some(Check::fault("ledger", sentence).fixed_by(purpose, &words))
    }

    /// The check of the ledger after these runs.
    fn ledger_after(
        &self,
        runs: &[RunLine],
        folder: &Path,
        workflows: &[Workflow],
    ) -> anyhow::Result<Check> {
        let name = self.folder_name(folder);
        let stored = |place| workflows.iter().find(move |it| it.ledger == place);
        if let Some(workflow) = stored(StoredLedger::Nowhere) {
            return Ok(forgotten(&name, &workflow.file));
        }
        let is_on_branch = stored(StoredLedger::Branch).is_some();
        let has_branch = self
            .repository
            .as_ref()
            .is_some_and(|repository| repository.has_remote_branch(STATE_BRANCH));
        let Some(last) = runs.last() else {
            if is_on_branch || has_branch {
                let kept = format!("{name}: kept on the branch {STATE_BRANCH} by the workflow");
                return Ok(Check::ok("ledger", kept));
            }
            return Ok(Check::advice("ledger", format!("{name}: no run yet"))
                .fixed_by("to start one", &["urldb", "run"]));
        };
        let last = last.at.strftime("%Y-%m-%d %H:%M UTC");
        let argument = self.argument(folder);
        let tracking = match self.tracking(folder, "example.org.yaml")? {
            _ if Self::is_repository(folder) => "a repository of its own",
            FolderTracking::Committed => "committed",
            FolderTracking::Elsewhere if self.repository.is_some() => "outside of the repository",
            FolderTracking::Elsewhere => "in no repository",
            FolderTracking::Ignored if is_on_branch || has_branch => {
                "ignored by git, kept on a branch"
            }
            FolderTracking::Ignored => {
                let sentence = format!(
                    "{name}: ignored by git, so a new clone knows nothing of earlier runs; last run {last}"
                );
                return Ok(Check::advice("ledger", sentence)
                    .fixed_by("to add it to git", &["git", "add", "--force", &argument]));
            }
            FolderTracking::Untracked => {
                let sentence = format!("{name}: not committed; last run {last}");
                return Ok(Check::advice("ledger", sentence)
                    .fixed_by("to add it to git", &["git", "add", &argument]));
            }
        };
        let starts: Vec<_> = runs
            .iter()
            .filter(|run| run.is_complete())
            .map(|run| run.at)
            .collect();
        if let Some(Overdue {
            interval, usual, ..
        }) = overdue(&starts, self.now)
        {
            let sentence = format!(
                "{name}: {tracking}; last run {last}, {interval} ago, and runs usually begin every {usual}"
            );
            return Ok(
                Check::advice("ledger", sentence).fixed_by("to start one", &["urldb", "run"])
            );
        }
        let sentence = format!("{name}: {tracking}, last run {last}");
        Ok(Check::ok("ledger", sentence))
    }

    pub(super) fn archive(&self) -> Check {
        let folder = self.archive_folder();
        self.try_archive(&folder)
            .unwrap_or_else(|error| Check::failed("archive", &error))
    }

    fn try_archive(&self, folder: &Path) -> anyhow::Result<Check> {
        let mut files = files_in(&self.config.archive_root());
        files.retain(is_archive_file);
        let total: u64 = files
            .iter()
            .filter_map(|file| file.open().ok())
            .filter_map(|file| file.metadata().ok())
            .map(|metadata| metadata.len())
            .sum();
        let content = if files.is_empty() {
            "no captures yet".to_owned()
        } else {
            format!("{}, {}", count(files.len() as u64, "file"), size(total))
        };
        let name = self.folder_name(folder);
        let tracking = match self.tracking(folder, "urldb.warc.gz")? {
            FolderTracking::Committed => ", committed",
            FolderTracking::Ignored => ", ignored by git",
            FolderTracking::Elsewhere => "",
            FolderTracking::Untracked => {
                let sentence = format!("{name}: {content}, neither ignored nor committed");
                return Ok(Check::advice("archive", sentence)
                    .fixed_by("to ignore it", &["urldb", "init"])
                    .fixed_by("or to add it", &["git", "add", &self.argument(folder)]));
            }
        };
        if let Some(days) = self.days_of_round(total) {
            let sentence = format!(
                "{name}: {content}{tracking}; reading all bytes again takes {days} days, since `check-bytes` \
                 allows too few a day for `check-every`"
            );
            return Ok(Check::advice("archive", sentence));
        }
        Ok(Check::ok("archive", format!("{name}: {content}{tracking}")))
    }

    /// The urldb that is at work, if there is one.
    pub(super) fn running(&self) -> Check {
        let sentence = match self.holder() {
            Ok(None) => "no urldb run is in progress".to_owned(),
            Ok(Some(holder)) => format!("urldb is at work ({holder})"),
            Err(error) => return Check::failed("run", &error).minor(),
        };
        Check::ok("run", sentence).minor()
    }

    /// The process that holds the lock of the repository, for people.
    pub(super) fn holder(&self) -> anyhow::Result<Option<String>> {
        let folder = match &self.repository {
            Some(repository) => repository.common_dir(),
            None => &self.config.root,
        };
        let holder = RepositoryLock::holder(&folder.join("urldb.lock"))?;
        Ok(holder.map(|holder| match holder {
            Some(holder) => holder.to_string(),
            None => "it has not said who it is".to_owned(),
        }))
    }

    /// Files that killed processes left.
    pub(super) fn temporary_files(&self) -> Check {
        let ledger = self.config.ledger_root();
        let mut folders = vec![
            self.config.repository_root(),
            self.config.database_root(),
            self.config.rules_root(),
            Incidents::folder(&ledger),
            self.config.archive_root(),
        ];
        folders.extend(Outbox::new(&ledger).folders());
        folders.extend(self.config.output_roots());
        folders.push(ledger);
        folders.sort_by(|a, b| a.path().cmp(b.path()));
        folders.dedup_by(|a, b| a.path() == b.path());
        let files: Vec<RootFile> = folders.iter().flat_map(files_in).collect();
        let mut strays: Vec<PathBuf> = files
            .iter()
            .filter(|file| urldb_files::is_temporary(file.name()) && age(file) >= OLD)
            .map(RootFile::path)
            .collect();
        strays.sort();
        let unfinished = files.iter().filter(|file| is_abandoned(file)).count() as u64;
        if !strays.is_empty() {
            let names = names(strays.iter().map(|file| self.name(file)));
            let number = count(strays.len() as u64, "temporary file");
            let verb = if strays.len() == 1 { "is" } else { "are" };
            let arguments: Vec<String> = strays.iter().map(|file| self.argument(file)).collect();
            let words: Vec<&str> = ["rm", "--"]
                .into_iter()
                .chain(arguments.iter().map(String::as_str))
                .collect();
            let sentence = format!("{number} of a killed process {verb} left: {names}");
            return Check::advice("leftovers", sentence)
                .fixed_by("to remove them", &words)
                .minor();
        }
        if unfinished > 0 {
            let number = count(unfinished, "unfinished file");
            let sentence = format!("{number} of a killed run in the archive");
            return Check::advice("leftovers", sentence)
                .fixed_by("to complete it", &["urldb", "run"])
                .minor();
        }
        Check::ok("leftovers", "no temporary files").minor()
    }
}

/// Some of the names, and the number of the others.
pub(super) fn names(names: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = names.collect();
    let shown = all[..all.len().min(MOST_NAMES)].join(", ");
    match all.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The files directly in a folder; none if it cannot be listed.
fn files_in(folder: &Root) -> Vec<RootFile> {
    let mut files = folder.files().unwrap_or_default();
    files.retain(RootFile::is_file);
    files
}

/// The time since the last change of a file.
fn age(file: &RootFile) -> Duration {
    file.open()
        .and_then(|file| file.metadata())
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|changed| changed.elapsed().ok())
        .unwrap_or_default()
}

fn is_archive_file(file: &RootFile) -> bool {
    let name = file.name().to_string_lossy();
    name.ends_with(".warc.gz") || name.ends_with(".warc")
}

/// Whether the file is an archive file whose writer was killed: a writer holds a lock on its file.
fn is_abandoned(file: &RootFile) -> bool {
    let is_unfinished = file.name().extension().is_some_and(|it| it == "open");
    is_unfinished
        && age(file) >= OLD
        && file.open().is_ok_and(|file| file.try_lock_shared().is_ok())
}
