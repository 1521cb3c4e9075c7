//! The pipeline as commands run it: with a progress line, and with results on standard output.

use std::path::Path;

use urldb_protocol::Mistake;
use urldb_text::{Code, Finding};
use urldb_verdict::Selection;

use super::Context;
use super::check_list::{checked_lists, of_finding};
use super::print::attempts::{AttemptLog, LogDetail};
use super::print::lines::ResultLines;
use super::print::progress::ProgressLine;
use crate::ambient::Ambient;
use crate::config::FILE_NAME;
use crate::explain::explain;
use crate::run::{CheckedLists, Results, RunOptions};
use crate::stop::Stop;
use crate::sync::{FollowOptions, ListLocations, follow_sources};

/// Runs `work` with a progress line, and collects attempts for `--verbose`.
pub(super) fn execute<T>(
    context: &Context,
    selection: &Selection,
    stop: &Stop,
    results: Results,
    lists: Option<&CheckedLists>,
    work: impl FnOnce(&RunOptions<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<(T, AttemptLog)> {
    let bar = ProgressLine::new(0, context.quiet);
    let detail = match context.verbose {
        false => LogDetail::None,
        true if selection.records.is_empty() => LogDetail::Problems,
        true => LogDetail::All,
    };
    let attempts = AttemptLog::new(detail);
    let lines = ResultLines::new(&bar);
    let of_sources = match lists {
        None => lists_of_sources(context, stop)?,
        Some(_) => None,
    };
    let lists = lists.or(of_sources.as_ref());
    let options = RunOptions {
        config: &context.config,
        selection,
        ambient: Ambient::SYSTEM,
        stop,
        progress: &(&(&bar, &attempts), &lines),
        results,
        for_promise: false,
        lists,
    };
    let outcome = work(&options);
    bar.finish();
    lines.finish()?;
    Ok((outcome?, attempts))
}

/// The places of the records in the lists that the database follows, and the mistakes about them. Lists that cannot be
/// read do not stop a run: the database stands for them, and a mistake says so.
///
/// # Errors
/// [`Interrupted`](crate::stop::Interrupted).
fn lists_of_sources(context: &Context, stop: &Stop) -> anyhow::Result<Option<CheckedLists>> {
    if context.config.sources.is_empty() {
        return Ok(None);
    }
    Ok(
        match follow_sources(&context.config, FollowOptions::default(), None, stop) {
            Err(error) if stop.is_set() => return Err(error),
            Ok(plan) => {
                let root = &context.config.root;
                let refusals: Vec<String> = plan.refusals().collect();
                let differing = plan.files.iter().map(|file| {
                    let finding = file.not_synced(root);
                    if refusals.is_empty() {
                        return finding;
                    }
                    let message = refusals.join(". ");
                    Finding { message, ..finding }
                });
                let differing: Vec<Mistake> = differing.flat_map(|it| of_finding(&it)).collect();
                let mut lists = checked_lists(plan);
                lists.mistakes.extend(differing);
                Some(lists)
            }
            Err(error) => {
                let message = format!("the lists cannot be followed: {}", explain(&error));
                let mistake =
                    Finding::new(Code::NotSynced, 1, message).in_file(Path::new(FILE_NAME));
                Some(CheckedLists {
                    locations: ListLocations::new(),
                    mistakes: of_finding(&mistake),
                })
            }
        },
    )
}
