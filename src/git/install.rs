//! Installs the shim where git looks for hooks, and removes it.
//!
//! An existing hook moves to a folder of its own, under its own name, and the
//! shim runs it first. Where another program manages the hooks, nothing is
//! touched, and the error says what to add there instead.
#![expect(
    clippy::disallowed_methods,
    reason = "git's folder of hooks is the user's own"
)]

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::command::output;
use super::managers::{HookManager, names_urldb};
use super::paths;
use super::repository::Repository;

use crate::limits;

/// The shim, as the pre-commit hook: `hooks/pre-commit`.
const SHIM: &str = include_str!("../../hooks/pre-commit");
/// The line that marks our own shim, of any version.
const MARK: &str = "# urldb hook:";
/// The first words of the shim's part for a hook that was there before.
const CHAIN: &str = "# The hook that was here before";
/// The folder, among the hooks, of hooks that were there before.
const BEFORE: &str = "before-urldb";
/// The suffix of a hook that pre-commit or prek found and runs before its own hooks.
const LEGACY: &str = "legacy";

/// A git hook that urldb uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Before every commit except those of [`Self::PreMergeCommit`].
    PreCommit,
    /// Before the commit of a merge without conflicts. Git has written the
    /// tree already, so the commit lacks what the hook stages.
    PreMergeCommit,
}

impl Hook {
    /// All hooks.
    pub const ALL: [Self; 2] = [Self::PreCommit, Self::PreMergeCommit];

    /// Git's name of the hook.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PreMergeCommit => "pre-merge-commit",
        }
    }

    /// The hook of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// The line by which the shim serves a project.
    fn line(self, project: &str) -> String {
        let folder = project.replace('\'', "'\\''");
        format!(
            "urldb -C '{folder}' hook run {} \"$@\" || exit\n",
            self.name()
        )
    }

    /// The shim for this hook and a project.
    fn shim(self, project: &str, has_before: bool) -> String {
        let parts = SHIM.split_inclusive("\n\n");
        let parts = parts.filter(|part| has_before || !part.starts_with(CHAIN));
        let (mut shim, _) = split_project_lines(&parts.collect::<String>());
        shim = shim.replace("/pre-commit\n", &format!("/{}\n", self.name()));
        shim + &self.line(project)
    }

    /// Whether a shim has all lines that this version writes, in their order. Users may add lines.
    fn is_current(self, text: &str, dir: &Path) -> bool {
        let has_before = fs::symlink_metadata(dir.join(BEFORE).join(self.name())).is_ok();
        let current = self.shim(".", has_before);
        let (current, _) = split_project_lines(&current);
        let mut lines = text.lines();
        current
            .lines()
            .all(|wanted| lines.any(|line| line == wanted))
    }
}

/// A shim without the lines of its projects, and those lines.
fn split_project_lines(shim: &str) -> (String, Vec<&str>) {
    let (lines, rest): (Vec<&str>, Vec<&str>) = shim
        .split_inclusive('\n')
        .partition(|line| line.starts_with("urldb -C ") && line.contains(" hook run "));
    (rest.concat(), lines)
}

/// The result of installing a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    /// The shim of this file serves the project from now on.
    New(PathBuf),
    /// The shim of this file served the project already, and was left as it is.
    Existing(PathBuf),
    /// The shim was written, and runs the hook that was there before.
    Chained {
        /// Our hook.
        hook: PathBuf,
        /// The other one.
        before: PathBuf,
    },
}

/// How far the hooks of a repository serve a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// Every hook runs urldb for the project.
    Installed,
    /// These hooks are not there, or do not serve the project.
    Missing(Vec<PathBuf>),
    /// Git does not run this hook, since it is not executable.
    NotExecutable(PathBuf),
    /// Another version of urldb wrote this hook.
    Outdated(PathBuf),
    /// Another program manages the hooks.
    Managed {
        /// The program.
        manager: HookManager,
        /// Its configuration, relative to the top of the work tree, if it names urldb.
        configuration: Option<PathBuf>,
        /// Whether the program has installed its hooks.
        is_installed: bool,
    },
    /// Urldb installs no hooks here; the text says why.
    Unusable(String),
}

impl Repository {
    /// Installs the shims of all hooks, or none of them, for the project in the folder `project`.
    ///
    /// # Errors
    /// When the hooks are managed by another program, or are shared with other
    /// repositories; the message says what to do instead.
    pub fn install_hooks(&self, project: &Path) -> Result<Vec<Installation>> {
        let dir = self.hooks_dir()?;
        let project = self.project_name(project)?;
        let plans = Hook::ALL.map(|hook| Plan::new(hook, &dir, &project));
        let plans = plans.into_iter().collect::<Result<Vec<_>>>()?;
        for (number, plan) in plans.iter().enumerate() {
            if let Err(error) = plan.execute() {
                for done in &plans[..=number] {
                    done.undo()?;
                }
                return Err(error);
            }
        }
        Ok(plans.into_iter().map(|plan| plan.installation).collect())
    }

    /// Removes a project from the shims. A shim without projects is removed, and the hook that was
    /// there before gets its place back. Returns the files that changed.
    ///
    /// # Errors
    /// When the hooks are shared with other repositories, or a file cannot be renamed or removed.
    pub fn uninstall_hooks(&self, project: &Path) -> Result<Vec<PathBuf>> {
        if is_of_husky(&self.hooks_folder()?) {
            // The lines in its files are the user's.
            return Ok(vec![]);
        }
        let dir = self.hooks_dir()?;
        let project = self.project_name(project)?;
        let mut changed = Vec::new();
        for hook in Hook::ALL {
            let (file, text) = find_hook(hook, &dir)?;
            let Some(shim) = text.filter(|text| text.contains(MARK)) else {
                continue;
            };
            let line = hook.line(&project);
            let (_, lines) = split_project_lines(&shim);
            if !lines.is_empty() && !lines.contains(&&*line) {
                continue;
            }
            let failed = || format!("cannot remove {}", paths::shown(&file));
            if lines.len() > 1 {
                write_shim(&file, &shim.replace(&line, "")).with_context(failed)?;
            } else {
                let before = dir.join(BEFORE).join(hook.name());
                if fs::symlink_metadata(&before).is_ok() {
                    move_hook(&before, &file).with_context(failed)?;
                    remove_if_empty(&dir.join(BEFORE));
                } else {
                    fs::remove_file(&file).with_context(failed)?;
                }
            }
            changed.push(file);
        }
        Ok(changed)
    }

    /// How far the hooks of the repository serve the project in the folder `project`. Changes nothing.
    ///
    /// # Errors
    /// When a hook cannot be read.
    pub fn hook_state(&self, project: &Path) -> Result<HookState> {
        let dir = match self.hooks_dir() {
            Ok(dir) => dir,
            Err(refusal) => return Ok(self.state_elsewhere(&refusal)),
        };
        let project = self.project_name(project)?;
        let mut missing = vec![];
        for hook in Hook::ALL {
            let (file, text) = find_hook(hook, &dir)?;
            let text = text.unwrap_or_default();
            let is_ours = text.contains(MARK);
            if let Some(manager) = HookManager::of_hook(&text).filter(|_| !is_ours) {
                return Ok(self.managed_by(manager, true));
            }
            if !is_ours && names_urldb(&text) {
                continue;
            }
            if !is_ours || !text.contains(&hook.line(&project)) {
                missing.push(file);
            } else if !is_executable(&file) {
                return Ok(HookState::NotExecutable(file));
            } else if !hook.is_current(&text, &dir) {
                return Ok(HookState::Outdated(file));
            }
        }
        if missing.is_empty() {
            return Ok(HookState::Installed);
        }
        let top = self.work_tree()?;
        let mut managers = HookManager::ALL.into_iter();
        let configured = managers.find(|it| it.configuration_with_urldb(top).is_some());
        match configured {
            Some(manager) if missing.len() == Hook::ALL.len() => {
                Ok(self.managed_by(manager, false))
            }
            _ => Ok(HookState::Missing(missing)),
        }
    }

    fn managed_by(&self, manager: HookManager, is_installed: bool) -> HookState {
        let top = self.work_tree().ok();
        HookState::Managed {
            manager,
            configuration: top.and_then(|top| manager.configuration_with_urldb(top)),
            is_installed,
        }
    }

    /// The state where urldb installs no hooks.
    fn state_elsewhere(&self, refusal: &anyhow::Error) -> HookState {
        let dir = self.hooks_folder().unwrap_or_default();
        if is_of_husky(&dir) {
            return self.managed_by(HookManager::Husky, true);
        }
        let hook = dir.join(Hook::PreCommit.name());
        let text = urldb_files::read(&hook, limits::GIT_FILE).unwrap_or_default();
        if names_urldb(&String::from_utf8_lossy(&text)) {
            return HookState::Installed;
        }
        HookState::Unusable(refusal.to_string())
    }

    /// The folder of a project relative to the work tree, where git runs hooks.
    fn project_name(&self, project: &Path) -> Result<String> {
        // A configuration above the work tree is found from its top.
        let Ok(folder) = self.relative(project) else {
            return Ok(".".to_owned());
        };
        match folder.to_str() {
            Some("") => Ok(".".to_owned()),
            Some(name) if !name.contains(char::is_control) => Ok(name.to_owned()),
            _ => bail!(
                "the hook cannot name the folder {}; rename the folder",
                paths::shown(&folder)
            ),
        }
    }

    /// The folder where git looks for hooks.
    fn hooks_folder(&self) -> Result<PathBuf> {
        let answer = output(self.git().args(["rev-parse", "--git-path", "hooks"]), b"")?;
        let answer = answer.strip_suffix(b"\n").unwrap_or(&answer);
        paths::resolve(&self.work_tree()?.join(paths::from_bytes(answer)))
    }

    /// The folder where git looks for hooks, if urldb can install hooks there.
    fn hooks_dir(&self) -> Result<PathBuf> {
        if self
            .config("core.hooksPath")
            .is_some_and(|it| it.is_empty())
        {
            bail!(
                "core.hooksPath is empty, so git runs no hooks here; \
                 unset it with `git config --unset core.hooksPath`"
            );
        }
        let dir = self.hooks_folder()?;
        let own = dir.starts_with(self.work_tree()?) || dir.starts_with(self.common_dir());
        if !own {
            bail!(
                "core.hooksPath is {}, outside of this repository, so its hooks serve other repositories too; \
                 add the line `urldb hook run pre-commit` to the pre-commit hook there, \
                 or unset it with `git config --unset core.hooksPath`",
                paths::shown(&dir)
            );
        }
        if is_of_husky(&dir) {
            bail!("{}", managed(&dir, HookManager::Husky));
        }
        Ok(dir)
    }
}

/// Whether husky has moved the folder of hooks here.
fn is_of_husky(dir: &Path) -> bool {
    dir.components().any(|part| part.as_os_str() == ".husky")
}

fn managed(place: &Path, manager: HookManager) -> String {
    let (name, remedy) = (manager.name(), manager.remedy());
    format!("{} is managed by {name}; {remedy}", paths::shown(place))
}

/// What is to be done to install one hook, found out before anything is done.
struct Plan {
    installation: Installation,
    file: PathBuf,
    /// The present text of the file.
    present: Option<String>,
    /// The new text of the file.
    shim: String,
}

impl Plan {
    fn new(hook: Hook, dir: &Path, project: &str) -> Result<Self> {
        let (file, present) = find_hook(hook, dir)?;
        let before = dir.join(BEFORE).join(hook.name());
        let has_before = fs::symlink_metadata(&before).is_ok();
        let chained = || Installation::Chained {
            hook: file.clone(),
            before: before.clone(),
        };
        let line = hook.line(project);
        let (installation, shim) = match &present {
            // An earlier installation was cut off.
            None if has_before => (chained(), hook.shim(project, true)),
            None => (Installation::New(file.clone()), hook.shim(project, false)),
            // The user may have added lines, and the shim of any version runs today's urldb.
            Some(text) if text.contains(&line) => {
                (Installation::Existing(file.clone()), text.clone())
            }
            Some(text) if text.contains(MARK) => {
                let gap = if text.ends_with('\n') { "" } else { "\n" };
                (
                    Installation::New(file.clone()),
                    format!("{text}{gap}{line}"),
                )
            }
            Some(text) => {
                refuse_managed(&file, text)?;
                if has_before {
                    bail!(
                        "both {} and {} are hooks that urldb did not write; join them into one file first",
                        paths::shown(&file),
                        paths::shown(&before)
                    );
                }
                (chained(), hook.shim(project, true))
            }
        };
        Ok(Self {
            installation,
            file,
            present,
            shim,
        })
    }

    fn execute(&self) -> Result<()> {
        match &self.installation {
            Installation::Existing(_) => return Ok(()),
            Installation::Chained { hook, before } if self.present.is_some() => {
                move_hook(hook, before)
                    .with_context(|| format!("cannot rename {}", paths::shown(hook)))?;
            }
            _ => {}
        }
        write_shim(&self.file, &self.shim)
            .with_context(|| format!("cannot write {}", paths::shown(&self.file)))
    }

    /// Restores the files as they were, whether [`Self::execute`] came to its end or not.
    fn undo(&self) -> Result<()> {
        let undone = match (&self.installation, &self.present) {
            (Installation::Existing(_), _) => Ok(()),
            (Installation::Chained { hook, before }, Some(_)) => {
                if fs::symlink_metadata(before).is_ok() {
                    let moved = move_hook(before, hook);
                    before.parent().map(remove_if_empty);
                    moved
                } else {
                    Ok(())
                }
            }
            (_, Some(text)) => write_shim(&self.file, text),
            (_, None) => match urldb_files::read(&self.file, limits::GIT_FILE) {
                Ok(bytes) if bytes == self.shim.as_bytes() => fs::remove_file(&self.file),
                // The shim was never written.
                _ => Ok(()),
            },
        };
        undone.with_context(|| format!("cannot restore {}", paths::shown(&self.file)))
    }
}

/// The file of a hook, and its text if there is such a file. After an installation of pre-commit or
/// prek, our shim is its legacy hook.
fn find_hook(hook: Hook, dir: &Path) -> Result<(PathBuf, Option<String>)> {
    let read = |file: &Path| match urldb_files::read(file, limits::GIT_FILE) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| paths::shown(file)),
    };
    let file = dir.join(hook.name());
    let legacy = dir.join(format!("{}.{LEGACY}", hook.name()));
    let text = read(&file)?;
    let is_ours = |text: &Option<String>| text.as_ref().is_some_and(|it| it.contains(MARK));
    if !is_ours(&text)
        && let legacy_text = read(&legacy)?
        && is_ours(&legacy_text)
    {
        return Ok((legacy, legacy_text));
    }
    Ok((file, text))
}

fn refuse_managed(hook: &Path, text: &str) -> Result<()> {
    match HookManager::of_hook(text) {
        Some(manager) => bail!("{}", managed(hook, manager)),
        None => Ok(()),
    }
}

/// Moves a hook between the folder of hooks and the folder [`BEFORE`] in it. A relative link leads to
/// the same file afterwards.
fn move_hook(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir)?;
    }
    match fs::read_link(from) {
        Ok(target) if target.is_relative() => {
            let inwards = to.parent().is_some_and(|dir| dir.ends_with(BEFORE));
            let target = match target.strip_prefix("..") {
                Ok(outwards) if !inwards => outwards.to_owned(),
                _ => Path::new("..").join(target),
            };
            move_link(from, to, &target)
        }
        _ => fs::rename(from, to),
    }
}

/// Replaces whatever is at `to` by a link, and removes the link at `from`.
#[cfg(unix)]
fn move_link(from: &Path, to: &Path, target: &Path) -> io::Result<()> {
    let draft = to.with_extension("link");
    std::os::unix::fs::symlink(target, &draft)?;
    fs::rename(&draft, to)?;
    fs::remove_file(from)
}

/// Moves the link as it is: Git for Windows checks links out as plain files.
#[cfg(not(unix))]
fn move_link(from: &Path, to: &Path, _: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes the folder unless the user has put files there.
fn remove_if_empty(dir: &Path) {
    // A folder that stays does no harm.
    let _ = fs::remove_dir(dir);
}

/// Writes the shim, and its folder if need be.
fn write_shim(file: &Path, shim: &str) -> io::Result<()> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    urldb_files::write_atomically_with(file, |file| {
        make_executable(file)?;
        file.write_all(shim.as_bytes())
    })
}

#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

/// Whether git runs the hook.
#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Whether git runs the hook: Git for Windows runs a hook of any mode.
#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

/// Does nothing: Git for Windows runs a hook of any mode.
#[cfg(not(unix))]
fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}
