//! `urldb resolve`.

mod driver;
mod merging;

use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;

use urldb_text::{Code, Finding};

use self::merging::{Attempt, FileKind};
use super::print::{output, style};
use super::{Context, GlobalArgs};
use crate::database::edit::Edit;
use crate::exit::ExitCode;
use crate::git::{GitEnv, Repository, Resolution, UnmergedFile};

/// Resolve conflicts that git left in domain files and the ledger
///
/// After a merge, rebase, cherry-pick or `stash pop`. Files merge record by record and key by key. A resolved file is staged. Where
/// both sides gave one key different values, markers stay around that record.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb resolve                            all unmerged files of the database and the ledger
  urldb resolve --dry-run                  show what would be merged
  urldb resolve urldb/example.org.yaml
  urldb hook install                       git merges with urldb from then on

Exit codes: 0 no conflict is left, 1 conflicts are left, 2 a file could not be merged")]
pub(super) struct Args {
    /// Change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Merge one file for git, as its merge driver; OURS gets the result
    #[arg(
        long,
        num_args = 4,
        value_names = ["BASE", "OURS", "THEIRS", "PATH"],
        allow_hyphen_values = true,
        conflicts_with_all = ["dry_run", "files"]
    )]
    driver: Option<Vec<PathBuf>>,
    /// Length of conflict markers
    #[arg(long, value_name = "N", default_value_t = 7, requires = "driver", value_parser = clap::value_parser!(u16).range(1..=1000))]
    marker_size: u16,
    /// Only these files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(super) fn run(
    args: &Args,
    global: &GlobalArgs,
    context: impl FnOnce() -> anyhow::Result<Context>,
) -> anyhow::Result<ExitCode> {
    if let Some([base, ours, theirs, path]) = args.driver.as_deref() {
        let versions = [base, ours, theirs].map(PathBuf::as_path);
        return driver::run(versions, path, args.marker_size.into(), global);
    }
    let context = context()?;
    let folders = [context.database(), context.ledger()];
    let mut unmerged = unmerged(&context, &folders)?;
    if !args.files.is_empty() {
        unmerged = only(unmerged, &args.files, &context)?;
    }
    let touches_ledger = unmerged.iter().any(|it| it.kind != FileKind::Domain);
    // A run must not write the ledger meanwhile.
    let _lock = (touches_ledger && !args.dry_run)
        .then(|| context.lock_repository())
        .transpose()?;
    resolve(unmerged, args.dry_run, &context)
}

/// Resolves the unmerged files of the ledger for a program that holds the lock of the repository.
pub(super) fn resolve_ledger(context: &Context) -> anyhow::Result<ExitCode> {
    let files = unmerged(context, &[context.ledger()])?;
    if files.is_empty() {
        return Ok(ExitCode::Success);
    }
    resolve(files, false, context)
}

/// An unmerged file of the database or the ledger.
struct UnmergedOfOurs {
    repository: Rc<Repository>,
    file: UnmergedFile,
    kind: FileKind,
    /// The absolute path.
    path: PathBuf,
}

/// The unmerged files in these folders. The ledger may be in a repository or work tree of its own.
fn unmerged(context: &Context, folders: &[PathBuf]) -> anyhow::Result<Vec<UnmergedOfOurs>> {
    let mut found: Vec<UnmergedOfOurs> = vec![];
    let mut is_repository = false;
    for folder in folders {
        // A folder that a side removed has unmerged files too.
        let existing = folder.ancestors().find(|folder| folder.is_dir());
        let existing = existing.unwrap_or(&context.directory);
        let Some(repository) = Repository::discover(existing, GitEnv::from_process())? else {
            continue;
        };
        is_repository = true;
        let repository = Rc::new(repository);
        let top = repository.work_tree()?.to_owned();
        for file in repository.unmerged(&repository.relative(folder)?)? {
            let path = top.join(&file.path);
            let is_known = found.iter().any(|known| known.path == path);
            if let (Some(kind), false) = (FileKind::of(&path, &context.config), is_known) {
                found.push(UnmergedOfOurs {
                    repository: Rc::clone(&repository),
                    file,
                    kind,
                    path,
                });
            }
        }
    }
    anyhow::ensure!(
        is_repository,
        "{} is in no git repository",
        context.directory.display()
    );
    Ok(found)
}

/// The files that were named.
fn only(
    unmerged: Vec<UnmergedOfOurs>,
    named: &[PathBuf],
    context: &Context,
) -> anyhow::Result<Vec<UnmergedOfOurs>> {
    let resolved = |path: &PathBuf| {
        let path = context.directory.join(path);
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        match (folder, path.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => path,
        }
    };
    let named: Vec<PathBuf> = named.iter().map(resolved).collect();
    for path in &named {
        anyhow::ensure!(
            FileKind::of(path, &context.config).is_some(),
            "{} is no file of the database or the ledger; urldb merges only these",
            context.shown(path)
        );
    }
    let is_named = |it: &UnmergedOfOurs| named.contains(&it.path);
    Ok(unmerged.into_iter().filter(is_named).collect())
}

/// Merges the files, writes and stages them, and reports each.
fn resolve(
    files: Vec<UnmergedOfOurs>,
    dry_run: bool,
    context: &Context,
) -> anyhow::Result<ExitCode> {
    let mut out = output::stdout();
    if files.is_empty() {
        if !context.quiet {
            writeln!(out, "no unmerged files in the database and the ledger")?;
        }
        return Ok(ExitCode::Success);
    }
    let is_domain = files.iter().any(|it| it.kind == FileKind::Domain);
    let _edit = (is_domain && !dry_run)
        .then(|| Edit::begin(&context.database()))
        .transpose()?;
    let (mut resolved, mut left) = (0, 0);
    let mut by_repository: Vec<(Rc<Repository>, Vec<(UnmergedFile, Resolution)>)> = vec![];
    for file in files {
        let attempt = attempt(&file, context)?;
        let name = context.shown(&file.path);
        for finding in attempt.findings {
            let finding = finding.in_file(&file.path);
            style::write_finding(&mut out, context, &finding)?;
        }
        match &attempt.resolution {
            None | Some(Resolution::Conflict(_)) => left += 1,
            Some(Resolution::Merged(_) | Resolution::Removed) => {
                resolved += 1;
                if !context.quiet {
                    let what = match (&attempt.resolution, dry_run) {
                        (Some(Resolution::Removed), true) => "would remove",
                        (Some(Resolution::Removed), false) => "removed",
                        (_, true) => "would merge",
                        (_, false) => "merged",
                    };
                    writeln!(out, "{}: {name}", style::paint(style::GOOD, what))?;
                }
            }
        }
        if let Some(resolution) = attempt.resolution {
            let known = by_repository.iter_mut();
            let mut known = known.filter(|it| it.0.git_dir() == file.repository.git_dir());
            match known.next() {
                Some((_, resolutions)) => resolutions.push((file.file, resolution)),
                None => by_repository.push((file.repository, vec![(file.file, resolution)])),
            }
        }
    }
    if !dry_run {
        for (repository, resolutions) in &by_repository {
            repository.resolve(resolutions)?;
        }
    }
    if left == 0 {
        return Ok(ExitCode::Success);
    }
    writeln!(
        out,
        "{} {}, {left} with conflicts: edit and `git add` what is left",
        style::count(resolved, "file"),
        if dry_run { "can be merged" } else { "merged" },
    )?;
    Ok(ExitCode::Findings)
}

/// Merges one file, unless somebody has worked on it.
fn attempt(file: &UnmergedOfOurs, context: &Context) -> anyhow::Result<Attempt> {
    let UnmergedOfOurs {
        repository,
        file,
        kind,
        ..
    } = file;
    if !file.is_regular() {
        let message = "a side has a symbolic link or a submodule here, which cannot be merged";
        return Ok(Attempt::of(
            None,
            Finding::new(Code::UnmergedFile, 1, message),
        ));
    }
    let versions = repository.versions(file)?;
    let attempt = merging::merge(*kind, &versions, repository.conflict_style(), 7)?;
    if let Some(resolution) = &attempt.resolution
        && !repository.is_untouched(file, resolution)?
    {
        let path = context.shown(&repository.work_tree()?.join(&file.path));
        let message = "the file was edited since the merge, so urldb left it alone";
        let help = format!(
            "finish it and `git add {path}`, or begin again with `git checkout --merge -- {path}`"
        );
        let finding = Finding::new(Code::UnmergedFile, 1, message).with_help(help);
        return Ok(Attempt::of(None, finding));
    }
    Ok(attempt)
}
