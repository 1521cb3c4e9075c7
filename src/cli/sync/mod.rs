//! `urldb sync`.

mod add;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use urldb_canon::RequestUrl;
use urldb_format::{Metadata, Record};
use urldb_text::{Finding, Severity, sanitize, variant_suffix};

pub(super) use self::add::ListArg;
use super::Context;
use crate::cli::args::{
    ChangedUrls, CommitArgs, PlannedCommit, UncommittedRecord, uncommitted_records,
};
use crate::cli::print::findings::write_finding;
use crate::cli::print::output;
use crate::cli::print::style::{BAD, count, paint, sum};
use crate::config::{FILE_NAME, parse_base};
use crate::database::edit::Edit;
use crate::exit::ExitCode;
use crate::git::Repository;
use crate::stop::Stop;
use crate::sync::{FollowOptions, ListLocations, Plan, follow_sources, locations};

/// Bring the records into step with the lists that `[source.NAME]` in urldb.toml names
///
/// New rows become records, changed rows change them, and records whose rows are gone are removed. Nothing is
/// written if a list cannot be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb sync --add data/SHA256SUMS --base https://data.example.org/
  urldb sync -n --add docs/    the links of documents: what would change
  urldb sync -n          what would change
  urldb sync --commit
  urldb sync --check     in a hook, or for a pull request")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(super) struct Args {
    /// Show what would change; write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Write nothing, and exit with 1 if the database differs from its lists
    #[arg(long, conflicts_with_all = ["dry_run", "commit", "force", "adopt"])]
    check: bool,
    /// Remove records even if most rows of a list are gone
    #[arg(long)]
    force: bool,
    /// Let lists own the records that people wrote, and that say what the lists say
    #[arg(long)]
    adopt: bool,
    /// Follow one more list: add a [source.NAME] to urldb.toml. A file or folder, with its format if its name does not
    /// tell it
    #[arg(long, value_name = "[FORMAT:]PATH", conflicts_with_all = ["check", "commit"])]
    add: Option<String>,
    /// With --add: the URL of the folder with the files that the list names
    #[arg(long, value_name = "URL", value_parser = parse_base, requires = "add")]
    base: Option<String>,
    /// With --add: the name of the source; without it, from the name of the file
    #[arg(long, requires = "add")]
    name: Option<String>,
    #[command(flatten)]
    commit: CommitArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<ExitCode> {
    let added = args.add.as_ref().map(|list| {
        let list = ListArg::new(list, args.base.as_deref());
        add::add_source(&list, args.name.as_deref(), context)
    });
    let added = added.transpose()?;
    if context.config.sources.is_empty() {
        // Schedules follow lists in any case.
        if !context.quiet {
            let text = "there is no list to follow: `urldb sync --add PATH` adds a [source.NAME] to urldb.toml";
            writeln!(output::stdout(), "{text}")?;
        }
        return Ok(ExitCode::Success);
    }
    let commit = if args.dry_run || args.check {
        None
    } else {
        args.commit.begin(&context.database())?
    };
    let options = FollowOptions {
        adopt: args.adopt,
        force: args.force,
    };
    let writes = !args.dry_run && !args.check;
    if writes {
        // The first list makes a database.
        context.config.database_root().make()?;
    }
    let mut edit = writes
        .then(|| Edit::begin(&context.database()))
        .transpose()?;
    let plan = follow_sources(&context.config, options, edit.as_mut(), &Stop::new());
    let plan = plan.context("nothing was written")?;
    if commit.is_some() {
        ensure_committed(&plan.lists, context)?;
    }
    let mut code = print(&plan, args.check, context)?;
    if args.check && !plan.files.is_empty() {
        code = ExitCode::Findings;
    }
    let edit = edit.filter(|_| plan.gone.is_empty());
    if let Some(table) = &added {
        if edit.is_some() {
            add::append(table, context)?;
        }
        if !context.quiet {
            let done = if edit.is_some() { "added" } else { "not added" };
            writeln!(output::stdout(), "{done} to {FILE_NAME}:\n\n{table}")?;
        }
    }
    let Some(edit) = edit else {
        return Ok(code);
    };
    write(edit, commit, code, context)?;
    Ok(code)
}

/// Writes the prepared files, and commits them if wanted.
fn write(
    edit: Edit,
    commit: Option<PlannedCommit>,
    code: ExitCode,
    context: &Context,
) -> anyhow::Result<()> {
    let mut written = edit.commit()?;
    let Some(commit) = commit else {
        return Ok(());
    };
    // A killed call has left its files; what this one has written differs from the last commit too.
    let mut changed = ChangedUrls::default();
    for ((host, identity), record) in uncommitted_records(Some(&commit), context)? {
        if record.is_listed() {
            changed.add(&host, || format!("{host}{}", identity.path));
            written.push(record.file);
        }
    }
    let subject = || format!("Follow the lists: {}", changed.phrase());
    commit.finish(&written, subject, code, context)
}

/// Follows the lists before a scheduled run, and commits the records if `commits`. The run itself tells what is wrong in
/// the lists.
///
/// # Errors
/// When the records cannot be written or committed.
pub(super) fn before_run(context: &Context, commits: bool, stop: &Stop) -> anyhow::Result<()> {
    if context.config.sources.is_empty() {
        return Ok(());
    }
    let commit = commits.then(|| CommitArgs::ALWAYS.begin(&context.database()));
    let commit = commit.transpose()?.flatten();
    context.config.database_root().make()?;
    let mut edit = Edit::begin(&context.database())?;
    let plan = follow_sources(
        &context.config,
        FollowOptions::default(),
        Some(&mut edit),
        stop,
    )?;
    if !plan.gone.is_empty() {
        return Ok(());
    }
    if plan.files.is_empty() {
        // A killed run has left its files.
        let left = uncommitted_records(commit.as_ref(), context)?;
        if !left.values().any(UncommittedRecord::is_listed) {
            return Ok(());
        }
    }
    if commit.is_some() {
        ensure_committed(&plan.lists, context)?;
    }
    write(edit, commit, ExitCode::Success, context)
}

/// Prints mistakes, changes and counts.
fn print(plan: &Plan, is_check: bool, context: &Context) -> anyhow::Result<ExitCode> {
    let mut exit = ExitCode::Success;
    let mut out = output::stdout();
    for notice in &plan.refused.first {
        let text = notice.to_string();
        writeln!(out, "{} {}", paint(BAD, "refused:"), sanitize(&text))?;
    }
    let differing = plan.files.iter().filter(|_| is_check);
    let differing = differing.map(|file| file.not_synced(&context.config.root));
    let differing: Vec<Finding> = differing.collect();
    for finding in plan.mistakes.first.iter().chain(&differing) {
        write_finding(&mut out, context, finding)?;
        if finding.severity == Severity::Error {
            exit = ExitCode::Findings;
        }
    }
    if plan.refused.count > 0 {
        exit = ExitCode::Findings;
    }
    if is_check {
        write_changed(&mut out, plan)?;
    }
    for (more, what) in [
        (plan.refused.more(), "more lines were refused"),
        (plan.mistakes.more(), "more mistakes were found"),
    ] {
        if more > 0 {
            writeln!(out, "{more} {what}")?;
        }
    }
    for sentence in plan.refusals() {
        writeln!(out, "{sentence}")?;
        exit = ExitCode::Findings;
    }
    if context.quiet {
        return Ok(exit);
    }
    for file in &plan.files {
        let parts = [
            (file.added, "added"),
            (file.updated, "updated"),
            (file.removed, "removed"),
        ];
        writeln!(out, "{}: {}", context.shown(&file.path), sum(&parts))?;
    }
    write_counts(&mut out, plan)?;
    Ok(exit)
}

/// Names the first records that differ from their lists.
fn write_changed(out: &mut impl Write, plan: &Plan) -> anyhow::Result<()> {
    for change in &plan.changed {
        writeln!(out, "  {}", sanitize(change))?;
    }
    let all: u64 = plan
        .files
        .iter()
        .map(|it| it.added + it.updated + it.removed)
        .sum();
    let more = all.saturating_sub(plan.changed.len() as u64);
    if more > 0 {
        writeln!(out, "  and {}", count(more, "more record"))?;
    }
    Ok(())
}

/// Writes the sums over all files, and what was left out.
fn write_counts(out: &mut impl Write, plan: &Plan) -> anyhow::Result<()> {
    let total = |number: fn(&crate::sync::FileChange) -> u64| plan.files.iter().map(number).sum();
    let parts = [
        (total(|file| file.added), "added"),
        (total(|file| file.updated), "updated"),
        (total(|file| file.removed), "removed"),
        (plan.unchanged, "unchanged"),
    ];
    writeln!(out, "{}", sum(&parts))?;
    let left_out: Vec<String> = plan
        .left_out
        .iter()
        .map(|(kind, number)| format!("{number} {}", sanitize(kind)))
        .collect();
    if !left_out.is_empty() {
        writeln!(out, "left out: {}", left_out.join(", "))?;
    }
    if plan.agreeing > 0 {
        let records = count(plan.agreeing, "record");
        writeln!(
            out,
            "{records} that no list made: people wrote what a list says; `urldb sync --adopt` lets the list own them"
        )?;
    }
    if plan.with_own_promise > 0 {
        let records = count(plan.with_own_promise, "record");
        let verb = if plan.with_own_promise == 1 {
            "has"
        } else {
            "have"
        };
        writeln!(out, "{records} {verb} promises that no list states")?;
    }
    for folder in &plan.submodules {
        let folder = folder.display().to_string();
        writeln!(
            out,
            "{} is a repository of its own, and was not read",
            sanitize(&folder)
        )?;
    }
    Ok(())
}

/// Refuses to commit records of lists that are not committed.
pub(super) fn ensure_committed(lists: &BTreeSet<PathBuf>, context: &Context) -> anyhow::Result<()> {
    let Some(repository) = Repository::of_project(&context.config.root)? else {
        return Ok(());
    };
    let comparison = repository.comparison(None, false)?;
    let root = repository.relative(&context.config.root)?;
    let work_tree = repository.work_tree()?;
    for file in repository.changed_files(&comparison, &root)? {
        let path = work_tree.join(&file.path);
        anyhow::ensure!(
            !lists.contains(&path) || repository.is_same_on_disk(&file)?,
            "{} has uncommitted changes; commit them first. Nothing was written",
            context.shown(&path)
        );
    }
    Ok(())
}

/// The records that lists own, and that commands do not change: `urldb sync` would undo it.
pub(super) struct ListedRecords {
    locations: Option<ListLocations>,
}

impl ListedRecords {
    /// Reads the lists. One that cannot be read has no places.
    pub(super) fn new(context: &Context) -> Self {
        Self {
            locations: locations(&context.config).ok(),
        }
    }

    /// The sentence about a record with sources, and its place in a list.
    pub(super) fn sentence(&self, host: &str, metadata: &Metadata, record: &Record) -> String {
        let url = RequestUrl::new(metadata.scheme_of(record), host, &record.path);
        let url = url.map_or_else(|| format!("{host}{}", record.path), String::from);
        let url = format!(
            "{url}{}",
            variant_suffix(metadata.variant_of(record).as_deref())
        );
        let locations = self.locations.as_ref();
        let place = locations.and_then(|all| all.of(host, &metadata.identity_of(record)));
        let place = place.map_or_else(String::new, |(file, line)| format!(" ({file}:{line})"));
        let sources = record.source.join(" and ");
        let text =
            format!("{url} is promised in {sources}{place}; change it there, then `urldb sync`");
        sanitize(&text).into_owned()
    }
}
