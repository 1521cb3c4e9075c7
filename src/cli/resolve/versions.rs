//! Merges of a file in memory, for commands that push. A conflict is an error, since no person is asked.

use std::path::Path;

use anyhow::Context as _;

use super::merging::{self, FileKind};
use crate::cli::Context;
use crate::git::{FileVersions, MARKER_SIZE, Resolution, TextStyle, text_merge};

/// Merges the versions of the file at an absolute path. `None` if the file is gone.
///
/// # Errors
/// When both sides changed the file in ways that a person has to join.
pub(in crate::cli) fn merge_versions(
    path: &Path,
    versions: &FileVersions,
    context: &Context,
) -> anyhow::Result<Option<Vec<u8>>> {
    let conflict = || {
        let file = context.shown(path);
        format!("both sides changed {file}: `git pull`, then `urldb resolve`")
    };
    if let Some(kind) = FileKind::from_path(path, &context.config) {
        let attempt = merging::merge(kind, versions, TextStyle::Merge, MARKER_SIZE)?;
        return match attempt.resolution {
            Some(Resolution::Merged(bytes)) => Ok(Some(bytes)),
            Some(Resolution::Removed) => Ok(None),
            Some(Resolution::Conflict(_)) | None => anyhow::bail!(conflict()),
        };
    }
    merge_lines(versions)?.map(Some).with_context(conflict)
}

/// Merges the versions of the file at an absolute path in two common ancestors. The base stands in place of a conflict.
///
/// # Errors
/// When git cannot be run.
pub(in crate::cli) fn merge_ancestors(
    path: &Path,
    versions: &FileVersions,
    context: &Context,
) -> anyhow::Result<Option<Vec<u8>>> {
    if let Some(kind) = FileKind::from_path(path, &context.config) {
        return Ok(merging::merge_ancestors(kind, versions.clone()));
    }
    Ok(merge_lines(versions)?.or_else(|| versions[0].clone()))
}

/// Merges lines as git does; `None` with a conflict, and where a version has no file.
fn merge_lines(versions: &FileVersions) -> anyhow::Result<Option<Vec<u8>>> {
    let [Some(base), Some(ours), Some(theirs)] = versions else {
        return Ok(None);
    };
    let merged = text_merge([base, ours, theirs], TextStyle::Merge, MARKER_SIZE)?;
    let merged = merged.filter(|merged| !merged.has_conflicts);
    Ok(merged.map(|merged| merged.bytes))
}
