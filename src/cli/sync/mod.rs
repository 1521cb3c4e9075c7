//! `urldb sync`.

mod add;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use urldb_format::{DomainFile, Metadata, Record};
use urldb_text::{Finding, Severity, sanitize, variant_suffix};

pub(super) use self::add::ListArg;
use super::Context;
use crate::cli::args::{CommitArgs, PlannedCommit, domain_file_name};
use crate::cli::print::findings::write_finding;
use crate::cli::print::output;
use crate::cli::print::style::{BAD, count, paint, sum};
use crate::config::{FILE_NAME, parse_base};
use crate::database::edit::Edit;
use crate::database::lookup::url_text;
use crate::exit::ExitCode;
use crate::git::Repository;
use crate::stop::Stop;
use crate::sync::{FileChange, FollowOptions, ListLocations, Plan, follow_sources, locations};

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
    let added = args
        .add
        .as_ref()
        .map(|list| {
            let list = ListArg::new(list, args.base.as_deref());
            add::add_source(&list, args.name.as_deref(), context)
        })
        .transpose()?;
    if context.config.sources.is_empty() {
        // Schedules follow lists in any case.
        if !context.quiet {
            writeln!(
                output::stdout(),
                "there is no list to follow: `urldb sync --add PATH` adds a [source.NAME] to urldb.toml"
            )?;
        }
        return Ok(ExitCode::Success);
    }
    let writes = !args.dry_run && !args.check;
    let commit = writes
        .then(|| args.commit.begin(&context.database()))
        .transpose()?
        .flatten();
    let options = FollowOptions {
        adopt: args.adopt,
        force: args.force,
    };
    if writes {
        // The first list makes a database.
        context.config.database_root().make()?;
    }
    let mut edit = writes
        .then(|| Edit::begin(&context.database()))
        .transpose()?;
    let plan = follow_sources(&context.config, options, edit.as_mut(), &Stop::new())
        .context("nothing was written")?;
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
    write(edit, &plan, commit, code, context)?;
    Ok(code)
}

/// Writes the prepared files, and commits them if wanted.
fn write(
    edit: Edit,
    plan: &Plan,
    commit: Option<PlannedCommit>,
    code: ExitCode,
    context: &Context,
) -> anyhow::Result<()> {
    let mut written = edit.commit()?;
    let Some(commit) = commit else {
        return Ok(());
    };
    written.extend(left_files(&commit, context)?);
    let subject = || match &*plan.files {
        [] => "Follow the lists".to_owned(),
        files => format!("Follow the lists: {}", sum(&changed_counts(files))),
    };
    commit.finish(&written, subject, code, context)
}

/// The domain files with records of lists that differ from the last commit: an earlier call may have left them.
fn left_files(commit: &PlannedCommit, context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let (repository, database) = (&commit.repository, context.database());
    let folder = repository.relative(&database)?;
    let is_domain_file = |path: &Path| domain_file_name(path, &folder).is_some();
    let changed = repository.uncommitted_below(&[database], is_domain_file)?;
    let has_listed = |path: &PathBuf| {
        DomainFile::read_or_report(path)
            .file
            .records()
            .any(|entry| !entry.record().source.is_empty())
    };
    let work_tree = repository.work_tree()?;
    Ok(changed
        .paths()
        .map(|path| work_tree.join(path))
        .filter(has_listed)
        .collect())
}

/// The numbers of records that are added, updated and removed in the files.
fn changed_counts(files: &[FileChange]) -> [(u64, &'static str); 3] {
    let total = |number: fn(&FileChange) -> u64| files.iter().map(number).sum();
    [
        (total(|file| file.added), "added"),
        (total(|file| file.updated), "updated"),
        (total(|file| file.removed), "removed"),
    ]
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
    let commit = commits
        .then(|| CommitArgs::ALWAYS.begin(&context.database()))
        .transpose()?
        .flatten();
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
    // A killed run has left its files.
    let left = commit.as_ref().map(|commit| left_files(commit, context));
    if plan.files.is_empty() && left.transpose()?.is_none_or(|left| left.is_empty()) {
        return Ok(());
    }
    if commit.is_some() {
        ensure_committed(&plan.lists, context)?;
    }
    write(edit, &plan, commit, ExitCode::Success, context)
}

/// Prints mistakes, changes and counts.
fn print(plan: &Plan, is_check: bool, context: &Context) -> anyhow::Result<ExitCode> {
    let mut exit = ExitCode::Success;
    let mut out = output::stdout();
    for notice in &plan.refused.first {
        let text = notice.to_string();
        writeln!(out, "{} {}", paint(BAD, "refused:"), sanitize(&text))?;
    }
    let differing: Vec<Finding> = plan
        .files
        .iter()
        .filter(|_| is_check)
        .map(|file| file.not_synced(&context.config.root))
        .collect();
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
        let counts = changed_counts(std::slice::from_ref(file));
        writeln!(out, "{}: {}", context.shown(&file.path), sum(&counts))?;
    }
    write_counts(&mut out, plan)?;
    Ok(exit)
}

/// Names the first records that differ from their lists.
fn write_changed(out: &mut impl Write, plan: &Plan) -> anyhow::Result<()> {
    for change in &plan.changed {
        writeln!(out, "  {}", sanitize(change))?;
    }
    let [added, updated, removed] = changed_counts(&plan.files);
    let all = added.0 + updated.0 + removed.0;
    let more = all.saturating_sub(plan.changed.len() as u64);
    if more > 0 {
        writeln!(out, "  and {}", count(more, "more record"))?;
    }
    Ok(())
}

/// Writes the sums over all files, and what was left out.
fn write_counts(out: &mut impl Write, plan: &Plan) -> anyhow::Result<()> {
    let [added, updated, removed] = changed_counts(&plan.files);
    let parts = [added, updated, removed, (plan.unchanged, "unchanged")];
    writeln!(out, "{}", sum(&parts))?;
    if let Some(text) = plan.left_out_text() {
        writeln!(out, "{}", sanitize(&text))?;
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
        writeln!(out, "{records} with promises that no list states")?;
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
        let url = url_text(metadata.scheme_of(record), host, &record.path);
        let url = format!(
            "{url}{}",
            variant_suffix(metadata.variant_of(record).as_deref())
        );
        let place = self
            .locations
            .as_ref()
            .and_then(|all| all.of(host, &metadata.identity_of(record)))
            .map_or_else(String::new, |(file, line)| format!(" ({file}:{line})"));
        let sources = record.source.join(" and ");
        let text =
            format!("{url} is promised in {sources}{place}; change it there, then `urldb sync`");
        sanitize(&text).into_owned()
    }
}
