//! The files that differ between two states, in git's raw form.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::command::output;
use super::paths;

/// The options of `git diff-tree` and `git diff-index` for [`raw_changes`].
pub(super) const RAW: [&str; 5] = ["-r", "--raw", "-z", "--no-renames", "--no-abbrev"];

/// A file, a link or a submodule in one state.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct RawFile {
    /// Git's mode, `0o100644` for a plain file.
    pub(super) mode: u32,
    /// The blob, in hexadecimal; the commit of a submodule.
    pub(super) id: String,
}

/// A file that differs; `None` in a state without it.
pub(super) struct RawChange {
    /// Relative to the top of the work tree.
    pub(super) path: PathBuf,
    pub(super) before: Option<RawFile>,
    pub(super) after: Option<RawFile>,
    /// Whether the index has an unresolved conflict.
    pub(super) is_unmerged: bool,
}

impl RawFile {
    pub(super) fn is_regular(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }
}

/// The changes that a git with the options [`RAW`] prints.
pub(super) fn raw_changes(git: &mut Command) -> Result<Vec<RawChange>> {
    let listing = output(git, b"")?;
    let mut words = listing.split(|byte| *byte == 0);
    let mut changes = vec![];
    while let (Some(facts), Some(path)) = (words.next(), words.next()) {
        let change = std::str::from_utf8(facts)
            .ok()
            .and_then(|facts| parse(facts, paths::from_bytes(path)));
        changes.push(change.context("git printed something unexpected")?);
    }
    Ok(changes)
}

/// Reads `:MODE MODE ID ID STATUS`.
fn parse(facts: &str, path: PathBuf) -> Option<RawChange> {
    let mut words = facts.strip_prefix(':')?.split(' ');
    let mut word = || words.next();
    let [old_mode, mode, old_id, id, status] = [word()?, word()?, word()?, word()?, word()?];
    let file = |mode: &str, id: &str| {
        let mode = u32::from_str_radix(mode, 8).ok()?;
        let id = id.to_owned();
        Some((mode != 0).then_some(RawFile { mode, id }))
    };
    Some(RawChange {
        path,
        before: file(old_mode, old_id)?,
        after: file(mode, id)?,
        is_unmerged: status == "U",
    })
}
