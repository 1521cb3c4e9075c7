//! Installs the shim in git's folder of hooks, and removes it.
//!
//! An existing hook moves to a folder of its own, under its own name, and the shim runs it first. If
//! another program manages the hooks, no file changes, and the error names the line to add there.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::command::output;
use super::hook::{Hook, MARK, split_project_lines};
use super::hook_files::{
    BEFORE, exists, find_hook, has_before, is_executable, move_hook, remove_before, remove_hook,
    write_shim,
};
use super::managers::{HookManager, names_urldb};
use super::paths;
use super::repository::Repository;
use crate::limits;

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

/// The state of the hooks of a repository for a project.
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
        let plans = Hook::ALL
            .map(|hook| Plan::new(hook, &dir, &project))
            .into_iter()
            .collect::<Result<Vec<_>>>()?;
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
            } else if has_before(hook, &dir) {
                let before = dir.join(BEFORE).join(hook.name());
                move_hook(&before, &file).with_context(failed)?;
                remove_before(&dir.join(BEFORE));
            } else {
                remove_hook(&file).with_context(failed)?;
            }
            changed.push(file);
        }
        Ok(changed)
    }

    /// The state of the hooks for the project in the folder `project`. Changes nothing.
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
            } else if !hook.is_current(&text, has_before(hook, &dir)) {
                return Ok(HookState::Outdated(file));
            }
        }
        if missing.is_empty() {
            return Ok(HookState::Installed);
        }
        let top = self.work_tree()?;
        let configured = HookManager::ALL
            .into_iter()
            .find(|it| it.configuration_with_urldb(top).is_some());
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
    let (name, remedy) = (manager.as_str(), manager.remedy());
    format!("{} is managed by {name}; {remedy}", paths::shown(place))
}

/// The steps that install one hook; all plans are made before the first is executed.
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
        let has_before = has_before(hook, dir);
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
                if exists(before) {
                    let moved = move_hook(before, hook);
                    before.parent().map(remove_before);
                    moved
                } else {
                    Ok(())
                }
            }
            (_, Some(text)) => write_shim(&self.file, text),
            (_, None) => match urldb_files::read(&self.file, limits::GIT_FILE) {
                Ok(bytes) if bytes == self.shim.as_bytes() => remove_hook(&self.file),
                // The shim was never written.
                _ => Ok(()),
            },
        };
        undone.with_context(|| format!("cannot restore {}", paths::shown(&self.file)))
    }
}

fn refuse_managed(hook: &Path, text: &str) -> Result<()> {
    match HookManager::of_hook(text) {
        Some(manager) => bail!("{}", managed(hook, manager)),
        None => Ok(()),
    }
}
