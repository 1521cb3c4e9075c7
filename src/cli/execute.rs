//! The pipeline as commands run it: with a progress line, and with results on standard output.

use urldb_verdict::Selection;

use super::Context;
use super::print::attempts::{AttemptLog, LogDetail};
use super::print::lines::ResultLines;
use super::print::progress::ProgressLine;
use crate::ambient::Ambient;
use crate::run::{CheckedLists, Results, RunOptions};
use crate::stop::Stop;
use crate::targets::lists_of_sources;

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
        None => lists_of_sources(&context.config, stop)?,
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
