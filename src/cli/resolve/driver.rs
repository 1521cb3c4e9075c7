//! `urldb resolve --driver`: merges one file for git.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use urldb_files::{is_file, open, read, replace_unsynced};

use super::merging::{self, FileKind};
use crate::cli::GlobalArgs;
use crate::cli::print::style;
use crate::config::{self, Config};
use crate::exit::ExitCode;
use crate::git::{GitEnv, MARKER_SIZE, Repository, Resolution, TextStyle};
use crate::limits;

/// Merges three temporary files of git; the second gets the result. `path` is the file in the work
/// tree, relative to the current folder, which is the top. Git reads the exit code: 0 merged, 1
/// conflicts; after any other code git's configuration makes git merge lines.
pub(super) fn run(
    files: [&Path; 3],
    path: &Path,
    marker_size: usize,
    global: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    let directory = global.directory()?;
    let target = directory.join(files[1]);
    let versions = read_versions(files.map(|file| directory.join(file)))?;
    let repository = Repository::discover(&directory, GitEnv::from_process())?
        .context("a merge driver works in a git repository")?;
    let top = repository.work_tree()?;
    let kind = kind_of(&top.join(path)).with_context(|| {
        let path = path.display();
        format!("{path} is no file of the database or the ledger, so git merges its lines")
    })?;
    if is_inner(marker_size, path, &repository)? {
        replace_unsynced(
            &target,
            &merging::merge_ancestors(kind, versions).unwrap_or_default(),
        )?;
        return Ok(ExitCode::Success);
    }
    let merge = |style| merging::merge(kind, &versions, style, marker_size);
    let mut attempt = merge(TextStyle::Merge)?;
    if let Some(Resolution::Conflict(_)) = attempt.resolution {
        // Only a conflict is worth the process that knows git's configuration.
        match repository.conflict_style() {
            TextStyle::Merge => {}
            style => attempt = merge(style)?,
        }
    }
    for finding in attempt.findings {
        style::print_warning(finding.in_file(path));
    }
    match attempt.resolution {
        Some(Resolution::Merged(bytes)) => {
            replace_unsynced(&target, &bytes)?;
            Ok(ExitCode::Success)
        }
        Some(Resolution::Conflict(bytes)) => {
            replace_unsynced(&target, &bytes)?;
            Ok(ExitCode::Findings)
        }
        // Git asks a driver only about files that all sides have.
        Some(Resolution::Removed) | None => Ok(ExitCode::Failure),
    }
}

/// Whether git merges the common ancestors of a criss-cross history, and not the two sides: it adds two to
/// the length of markers for each level of such merges, and one if the file has been renamed.
fn is_inner(marker_size: usize, path: &Path, repository: &Repository) -> anyhow::Result<bool> {
    // Most merges need no process for the attribute.
    let may_be = marker_size >= MARKER_SIZE + 2;
    Ok(may_be && marker_size >= repository.marker_size(path)? + 2)
}

/// Reads the versions, if they are small enough to be merged.
fn read_versions(files: [PathBuf; 3]) -> anyhow::Result<[Option<Vec<u8>>; 3]> {
    let context = |file: &Path| format!("cannot read {}", file.display());
    let mut bytes = 0;
    for file in &files {
        let known = open(file).and_then(|file| file.metadata());
        bytes += known.with_context(|| context(file))?.len();
    }
    anyhow::ensure!(limits::MERGE.check(bytes).is_ok(), merging::TOO_LARGE);
    let [base, ours, theirs] =
        files.map(|file| read(&file, limits::MERGE).with_context(|| context(&file)));
    Ok([Some(base?), Some(ours?), Some(theirs?)])
}

/// The kind of a file, by the configuration of its project. A configuration with mistakes, which the
/// merge may be about, counts as the default one.
fn kind_of(path: &Path) -> Option<FileKind> {
    let folder = path.parent()?;
    let config = config::discover(folder).unwrap_or_else(|_| {
        let root = folder
            .ancestors()
            .find(|it| is_file(&it.join(config::FILE_NAME)));
        Config {
            root: root.unwrap_or(folder).to_owned(),
            ..Config::default()
        }
    });
    FileKind::from_path(path, &config)
}
