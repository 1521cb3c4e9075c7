//! `urldb check` and `urldb run`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use globset::{Glob, GlobBuilder};
use urldb_fetch::PromisedTargets;
use urldb_render::Scope;
use urldb_verdict::Selection;

use super::Context;
use super::args::{ChangedArgs, CommitArgs, MapArgs, SelectArgs, TargetArgs, TrustArgs};
use super::check_list::{Targets, changed_lists, write_answers};
use super::execute::execute;
use super::print::github::CommandsStopped;
use super::print::style::ReportFormat;
use super::print::upload::upload_and_check;
use super::print::{github, outcome, output, style};
use super::report_file;
use super::run_commit::{PlannedRunCommit, catch_up, push, remind_of_commit, upstream_of};
use super::shard::{self, ShardArgs};
use crate::config::{FILE_NAME, parse_base};
use crate::exit::ExitCode;
use crate::explain::explain;
use crate::git::Upstream;
use crate::run::{self, CheckedLists, Outcome, Results, RunOptions};
use crate::stop::{Stop, stop_on_signals};
use crate::targets::ListDatabase;

/// Fetch URLs and compare them with their promises; write nothing, notify nobody
///
/// Without a target, all URLs of the database are checked. A URL that is not in the database promises to answer; its
/// length and SHA-256 are shown. URLs, files and folders need no database.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb check
  urldb check docs/ README.md                the links of documents
  urldb check https://example.org/data.csv   one URL, in the database or not
  urldb check data/SHA256SUMS --base https://data.example.org/
  urldb check example.org --path-prefix /data/
  urldb check --changed-since @{upstream}    before a push
  urldb check --map example.org=staging.example.org http://example.org/a.csv
  urldb check --skip-targets -c purl         redirects alone, not what they lead to
  urldb check docs/ --changed-since main     the links that are new
  urldb check docs/ --exclude '*://intranet.example/**' --timeout 20
  urldb check --format json | jq '.results[] | select(.state != \"ok\")'
  urldb check --format jsonl | jq -r 'select(.kind == \"result\") | .url'
  urldb check --format junit -o urls.xml
  urldb check --untrusted --changed-since origin/main --github    for a pull request")]
pub(super) struct CheckArgs {
    /// URLs, hosts of the database, and files or folders with URLs; a format, if the name of a file does not tell it
    #[arg(value_name = "URL|HOST|[FORMAT:]PATH")]
    targets: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    map: MapArgs,
    /// The URL of the folder with the files that a list names, or with the documents
    #[arg(long, value_name = "URL", value_parser = parse_base)]
    base: Option<String>,
    /// Leave out URLs like this: `*` matches no slash, `**` anything
    #[arg(long, value_name = "PATTERN", value_parser = parse_pattern)]
    exclude: Vec<Glob>,
    /// Give up a fetch after so many seconds, its redirects and body included
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
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
    /// Write the report to this file, in place of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
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
    let check = &mut context.config.check;
    check.exclude = args.exclude.iter().map(Glob::compile_matcher).collect();
    let fetch = &mut check.fetch;
    if let Some(seconds) = args.timeout {
        for host in fetch.hosts.values_mut().chain([&mut fetch.default_host]) {
            host.timeout = Duration::from_secs(seconds);
        }
    }
    if args.output.is_some() {
        report_file::begin()?;
    }
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let (list, selection) = checked(args, context, &stop)?;
    let scope = match &selection.changed {
        Some(changed) if args.trust.untrusted || args.github => Scope::PullRequest {
            only_adds: changed.are_new,
            untrusted: args.trust.untrusted,
        },
        _ => Scope::Check,
    };
    let shows_text = args.github && args.output.is_none();
    let stopped = CommandsStopped::around_text(shows_text, args.format)?;
    let settings = args.changed.settings(context)?;
    if let Some(settings) = &settings {
        let keys = settings.sentence(str::to_owned);
        style::print_note(&format!("{FILE_NAME} changes: {keys}"));
    }
    let lists = list.as_ref().map(|list| &list.lists);
    let mut outcome = execute_and_print(
        &selection,
        context,
        &stop,
        args.format,
        scope,
        lists,
        run::check,
    )?;
    outcome.settings = settings;
    outcome::print_delivered(&outcome, scope, &[], args.format, context)?;
    drop(stopped);
    if let Some(file) = &args.output {
        report_file::save(&context.directory.join(file))?;
    }
    if args.github {
        github::write(&outcome, scope, &[], args.format)?;
    }
    Ok(exit(&outcome, stop.is_set()))
}

/// A pattern of whole URLs.
fn parse_pattern(text: &str) -> Result<Glob, String> {
    if !text.starts_with("**") && !text.contains("://") {
        return Err("a pattern is for whole URLs: *://example.org/**, **/draft/*".to_owned());
    }
    GlobBuilder::new(text)
        .literal_separator(true)
        .build()
        .map_err(|error| error.kind().to_string())
}

/// The records that are checked, and the lists that they come from if they are not those of the database.
fn checked(
    args: &CheckArgs,
    context: &mut Context,
    stop: &Stop,
) -> anyhow::Result<(Option<ListDatabase>, Selection)> {
    anyhow::ensure!(
        !args.targets.is_empty() || urldb_files::is_there(&context.database()),
        "there is no database at {}: name something to check, as in `urldb check docs/` or `urldb check \
         https://example.org/`; `urldb init` makes a database",
        context.database().display()
    );
    let mut targets = Targets::of(&args.targets, args.base.as_deref(), context)?;
    let is_apart = targets.is_apart(&args.select);
    let has_records = !is_apart || !targets.records.is_empty() || !targets.hosts.is_empty();
    let mut changed = match args.changed.revision() {
        Some(_) if has_records => args.changed.records(context)?,
        _ => None,
    };
    let list = if is_apart {
        let list = targets.database(args.changed.revision(), changed.take(), context, stop)?;
        targets = Targets::default();
        Some(list)
    } else {
        changed_lists(args.changed.revision(), changed.as_ref(), context, stop)?
    };
    if let Some(list) = &list {
        list.notes
            .iter()
            .filter(|_| !context.quiet)
            .for_each(|note| style::print_note(note));
        changed.clone_from(&list.changed);
    }
    args.map.apply(context, &[])?;
    let among = args.select.among(targets.records, targets.hosts, context)?;
    Ok((list, Selection { changed, ..among }))
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
    let upstream = upstream
        .map(|commit| follow(commit, from.is_empty(), context, &stop))
        .transpose()?;
    if stop.is_set() {
        return Ok(ExitCode::Interrupted);
    }
    let stopped = CommandsStopped::around_text(args.github, args.format)?;
    args.targets.map.apply(context, &[])?;
    let selection = args.targets.resolve(context)?;
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
    let statuses = delivered.as_deref().unwrap_or_default();
    outcome::print_delivered(&outcome, Scope::Run, statuses, args.format, context)?;
    // The next run makes up for an interrupted one.
    let interrupted = stop.is_set();
    if !interrupted {
        let stored = upload_and_check(context, args.format, &stop)?;
        outcome.exit_code = outcome.exit_code.max(stored);
    }
    remind_of_commit(commit.as_ref(), context);
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
        github::write(&outcome, Scope::Run, statuses, args.format)?;
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
    let has_named = lists.is_some_and(|lists| lists.locations.has_named_urls());
    let results = match format {
        ReportFormat::Json | ReportFormat::Junit => Results::Kept,
        ReportFormat::Jsonl => Results::Streamed,
        _ if matches!(scope, Scope::PullRequest { .. }) || has_named => Results::Kept,
        _ => Results::Dropped,
    };
    let (outcome, attempts) = execute(context, selection, stop, results, lists, work)?;
    if format == ReportFormat::Human && !context.quiet {
        write_answers(&mut output::stdout(), &outcome)?;
    }
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
