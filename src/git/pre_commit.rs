//! The pre-commit hook: the staged domain files are put in order, or the
//! commit is stopped; so it is by mistakes in site rules.
//!
//! It looks at what will be committed, not at the files in the work tree, so
//! that a partly staged file is judged by the staged part. What can be fixed
//! is fixed in the commit; when anything cannot, the commit is stopped and
//! nothing is changed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use urldb_format::is_domain_file;

use super::install::Hook;
use super::paths;
use super::repository::Repository;
use super::restage::WorkTree;
use super::staged::{Kind, Staged};
use crate::database::site_rules::{FOLDER, is_rules_file};

/// What a judge says of one file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// They can be committed as they are.
    Clean,
    /// These can be committed in their place; the notes say what was done.
    Fixed(Vec<u8>, Vec<String>),
    /// They cannot be committed.
    Refused(Vec<Message>),
}

/// Why a file cannot be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// For people.
    pub text: String,
}

/// A file that was put in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// What was done to it.
    pub notes: Vec<String>,
    /// What became of the file itself.
    pub work_tree: WorkTree,
}

/// A file that stops the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// Why.
    pub messages: Vec<Message>,
}

/// What came of the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreCommitOutcome {
    /// The commit can go on, with these files put in order.
    Passed(Vec<Fixed>),
    /// The commit must not be made; nothing was changed.
    Stopped(Vec<Refused>),
}

/// Judges every staged domain file of the folder `database`, and every file of
/// rules in its folder of rules, and restages those that can be fixed.
///
/// The judge gets the path relative to the work tree, and the staged bytes.
///
/// # Errors
/// When git, or the repository, is not fit for it; never about what a file says.
pub fn pre_commit(
    repo: &Repository,
    database: &Path,
    judge: impl Fn(&Path, &[u8]) -> Judged,
) -> Result<PreCommitOutcome> {
    let mut replacements = Vec::new();
    let mut all_notes = Vec::new();
    let mut refused = Vec::new();
    let folder = repo.relative(database)?;
    let rules = folder.join(FOLDER);
    for staged in repo.staged(&[&folder, &rules])? {
        let is_in_rules = staged.path.parent() == Some(&rules);
        let is_wanted = if is_in_rules {
            is_rules_file(&staged.path)
        } else {
            is_domain_file(&staged.path)
        };
        if !is_wanted {
            continue;
        }
        match judge_entry(repo, &staged, &judge)? {
            Judged::Clean => {}
            Judged::Fixed(bytes, notes) => {
                replacements.push((staged, bytes));
                all_notes.push(notes);
            }
            Judged::Refused(messages) => refused.push(Refused {
                path: staged.path,
                messages,
            }),
        }
    }
    if !refused.is_empty() {
        return Ok(PreCommitOutcome::Stopped(refused));
    }
    if replacements.is_empty() {
        return Ok(PreCommitOutcome::Passed(Vec::new()));
    }
    let restaged = repo.restage(&replacements)?;
    let fixed = restaged
        .into_iter()
        .zip(all_notes)
        .map(|(file, notes)| Fixed {
            path: file.path,
            notes,
            work_tree: file.work_tree,
        });
    Ok(PreCommitOutcome::Passed(fixed.collect()))
}

fn judge_entry(
    repo: &Repository,
    staged: &Staged,
    judge: impl Fn(&Path, &[u8]) -> Judged,
) -> Result<Judged> {
    let why = match staged.kind() {
        Kind::File => {
            let bytes = repo.read_blob(&staged.id).with_context(|| {
                format!(
                    "cannot read what is staged of {}",
                    paths::shown(&staged.path)
                )
            })?;
            return Ok(judge(&staged.path, &bytes));
        }
        Kind::Symlink => "is a symbolic link; a file of the database must be a regular file",
        Kind::Submodule => "is a submodule; a file of the database must be a regular file",
        Kind::Unmerged => "has a conflict; resolve it and `git add` the file",
    };
    Ok(Judged::Refused(vec![Message {
        line: 1,
        column: 1,
        text: why.to_owned(),
    }]))
}

impl PreCommitOutcome {
    /// Whether git may make the commit, that is whether `hook` should succeed.
    ///
    /// A merge that was put in order has to be committed anew, since git would
    /// commit it as it was.
    pub fn lets_commit(&self, hook: Hook) -> bool {
        match self {
            Self::Passed(fixed) => hook == Hook::PreCommit || fixed.is_empty(),
            Self::Stopped(_) => false,
        }
    }

    /// What `hook` should tell the user, who stands in the folder `from`
    /// (relative to the work tree, see [`Repository::prefix`]); empty when all
    /// was in order.
    pub fn render(&self, hook: Hook, from: &Path) -> String {
        let mut text = String::new();
        match self {
            Self::Passed(fixed) => {
                for file in fixed {
                    text += &render_fixed(file, from);
                }
                if !self.lets_commit(hook) {
                    text += "urldb: run `git commit` to finish the merge with these changes\n";
                }
            }
            Self::Stopped(refused) => {
                for file in refused {
                    text += &render_refused(file, from);
                }
                text += "urldb: commit stopped; nothing was changed\n";
            }
        }
        text
    }
}

fn render_fixed(file: &Fixed, from: &Path) -> String {
    let path = paths::shown(&paths::relative(&file.path, from));
    let notes = match file.notes.as_slice() {
        [] => String::new(),
        notes => format!(" ({})", notes.join(", ")),
    };
    let only = match file.work_tree {
        WorkTree::Updated => "",
        WorkTree::LeftAlone => " in the commit only: the file has unstaged changes",
    };
    format!("urldb: normalized {path}{notes}{only}\n")
}

fn render_refused(file: &Refused, from: &Path) -> String {
    let path = paths::shown(&paths::relative(&file.path, from));
    let lines = file
        .messages
        .iter()
        .map(|Message { line, column, text }| format!("{path}:{line}:{column}: {text}\n"));
    lines.collect()
}
