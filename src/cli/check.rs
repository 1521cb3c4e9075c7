//! `urldb check` and `urldb run`.

use urldb_verdict::{ChangedRecords, Selection};

use super::Context;
use super::args::{ChangedArgs, TargetArgs};
use super::print::attempts::{AttemptLog, LogDetail};
use super::print::github::CommandsStopped;
use super::print::progress::ProgressLine;
use super::print::style::Format;
use super::print::{github, outcome};
use crate::ambient::Ambient;
use crate::exit::ExitCode;
use crate::run::{self, Outcome, RunOptions};
use crate::stop::{Stop, stop_on_signals};

/// Fetch URLs and compare them with their promises; write nothing, notify nobody
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb check
  urldb check -d example.org --path-prefix /data/
  urldb check --changed-since @{upstream}    before a push
  urldb check --map example.org=staging.example.org http://example.org/a.csv
  urldb check --format json | jq '.results[] | select(.state != \"ok\")'")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    changed: ChangedArgs,
    /// Output for people, or one JSON document with the result of every URL
    #[arg(long, default_value = "human")]
    format: Format,
}

/// Check URLs, archive the responses, update the ledger, and notify people of news
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb run
  urldb run -c core
  urldb run --github    in a workflow: annotations and a job summary")]
pub(super) struct RunArgs {
    #[command(flatten)]
    targets: TargetArgs,
    /// Output for people, or one JSON document with the result of every URL
    #[arg(long, default_value = "human")]
    format: Format,
    /// Write annotations and a job summary for GitHub Actions
    #[arg(long)]
    github: bool,
}

pub(super) fn check(args: &CheckArgs, context: &mut Context) -> anyhow::Result<ExitCode> {
    let changed = args.changed.records(context)?;
    let (outcome, interrupted) =
        execute_and_print(&args.targets, changed, context, args.format, run::check)?;
    Ok(exit(&outcome, interrupted))
}

pub(super) fn run(args: &RunArgs, context: &mut Context) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    // A JSON document has no commands in it, and would have the lines that stop them.
    let shows_text = args.github && args.format == Format::Human;
    let stop_commands = || {
        let stopped = shows_text.then(|| CommandsStopped::new(Ambient::SYSTEM));
        stopped.transpose()
    };
    let stopped = stop_commands()?;
    let (mut outcome, interrupted) =
        execute_and_print(&args.targets, None, context, args.format, run::run)?;
    drop(stopped);
    let annotated = if args.github {
        github::write(&outcome)
    } else {
        Ok(())
    };
    let _stopped = stop_commands()?;
    let standings = outcome.deliver()?;
    outcome::print_standings(&standings, args.format, context)?;
    annotated?;
    Ok(exit(&outcome, interrupted))
}

/// Runs `work` on the targets, and prints the outcome.
fn execute_and_print(
    targets: &TargetArgs,
    changed: Option<ChangedRecords>,
    context: &mut Context,
    format: Format,
    work: fn(&RunOptions<'_>) -> anyhow::Result<Outcome>,
) -> anyhow::Result<(Outcome, bool)> {
    targets.map.apply(context, &[])?;
    let selection = Selection {
        changed,
        ..targets.resolve(context)?
    };
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let with_results = format == Format::Json;
    let (outcome, attempts) = execute(context, &selection, &stop, with_results, work)?;
    outcome::print(&outcome, &attempts, format, context)?;
    Ok((outcome, stop.is_set()))
}

/// Runs `work` with a progress line, and collects attempts for `--verbose`.
pub(super) fn execute(
    context: &Context,
    selection: &Selection,
    stop: &Stop,
    with_results: bool,
    work: fn(&RunOptions<'_>) -> anyhow::Result<Outcome>,
) -> anyhow::Result<(Outcome, AttemptLog)> {
    let bar = ProgressLine::new(0, context.quiet);
    let detail = match context.verbose {
        false => LogDetail::None,
        true if selection.records.is_empty() => LogDetail::Problems,
        true => LogDetail::All,
    };
    let attempts = AttemptLog::new(detail);
    let options = RunOptions {
        config: &context.config,
        selection,
        ambient: Ambient::SYSTEM,
        stop,
        progress: &(&bar, &attempts),
        with_results,
        for_promise: false,
    };
    let outcome = work(&options);
    bar.finish();
    Ok((outcome?, attempts))
}

fn exit(outcome: &Outcome, interrupted: bool) -> ExitCode {
    if interrupted {
        ExitCode::Interrupted
    } else {
        outcome.exit_code
    }
}
