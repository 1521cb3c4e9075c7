//! The lists of a commit: whether the database follows them.

use std::path::Path;

use anyhow::Context as _;
use urldb_text::{Finding, Severity};

use crate::cli::print::findings::write_finding;
use crate::cli::print::output;
use crate::cli::{Context, GlobalArgs};
use crate::exit::ExitCode;
use crate::git::Repository;
use crate::stop::Stop;
use crate::sync::{FollowOptions, follow_sources, may_be_list};

/// The part of `urldb sync --check` in the hook: stops a commit that touches a list or the database, if the files on
/// disk differ from each other. A commit of other files reads no list.
pub(super) fn check(repository: &Repository, global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    // A configuration with mistakes stops only commits of the database.
    let Ok(context) = Context::new(global) else {
        return Ok(ExitCode::Success);
    };
    let config = &context.config;
    if config.sources.is_empty() || !touches_lists(repository, &context)? {
        return Ok(ExitCode::Success);
    }
    let plan = follow_sources(config, FollowOptions::default(), None, &Stop::new())
        .context("the commit is stopped: the lists cannot be compared")?;
    let differing = plan.files.iter().map(|file| file.not_synced(&config.root));
    let findings: Vec<Finding> = plan
        .mistakes
        .first
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .cloned()
        .chain(differing)
        .collect();
    let mut out = output::stderr();
    for finding in &findings {
        write_finding(&mut out, &context, finding)?;
    }
    Ok(if findings.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

/// Whether a staged file is a list, or a file of the database.
fn touches_lists(repository: &Repository, context: &Context) -> anyhow::Result<bool> {
    let root = repository.relative(&context.config.root)?;
    let database = repository.relative(&context.database())?;
    let comparison = repository.comparison(None, true)?;
    let staged = repository.changed_files(&comparison, Path::new(""))?;
    let is_one = |path: &Path| {
        let name = path.strip_prefix(&root).ok();
        let mut sources = context.config.sources.values();
        path.starts_with(&database)
            || name.is_some_and(|name| sources.any(|source| may_be_list(source, name)))
    };
    Ok(staged.iter().any(|file| is_one(&file.path)))
}
