//! `urldb push`.

use std::io::Write;

use anyhow::Context as _;
use urldb_text::sanitize;

use super::Context;
use super::print::output;
use super::print::style::{self, print_warning};
use super::run_commit::{push, upstream_of};
use crate::exit::ExitCode;
use crate::explain::explain;
use crate::git::Repository;
use crate::stop::{Stop, stop_on_signals};

/// Push the commits of runs
///
/// Pushes the current branch of the ledger to the branch that it follows, as `urldb run --commit --push` does after a
/// run. If others have pushed, both sides are merged in memory before, and neither is lost. git alone talks to the
/// remote repository: no plugin starts, and no URL is fetched. If somebody has rewritten the branch, nothing is pushed, since
/// that would undo it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb run --commit && urldb push
  urldb push            what an earlier run could not push

Exit codes: 0 pushed, or nothing to push, 2 not pushed, 130 interrupted")]
pub(super) struct Args {}

pub(super) fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    let folder = context.ledger().path().to_owned();
    let repository = Repository::of_project(&folder)?.with_context(|| {
        let folder = context.shown(&folder);
        format!("{folder} is in no git repository, so there is nothing to push")
    })?;
    let upstream = upstream_of(&repository)?;
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let pushed = push(&repository, &upstream, context, &stop).context("the commits are not pushed");
    if stop.is_set() {
        pushed.unwrap_or_else(|error| print_warning(explain(&error)));
        return Ok(ExitCode::Interrupted);
    }
    pushed?;
    if !context.quiet {
        let done = style::paint(style::GOOD, "pushed");
        let (commit, branch) = (repository.short_head()?, upstream.short_branch());
        writeln!(output::stdout(), "{done} {commit} to {}", sanitize(branch))?;
    }
    Ok(ExitCode::Success)
}
