//! `urldb check` and `urldb run`.

use super::Context;
use super::args::TargetArgs;
use super::print::attempts::{Stories, Tell};
use super::print::progress::Bar;
use super::print::style::Format;
use super::print::{github, outcome};
use crate::ambient::Ambient;
use crate::exit::ExitCode;
use crate::run::{self, Outcome, RunOptions};
use crate::stop::{Stop, stop_on_signals};
use urldb_verdict::Selection;

/// Fetch URLs and compare them with what is promised; write nothing, tell nobody
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb check
  urldb check -d example.org --path-prefix /data/
  urldb check --map example.org=staging.example.org http://example.org/a.csv
  urldb check --format json | jq '.results[] | select(.state != \"ok\")'")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    targets: TargetArgs,
    /// For people, or one JSON document with the result of every URL
    #[arg(long, default_value = "human")]
    format: Format,
}

/// Check, archive what was seen, update the ledger, and tell people what is news
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb run
  urldb run -c core
  urldb run --github    in a workflow: annotations and a job summary")]
pub(super) struct RunArgs {
    #[command(flatten)]
    targets: TargetArgs,
    /// For people, or one JSON document with the result of every URL
    #[arg(long, default_value = "human")]
    format: Format,
    /// Write annotations and a job summary for GitHub Actions
    #[arg(long)]
    github: bool,
}

pub(super) fn check(args: &CheckArgs, context: &mut Context) -> anyhow::Result<ExitCode> {
    let (outcome, interrupted) = look(&args.targets, context, args.format, run::check)?;
    Ok(exit(&outcome, interrupted))
}

pub(super) fn run(args: &RunArgs, context: &mut Context) -> anyhow::Result<ExitCode> {
    let _owner = context.own()?;
    let (outcome, interrupted) = look(&args.targets, context, args.format, run::run)?;
    if args.github {
        github::write(&outcome, context)?;
    }
    Ok(exit(&outcome, interrupted))
}

/// Does the work and prints what came of it.
fn look(
    targets: &TargetArgs,
    context: &mut Context,
    format: Format,
    work: fn(&RunOptions<'_>) -> anyhow::Result<Outcome>,
) -> anyhow::Result<(Outcome, bool)> {
    context.add_maps(&targets.map.maps);
    let selection = targets.resolve(context)?;
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let with_results = format == Format::Json;
    let (outcome, stories) = execute(context, &selection, &stop, with_results, work)?;
    outcome::print(&outcome, &stories, format, context)?;
    Ok((outcome, stop.is_set()))
}

/// Does the work with a progress bar, and collects the stories of its URLs if they are asked for.
pub(super) fn execute(
    context: &Context,
    selection: &Selection,
    stop: &Stop,
    with_results: bool,
    work: fn(&RunOptions<'_>) -> anyhow::Result<Outcome>,
) -> anyhow::Result<(Outcome, Stories)> {
    let bar = Bar::new(0, context.quiet);
    let tell = match context.verbose {
        false => Tell::Nothing,
        true if selection.records.is_empty() => Tell::NotPlainlyOk,
        true => Tell::Everything,
    };
    let stories = Stories::new(tell);
    let options = RunOptions {
        config: &context.config,
        selection,
        ambient: Ambient::SYSTEM,
        stop,
        progress: &(&bar, &stories),
        with_results,
        whole: false,
    };
    let outcome = work(&options);
    bar.finish();
    Ok((outcome?, stories))
}

fn exit(outcome: &Outcome, interrupted: bool) -> ExitCode {
    if interrupted {
        ExitCode::Interrupted
    } else {
        outcome.exit_code
    }
}
