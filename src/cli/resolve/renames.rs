//! Domain files at which git stopped because of their names: one side renamed a file that the other side
//! removed, or each side gave it another name. Another name is another host, so a person has to decide.

use std::path::Path;

use urldb_text::{Code, Finding};

use super::{FileToMerge, git_command};
use crate::cli::Context;
use crate::git::{Base, Repository, Stage};

/// The commands by which a person decides about a file that only one side has.
pub(super) fn keep_or_remove(path: &Path) -> String {
    format!(
        "keep the file with `{}`, or remove it with `{}`",
        git_command(&["git", "add"], path),
        git_command(&["git", "rm"], path)
    )
}

/// The finding about a conflict in the name of a domain file; `None` if git stopped for another reason.
/// `all` are the unmerged files.
///
/// # Errors
/// When git fails.
pub(super) fn conflict(
    file: &FileToMerge,
    all: &[FileToMerge],
    repository: &Repository,
    context: &Context,
) -> anyhow::Result<Option<Finding>> {
    let (has_ancestor, side) = (file.has_ancestor(), file.only_side());
    let (message, help) = match side {
        Some(side) if has_ancestor => {
            let Base::OtherFile(old) = &file.base else {
                return Ok(None);
            };
            let top = repository.work_tree()?;
            let old = old
                .as_ref()
                .map_or_else(|| "a file".to_owned(), |old| context.shown(&top.join(old)));
            let (here, there) = (side.name, side.other);
            (
                format!("{there} side removed {old}, which {here} side renamed to this name"),
                keep_or_remove(&file.path),
            )
        }
        Some(side) => {
            let twin = only(all.iter().filter(|other| is_twin(other, side)));
            let (here, there) = (side.name, side.other);
            let message = match twin {
                Some(twin) => format!(
                    "{here} side renamed a file to this name, {there} side renamed it to {}",
                    context.shown(&twin.path)
                ),
                None => format!(
                    "only {here} side has this name, which comes from a renamed file or folder"
                ),
            };
            (message, keep_or_remove(&file.path))
        }
        None if has_ancestor && file.unmerged.stages[1..].iter().all(Option::is_none) => {
            let renamed = |name| {
                all.iter().filter(move |other| {
                    !other.has_ancestor() && other.only_side().is_some_and(|it| it.name == name)
                })
            };
            if renamed("our").chain(renamed("their")).next().is_none() {
                // Both sides lack the file, and the new names are settled.
                return Ok(None);
            }
            let to = |name| only(renamed(name)).map(|file| context.shown(&file.path));
            let message = match (to("our"), to("their")) {
                (Some(our), Some(their)) => {
                    format!("our side renamed this file to {our}, their side to {their}")
                }
                _ => "each side gave this file another name".to_owned(),
            };
            let remove = git_command(&["git", "rm"], &file.path);
            let help = format!("decide about the new names, and remove this one with `{remove}`");
            (message, help)
        }
        None => return Ok(None),
    };
    let finding = Finding::new(Code::UnmergedFile, 1, message);
    Ok(Some(finding.with_help(help)))
}

/// The only side that has a file.
#[derive(Clone, Copy)]
pub(super) struct OnlySide<'a> {
    /// `our` or `their`.
    pub(super) name: &'static str,
    /// The side without the file.
    pub(super) other: &'static str,
    stage: &'a Stage,
}

impl FileToMerge {
    pub(super) fn has_ancestor(&self) -> bool {
        self.unmerged.stages[0].is_some()
    }

    /// The only side that has the file; `None` if both sides or none have it.
    pub(super) fn only_side(&self) -> Option<OnlySide<'_>> {
        let (stage, name, other) = match &self.unmerged.stages {
            [_, Some(stage), None] => (stage, "our", "their"),
            [_, None, Some(stage)] => (stage, "their", "our"),
            _ => return None,
        };
        Some(OnlySide { name, other, stage })
    }
}

/// Whether a file is what the other side made of a file that both sides renamed: git writes the merged
/// content under both names.
fn is_twin(file: &FileToMerge, side: OnlySide<'_>) -> bool {
    file.only_side()
        .filter(|_| !file.has_ancestor())
        .is_some_and(|it| it.name == side.other && it.stage.id == side.stage.id)
}

/// The item, if there is exactly one.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}
