//! Conflicts in records that lists made: the list says which side is right. Both sides follow the lists as they are
//! now, and are merged again; conflicts in keys that no list owns stay.

use std::path::Path;

use urldb_files::Root;

use super::merging::{self, MergeAttempt};
use super::{FileKind, FileToMerge};
use crate::cli::Context;
use crate::cli::print::style;
use crate::database::edit::Edit;
use crate::git::{MARKER_SIZE, Repository, Resolution, TextStyle};
use crate::limits;
use crate::stop::Stop;
use crate::sync::{FollowOptions, follow_sources};
use crate::targets::with_empty_database;

/// Merges the domain files with conflicts once more, as their lists have them. A list that cannot be read is named, and
/// settles nothing.
pub(super) fn settle(
    attempts: &mut [MergeAttempt],
    files: &[FileToMerge],
    (repository, style): (&Repository, TextStyle),
    context: &Context,
) -> anyhow::Result<()> {
    let has_conflict = |(attempt, file): &(&mut MergeAttempt, &FileToMerge)| {
        file.kind == FileKind::Domain && matches!(attempt.resolution, Some(Resolution::Conflict(_)))
    };
    let conflicts: Vec<_> = attempts
        .iter_mut()
        .zip(files)
        .filter(has_conflict)
        .collect();
    if conflicts.is_empty() || context.config.sources.is_empty() {
        return Ok(());
    }
    let mut versions = vec![];
    for (_, file) in &conflicts {
        versions.push(file.versions(repository)?);
    }
    for side in [1, 2] {
        let names = conflicts.iter().map(|(_, file)| file.path.as_path());
        let texts = versions.iter_mut().filter_map(|all| all[side].as_mut());
        if let Err(error) = follow(names.zip(texts).collect(), context) {
            style::print_note(&format!("no conflict is settled by a list: {error:#}"));
            return Ok(());
        }
    }
    for ((attempt, file), versions) in conflicts.into_iter().zip(versions) {
        let again = merging::merge(file.kind, &versions, style, MARKER_SIZE)?;
        *attempt = MergeAttempt {
            settled: attempt.findings.len().saturating_sub(again.findings.len()),
            earlier: attempt.resolution.take().into_iter().collect(),
            versions: Some(versions),
            ..again
        };
    }
    Ok(())
}

/// Makes versions of domain files follow the lists.
fn follow(versions: Vec<(&Path, &mut Vec<u8>)>, context: &Context) -> anyhow::Result<()> {
    let (config, folder) = with_empty_database(&context.config)?;
    let database = Root::new(folder.path(), "the temporary database");
    let copy_of = |path: &Path| database.file(path.file_name().unwrap_or_default());
    for (path, text) in &versions {
        copy_of(path).replace(text)?;
    }
    let mut edit = Edit::begin(folder.path())?;
    let plan = follow_sources(
        &config,
        FollowOptions::default(),
        Some(&mut edit),
        &Stop::new(),
    )?;
    if let Some((name, counts)) = plan.gone.first() {
        anyhow::bail!(
            "{name}: {} of {} records are gone from the list",
            counts.removed,
            counts.before
        );
    }
    edit.commit()?;
    for (path, text) in versions {
        *text = copy_of(path).read(limits::DOMAIN_FILE)?;
    }
    Ok(())
}
