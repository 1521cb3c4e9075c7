//! The pre-commit hook: normalizes staged files, or stops the commit.
//!
//! The hook checks staged bytes, not the files in the work tree, so the staged
//! part of a partly staged file decides. A file that can be normalized is
//! normalized in the commit. When one file must be rejected, the commit is
//! stopped and nothing is changed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use urldb_text::{Code, Finding};

use super::hook::Hook;
use super::paths;
use super::repository::Repository;
use super::restage::WorkTreeUpdate;
use super::staged::{EntryKind, StagedFile};
use crate::stop::Stop;

/// The result of checking one file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileCheck {
    /// The bytes can be committed as they are.
    Clean,
    /// These bytes can be committed instead; the notes name the changes.
    Normalized(Vec<u8>, Vec<String>),
    /// The bytes cannot be committed because of these errors.
    Rejected(Vec<Finding>),
}

/// A file that was normalized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalizedFile {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// The changes, for people.
    pub notes: Vec<String>,
    /// The change of the file in the work tree.
    pub work_tree: WorkTreeUpdate,
}

/// A file that stops the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedFile {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// The reasons.
    pub findings: Vec<Finding>,
}

/// The result of the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreCommitOutcome {
    /// The commit can go on, with these files normalized.
    Passed(Vec<NormalizedFile>),
    /// These files stop the commit; nothing was changed.
    Stopped(Vec<RejectedFile>),
    /// A signal came before anything was changed.
    Interrupted,
}

/// A folder whose staged files the hook checks.
#[derive(Debug, Clone)]
pub struct CheckedFolder {
    /// Relative to the top of the work tree; see [`Repository::relative`].
    pub path: PathBuf,
    /// Whether the hook checks the file with this path.
    pub is_checked: fn(&Path) -> bool,
}

/// The staged files directly in `folders` that the hook checks.
///
/// # Errors
/// When git fails, or the repository is bare.
pub fn staged_files(repo: &Repository, folders: &[CheckedFolder]) -> Result<Vec<StagedFile>> {
    let paths: Vec<&Path> = folders.iter().map(|folder| &*folder.path).collect();
    let mut staged = repo.staged(&paths)?;
    staged.retain(|file| {
        let folder = folders
            .iter()
            .find(|folder| file.path.parent() == Some(&folder.path));
        folder.is_some_and(|folder| (folder.is_checked)(&file.path))
    });
    Ok(staged)
}

/// Checks the files of [`staged_files`], and restages those that `check` normalizes.
///
/// `check` gets a path relative to the top of the work tree, and the staged bytes. `stop` ends the
/// work before anything is written; what is begun after that is completed. `check_all` then names the
/// files that are wrong because of other ones.
///
/// # Errors
/// When git, `check` or `check_all` fails, or the repository is bare; never about the content of a file.
pub fn pre_commit(
    repo: &Repository,
    staged: Vec<StagedFile>,
    stop: &Stop,
    check: impl Fn(&Path, &[u8]) -> Result<FileCheck>,
    check_all: impl FnOnce() -> Result<Vec<RejectedFile>>,
) -> Result<PreCommitOutcome> {
    let mut replacements = Vec::new();
    let mut all_notes = Vec::new();
    let mut rejected = Vec::new();
    for staged in staged {
        if stop.is_set() {
            return Ok(PreCommitOutcome::Interrupted);
        }
        match check_file(repo, &staged, &check)? {
            FileCheck::Clean => {}
            FileCheck::Normalized(bytes, notes) => {
                replacements.push((staged, bytes));
                all_notes.push(notes);
            }
            FileCheck::Rejected(findings) => rejected.push(RejectedFile {
                path: staged.path,
                findings,
            }),
        }
    }
    rejected.extend(check_all()?);
    if !rejected.is_empty() {
        return Ok(PreCommitOutcome::Stopped(rejected));
    }
    if replacements.is_empty() {
        return Ok(PreCommitOutcome::Passed(Vec::new()));
    }
    let restaged = repo.restage(&replacements)?;
    Ok(PreCommitOutcome::Passed(
        restaged
            .into_iter()
            .zip(all_notes)
            .map(|(file, notes)| NormalizedFile {
                path: file.path,
                notes,
                work_tree: file.work_tree,
            })
            .collect(),
    ))
}

fn check_file(
    repo: &Repository,
    staged: &StagedFile,
    check: impl Fn(&Path, &[u8]) -> Result<FileCheck>,
) -> Result<FileCheck> {
    let (code, why) = match staged.kind() {
        EntryKind::File => {
            let bytes = repo.read_blob(&staged.id).with_context(|| {
                format!(
                    "cannot read what is staged of {}",
                    paths::shown(&staged.path)
                )
            })?;
            return check(&staged.path, &bytes);
        }
        EntryKind::Symlink => (
            Code::NotAFile,
            "is a symbolic link; a file of the database must be a regular file",
        ),
        EntryKind::Submodule => (
            Code::NotAFile,
            "is a submodule; a file of the database must be a regular file",
        ),
        EntryKind::Unmerged => (
            Code::UnmergedFile,
            "has a conflict; resolve it and `git add` the file",
        ),
    };
    Ok(FileCheck::Rejected(vec![Finding::new(code, 1, why)]))
}

impl PreCommitOutcome {
    /// Whether git may make the commit, that is whether `hook` should succeed.
    ///
    /// A normalized merge needs another `git commit`: git has written its tree
    /// already.
    pub fn lets_commit(&self, hook: Hook) -> bool {
        match self {
            Self::Passed(normalized) => hook == Hook::PreCommit || normalized.is_empty(),
            Self::Stopped(_) | Self::Interrupted => false,
        }
    }

    /// The message of `hook` for a user in the folder `from` (relative to the
    /// work tree, see [`Repository::prefix`]); empty when nothing was changed
    /// or rejected.
    pub fn render(&self, hook: Hook, from: &Path) -> String {
        let mut text = String::new();
        match self {
            Self::Passed(normalized) => {
                for file in normalized {
                    text += &render_normalized(file, from);
                }
                if !self.lets_commit(hook) {
                    text += "urldb: run `git commit` to finish the merge with these changes\n";
                }
            }
            Self::Stopped(rejected) => {
                for file in rejected {
                    text += &render_rejected(file, from);
                }
                text += "urldb: commit stopped; no file of this project was changed\n";
            }
            Self::Interrupted => {
                text += "urldb: interrupted; no file of this project was changed\n";
            }
        }
        text
    }
}

fn render_normalized(file: &NormalizedFile, from: &Path) -> String {
    let path = paths::shown(&paths::relative(&file.path, from));
    let notes = match file.notes.as_slice() {
        [] => String::new(),
        notes => format!(" ({})", notes.join(", ")),
    };
    let only = match file.work_tree {
        WorkTreeUpdate::Updated => "",
        WorkTreeUpdate::LeftAlone => " in the commit only: the file has unstaged changes",
    };
    format!("urldb: normalized {path}{notes}{only}\n")
}

fn render_rejected(file: &RejectedFile, from: &Path) -> String {
    let path = paths::relative(&file.path, from);
    let lines: Vec<String> = file
        .findings
        .iter()
        .map(|finding| finding.clone().in_file(&path))
        .map(|finding| format!("{finding:#}"))
        .collect();
    lines.join("\n") + "\n"
}
