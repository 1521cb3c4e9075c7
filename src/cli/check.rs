//! `urldb check` and `urldb run`.

use anyhow::Context as _;
use urldb_fetch::PromisedTargets;
use urldb_render::Scope;
use urldb_verdict::{ChangedRecords, Selection};

use super::Context;
use super::args::{ChangedArgs, CommitArgs, TargetArgs, TrustArgs};
use super::check_list::ListDatabase;
use super::execute::execute;
use super::print::github::CommandsStopped;
use super::print::style::ReportFormat;
use super::print::upload::upload_and_check;
use super::print::{github, outcome, style};
use super::run_commit::{PlannedRunCommit, catch_up, push, upstream_of};
use super::shard::{self, ShardArgs};
use super::sync::ListArg;
use crate::config::{FILE_NAME, parse_base};
use crate::exit::ExitCode;
use crate::explain::explain;
use crate::git::Upstream;
use crate::run::{self, CheckedLists, Outcome, Results, RunOptions};
use crate::stop::{Stop, stop_on_signals};

/// Fetch URLs and compare them with their promises; write nothing, notify nobody
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb check
  urldb check -d example.org --path-prefix /data/
  urldb check --changed-since @{upstream}    before a push
  urldb check --map example.org=staging.example.org http://example.org/a.csv
  urldb check --skip-targets -c purl         redirects alone, not what they lead to
  urldb check --list data/SHA256SUMS --base https://data.example.org/
  urldb check --list docs/ --changed-since main    the links that are new
  urldb check --format json | jq '.results[] | select(.state != \"ok\")'
  urldb check --format jsonl | jq -r 'select(.kind == \"result\") | .url'
  urldb check --format junit >urls.xml
  urldb check --untrusted --changed-since origin/main --github    for a pull request")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    targets: TargetArgs,
    /// Check a list in place of the database: a file, with its format if its name does not tell it
    #[arg(long, value_name = "[FORMAT:]PATH")]
    list: Option<String>,
    /// With --list: the URL of the folder with the files that the list names
    #[arg(long, value_name = "URL", value_parser = parse_base, requires = "list")]
    base: Option<String>,
    #[command(flatten)]
    changed: ChangedArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
    /// Do not ask for the targets of promised redirects
    #[arg(long)]
    skip_targets: bool,
    /// Form of the report
    #[arg(long, default_value = "human")]
    format: ReportFormat,
    /// Write annotations and a job summary for GitHub Actions
    #[arg(long)]
    github: bool,
}

/// Check URLs, archive the responses, update the ledger, and notify people of news
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb run
  urldb run -c core
  urldb run --commit    and commit the ledger
  urldb run --commit --push    and push the commit
  urldb run --github    in a workflow: annotations and a job summary
  urldb run --shard 3/8 --to bundles/7    on the third of eight machines
  urldb run --from bundles/7              after all of them
  urldb run --format sarif >urls.sarif")]
pub(super) struct RunArgs {
    #[command(flatten)]
    targets: TargetArgs,
    /// Form of the report
    #[arg(long, default_value = "human")]
    format: ReportFormat,
    /// Write annotations and a job summary for GitHub Actions
    #[arg(long)]
    github: bool,
    #[command(flatten)]
    commit: CommitArgs,
    /// Push the commit to the branch that the current one follows; merge first what others have pushed
    #[arg(long, requires = "commit")]
    push: bool,
    #[command(flatten)]
    shard: ShardArgs,
}

pub(super) fn check(args: &CheckArgs, context: &mut Context) -> anyhow::Result<ExitCode> {
    if args.skip_targets {
        context.config.check.fetch.promised_targets = PromisedTargets::Skip;
    }
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let (list, changed) = checked(args, context, &stop)?;
    let scope = match &changed {
        Some(changed) if args.trust.untrusted || args.github => Scope::PullRequest {
            only_adds: changed.are_new,
            untrusted: args.trust.untrusted,
        },
        _ => Scope::Check,
    };
    let stopped = args
        .github
        .then(|| CommandsStopped::around_text(args.format));
    let stopped = stopped.transpose()?.flatten();
    let settings = args.changed.settings(context)?;
    if let Some(settings) = &settings {
        let keys = settings.sentence(str::to_owned);
        style::print_note(&format!("{FILE_NAME} changes: {keys}"));
    }
    let selection = selection(&args.targets, changed, context)?;
    let mut outcome = execute_and_print(
        &selection,
        context,
        &stop,
        args.format,
        scope,
        list.as_ref().map(|list| &list.lists),
        run::check,
    )?;
    outcome.settings = settings;
    outcome::print_delivered(&outcome, scope, &[], args.format, context)?;
    drop(stopped);
    if args.github {
        github::write(&outcome, scope, &[], args.format)?;
    }
    Ok(exit(&outcome, stop.is_set()))
}

/// The lists that are checked, and the records that `--changed-since` selects.
fn checked(
    args: &CheckArgs,
    context: &mut Context,
    stop: &Stop,
) -> anyhow::Result<(Option<ListDatabase>, Option<ChangedRecords>)> {
    let since = args.changed.revision();
    if let Some(list) = &args.list {
        let list = ListArg::new(list, args.base.as_deref());
        let list = ListDatabase::new(&list, since, context, stop)?;
        let changed = list.changed.clone();
        return Ok((Some(list), changed));
    }
    let changed = args.changed.records(context)?;
    let (Some(since), Some(records)) = (since, &changed) else {
        return Ok((None, changed));
    };
    if context.config.sources.is_empty() {
        return Ok((None, changed));
    }
    match ListDatabase::of_sources(since, records.clone(), context, stop) {
        Err(error) if stop.is_set() => Err(error),
        Ok(lists) => {
            let changed = lists.changed.clone();
            Ok((Some(lists), changed))
        }
        Err(error) => {
            let error = error.context("the lists are not compared");
            style::print_warning(format!("{error:#}"));
            Ok((None, changed))
        }
    }
}

pub(super) fn run(args: &RunArgs, context: &mut Context) -> anyhow::Result<ExitCode> {
    if let Some((part, folder)) = args.shard.shard(context) {
        return shard::run(part, &folder, &args.targets, context);
    }
    let from = args.shard.folders(context);
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let _lock = context.lock_repository()?;
    let commit = PlannedRunCommit::begin(&args.commit, context)?;
    let upstream = commit.as_ref().filter(|_| args.push);
    // Bundles belong to the files as they are.
    let upstream = upstream.map(|commit| follow(commit, from.is_empty(), context, &stop));
    let upstream = upstream.transpose()?;
    if stop.is_set() {
        return Ok(ExitCode::Interrupted);
    }
    let stopped = args
        .github
        .then(|| CommandsStopped::around_text(args.format));
    let stopped = stopped.transpose()?.flatten();
    let selection = selection(&args.targets, None, context)?;
    let mut outcome = execute_and_print(
        &selection,
        context,
        &stop,
        args.format,
        Scope::Run,
        None,
        |options| match &*from {
            [] => run::run(options),
            folders => run::collect(options, folders),
        },
    )?;
    let delivered = outcome.deliver();
    let standings = delivered.as_deref().unwrap_or_default();
    outcome::print_delivered(&outcome, Scope::Run, standings, args.format, context)?;
    // The next run makes up for an interrupted one.
    let interrupted = stop.is_set();
    if !interrupted {
        let stored = upload_and_check(context, args.format, &stop)?;
        outcome.exit_code = outcome.exit_code.max(stored);
    }
    // The ledger, which is committed here, has the deliveries and the checks of the archive too.
    let committed = commit.map_or(Ok(()), |commit| {
        commit.finish(&outcome.envelope, exit(&outcome, interrupted), context)?;
        match upstream {
            Some(upstream) if !interrupted => push(commit.repository(), &upstream, context, &stop)
                .context("the commits are not pushed; the next run tries again"),
            _ => Ok(()),
        }
    });
    drop(stopped);
    if args.github {
        github::write(&outcome, Scope::Run, standings, args.format)?;
    }
    delivered?;
    if stop.is_set() {
        committed.unwrap_or_else(|error| style::print_warning(explain(&error)));
        return Ok(ExitCode::Interrupted);
    }
    committed?;
    Ok(outcome.exit_code)
}

/// The branch to which a run pushes. Before a run that `catches_up`, the current branch moves to what others have pushed.
fn follow(
    commit: &PlannedRunCommit,
    catches_up: bool,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<Upstream> {
    let upstream = upstream_of(commit.repository()).context("--push")?;
    if catches_up {
        catch_up(commit.repository(), &upstream, context, stop);
        context.restore_ledger()?;
    }
    Ok(upstream)
}

/// The targets of a command among the changed records.
fn selection(
    targets: &TargetArgs,
    changed: Option<ChangedRecords>,
    context: &mut Context,
) -> anyhow::Result<Selection> {
    targets.map.apply(context, &[])?;
    Ok(Selection {
        changed,
        ..targets.resolve(context)?
    })
}

/// Runs `work` on the selected records, and prints the outcome.
fn execute_and_print(
    selection: &Selection,
    context: &Context,
    stop: &Stop,
    format: ReportFormat,
    scope: Scope<'_>,
    lists: Option<&CheckedLists>,
    work: impl FnOnce(&RunOptions<'_>) -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    let results = match format {
        ReportFormat::Json | ReportFormat::Junit => Results::Kept,
        ReportFormat::Jsonl => Results::Streamed,
        _ if matches!(scope, Scope::PullRequest { .. }) => Results::Kept,
        _ => Results::Dropped,
    };
    let (outcome, attempts) = execute(context, selection, stop, results, lists, work)?;
    outcome::print(&outcome, scope, &attempts, format, context)?;
    Ok(outcome)
}

fn exit(outcome: &Outcome, interrupted: bool) -> ExitCode {
    if interrupted {
        ExitCode::Interrupted
    } else {
        outcome.exit_code
    }
}
