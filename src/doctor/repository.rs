//! Git, hooks, the merge driver, ignore rules and locks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use urldb_files::{is_file, is_there};
use urldb_render::numbers::count;

use super::files::{FolderTracking, OLD, names};
use super::{Check, ProjectSetup};
use crate::config::Config;
use crate::environment;
use crate::git::{
    self, GitLock, HookManager, HookState, MergeAttributes, MergeDriverState, Repository,
};

/// The first version of git that runs a hook before the commit of a merge.
const MERGE_HOOK: [u32; 3] = [2, 24, 0];

/// The command that installs urldb.
const INSTALL: &str = "cargo install --git https://github.com/urldb/urldb";

/// The files of a project that git merges with urldb.
pub fn merge_attributes(config: &Config) -> MergeAttributes {
    MergeAttributes {
        root: config.root.clone(),
        database: config.database.path.clone(),
        ledger: config.ledger.path.clone(),
    }
}

impl ProjectSetup<'_> {
    pub(super) fn git(&self) -> Check {
        let version = match git::version() {
            Ok(version) => version,
            Err(error) => return Check::failed("git", &error),
        };
        let [major, minor, patch] = version;
        let name = format!("git {major}.{minor}.{patch}");
        let Some(repository) = &self.repository else {
            let folder = self.config.root.display();
            return Check::advice("git", format!("{folder} is in no git repository"))
                .fixed_by("to create one", &["git", "init"]);
        };
        if let Err(error) = repository.work_tree() {
            return Check::failed("git", &error);
        }
        if version < MERGE_HOOK {
            let old = format!("{name} runs no hook before the commit of a merge: 2.24 does");
            return Check::advice("git", old);
        }
        if repository.is_shallow() {
            let shallow = "this clone is shallow: comparisons with earlier commits may fail";
            return Check::advice("git", shallow)
                .fixed_by("to complete it", &["git", "fetch", "--unshallow"]);
        }
        Check::ok("git", name).minor()
    }

    /// The checks that need a repository with a work tree.
    pub(super) fn repository_checks(&self) -> Vec<Check> {
        let repository = self.repository.as_ref();
        let Some(repository) = repository.filter(|it| it.work_tree().is_ok()) else {
            return vec![];
        };
        let failed = |name: &'static str| move |error| Check::failed(name, &error);
        vec![
            self.hook(repository).unwrap_or_else(failed("hook")),
            self.merges(repository).unwrap_or_else(failed("merges")),
            self.conflicts(repository)
                .unwrap_or_else(failed("conflicts")),
            self.ignored(repository).unwrap_or_else(failed("ignored")),
        ]
    }

    fn hook(&self, repository: &Repository) -> anyhow::Result<Check> {
        let install = ("to install it", ["urldb", "hook", "install"]);
        let relative = |file: &Path| {
            let top = repository.work_tree().unwrap_or(file);
            file.strip_prefix(top).unwrap_or(file).display().to_string()
        };
        Ok(match repository.hook_state(&self.config.root)? {
            HookState::Installed if is_on_path("urldb") => {
                Check::ok("hook", "pre-commit hook installed")
            }
            HookState::Installed => Check::fault(
                "hook",
                "pre-commit hook installed, but urldb is not on PATH, so the hook stops every commit",
            )
            .fixed_by_script("to install urldb", INSTALL),
            HookState::Missing(files) if files.len() == git::Hook::ALL.len() => Check::advice(
                "hook",
                "no hook: commits take domain files with mistakes, and in any form",
            )
            .fixed_by(install.0, &install.1),
            HookState::Missing(files) => {
                let names = names(files.iter().map(|file| relative(file)));
                let sentence = format!("one of two hooks does not serve this project: {names}");
                Check::advice("hook", sentence).fixed_by(install.0, &install.1)
            }
            HookState::NotExecutable(file) => {
                let name = relative(&file);
                let sentence = format!("{name} is not executable, so git does not run it");
                Check::fault("hook", sentence)
                    .fixed_by("to mend it", &["chmod", "+x", &self.argument(&file)])
            }
            HookState::Outdated(file) => {
                let name = relative(&file);
                let sentence = format!("another version of urldb wrote {name}, or it was edited");
                let script = "urldb hook uninstall && urldb hook install";
                Check::advice("hook", sentence).fixed_by_script("to renew it", script)
            }
            HookState::Managed {
                manager,
                configuration,
                is_installed,
            } => managed(manager, configuration.as_deref(), is_installed),
            HookState::Unusable(why) => Check::fault("hook", why),
        })
    }

    fn merges(&self, repository: &Repository) -> anyhow::Result<Check> {
        let MergeDriverState {
            is_configured,
            is_current,
            mut unnamed,
        } = repository.merge_driver_state(&merge_attributes(&self.config))?;
        if self.has_own_ledger() {
            let ledger = repository.relative(&self.ledger_folder())?;
            unnamed.retain(|file| !file.starts_with(&ledger));
        }
        let sentence = if !is_configured {
            "no merge driver: git stops where two branches add URLs in one place".to_owned()
        } else if !is_current {
            "another version of urldb set the merge driver, or it was edited".to_owned()
        } else if let Some(file) = unnamed.first() {
            let file = file.display();
            format!(".gitattributes does not name the merge of files such as {file}")
        } else {
            let sentence = "merge driver set in .git/config and .gitattributes";
            return Ok(Check::ok("merges", sentence));
        };
        Ok(Check::advice("merges", sentence).fixed_by("to set it", &["urldb", "hook", "install"]))
    }

    /// Whether the ledger is a repository of its own, or a work tree of another branch.
    fn has_own_ledger(&self) -> bool {
        is_there(&self.ledger_folder().join(".git"))
    }

    fn conflicts(&self, repository: &Repository) -> anyhow::Result<Check> {
        let mut unmerged = vec![];
        for folder in [self.database_folder(), self.ledger_folder()] {
            if let Ok(folder) = repository.relative(&folder) {
                let files = repository.unmerged(&folder)?;
                unmerged.extend(files.into_iter().map(|file| file.path));
            }
        }
        if unmerged.is_empty() {
            return Ok(Check::ok("conflicts", "no unresolved conflicts").minor());
        }
        let number = count(unmerged.len() as u64, "file");
        let verb = if unmerged.len() == 1 { "has" } else { "have" };
        let names = names(unmerged.iter().map(|path| path.display().to_string()));
        let sentence = format!("{number} {verb} an unresolved conflict: {names}");
        Ok(Check::fault("conflicts", sentence)
            .fixed_by("to merge by record", &["urldb", "resolve"])
            .minor())
    }

    /// Files that no commit should have, and git does not ignore.
    fn ignored(&self, repository: &Repository) -> anyhow::Result<Check> {
        let mut missing: Vec<String> = vec![];
        for folder in [self.database_folder(), self.ledger_folder()] {
            let file = folder.join(".urldb-tmp-x");
            let is_here = repository.relative(&folder).is_ok() && !is_there(&folder.join(".git"));
            if is_here && !repository.ignores(&file)? {
                missing.push(self.name(&folder.join(".urldb-tmp-*")));
            }
        }
        let archive = self.archive_folder();
        if matches!(self.tracking(&archive, ".lock")?, FolderTracking::Committed) {
            for (file, pattern) in [(".lock", ".*"), ("index/x", "index/*")] {
                if !repository.ignores(&archive.join(file))? {
                    missing.push(self.name(&archive.join(pattern)));
                }
            }
        }
        for folder in self.config.output_roots() {
            if matches!(
                self.tracking(folder.path(), "x")?,
                FolderTracking::Untracked
            ) {
                missing.push(self.folder_name(folder.path()));
            }
        }
        if missing.is_empty() {
            return Ok(Check::ok("ignored", "git ignores temporary files and output").minor());
        }
        let sentence = format!("git does not ignore {}", names(missing.into_iter()));
        Ok(Check::advice("ignored", sentence)
            .fixed_by("to ignore it", &["urldb", "init"])
            .minor())
    }

    pub(super) fn git_locks(&self) -> Check {
        let locks = self.repository.as_ref().map(Repository::locks);
        let mut sentences = vec![];
        let mut words = vec!["rm".to_owned(), "--".to_owned()];
        for GitLock { path, age } in locks.unwrap_or_default() {
            if age < OLD {
                continue;
            }
            let (name, age) = (self.name(&path), in_words(age));
            sentences.push(format!(
                "{name} is {age} old and stops git: if no git command runs, remove it"
            ));
            words.push(self.argument(&path));
        }
        if sentences.is_empty() {
            return Check::ok("locks", "no lock of git is left").minor();
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Check::fault("locks", sentences.join("; "))
            .fixed_by("to remove it", &words)
            .minor()
    }
}

/// The check of hooks that another program manages.
fn managed(manager: HookManager, configuration: Option<&Path>, is_installed: bool) -> Check {
    let name = manager.as_str();
    match (configuration, is_installed) {
        (Some(file), true) => {
            let file = file.display();
            Check::ok("hook", format!("{name} runs urldb: {file} says so"))
        }
        (Some(file), false) => {
            let file = file.display();
            let sentence = format!("{file} names urldb, but {name} has no hooks in this clone");
            Check::advice("hook", sentence)
                .fixed_by_script("to install them", manager.install_command())
        }
        (None, _) => {
            let remedy = manager.remedy();
            let sentence = format!("{name} manages the hooks and does not run urldb: {remedy}");
            let check = Check::advice("hook", sentence);
            match manager.script() {
                Some(script) => check.fixed_by_script("to add it", script),
                None => check,
            }
        }
    }
}

/// Whether the shim finds a program.
fn is_on_path(program: &str) -> bool {
    let path = environment::os_variable("PATH").unwrap_or_default();
    let cargo = environment::os_variable("CARGO_HOME").map(PathBuf::from);
    let home = environment::os_variable("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let cargo = cargo.or(home).map(|folder| folder.join("bin"));
    std::env::split_paths(&path).chain(cargo).any(|folder| {
        let file = folder.join(program);
        is_file(&file) || is_file(&file.with_extension("exe"))
    })
}

/// `3 days`, `5 hours`, `40 minutes` or `12 seconds`, rounded down.
fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        ..60 => count(seconds, "second"),
        60..3_600 => count(seconds / 60, "minute"),
        3_600..86_400 => count(seconds / 3_600, "hour"),
        _ => count(seconds / 86_400, "day"),
    }
}
