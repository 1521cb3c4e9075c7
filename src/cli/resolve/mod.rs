//! `urldb resolve`.

mod driver;
mod evidence;
mod listed;
mod merging;
mod renames;
mod versions;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use urldb_text::{Code, Finding, sanitize};

pub(super) use self::merging::FileKind;
use self::merging::MergeAttempt;
pub(super) use self::versions::{merge_ancestors, merge_versions};
use super::print::findings::write_finding;
use super::print::{output, style};
use super::{Context, GlobalArgs};
use crate::database::across;
use crate::database::edit::Edit;
use crate::exit::ExitCode;
use crate::git::{Base, MARKER_SIZE, Repository, Resolution, TextStyle, UnmergedFile};

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
  urldb resolve --by-evidence              take the bytes that a run saw last
  urldb resolve --commit                   then end the merge
  urldb hook install                       git merges with urldb from then on

Exit codes: 0 no conflict is left, 1 conflicts are left, 2 a file could not be merged")]
pub(super) struct Args {
    /// Change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Of two promises about the bytes of a URL, take the one whose bytes a run saw last, as the ledger says
    #[arg(long, conflicts_with = "driver")]
    by_evidence: bool,
    /// When no conflict is left, commit, and go on with the merge, rebase or cherry-pick
    #[arg(long, conflicts_with_all = ["dry_run", "driver"])]
    commit: bool,
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
    let named = named_files(&args.files, &context)?;
    let folders = [context.database(), context.ledger().path().to_owned()];
    let mut groups = unmerged(&context, &folders)?;
    anyhow::ensure!(
        !groups.is_empty(),
        "{} is in no git repository",
        context.directory.display()
    );
    for group in &mut groups {
        group
            .files
            .retain(|file| named.is_empty() || named.contains(&file.path));
    }
    let touches_ledger = groups
        .iter()
        .flat_map(UnmergedGroup::kinds)
        .any(|kind| kind != FileKind::Domain);
    // A run must not write the ledger meanwhile.
    let _lock = (touches_ledger && !args.dry_run)
        .then(|| context.lock_repository())
        .transpose()?;
    let mode = Mode {
        dry_run: args.dry_run,
        by_evidence: args.by_evidence,
    };
    let counts = resolve(&groups, mode, &context)?;
    counts.print(args.dry_run, &context)?;
    let exit = counts.exit_code();
    if args.commit && exit == ExitCode::Success {
        commit(&groups, &context)?;
    }
    Ok(exit)
}

/// Ends the operation of each repository, or goes on with it.
fn commit(groups: &[UnmergedGroup], context: &Context) -> anyhow::Result<()> {
    for group in groups {
        let committed = group.repository.go_on()?;
        if let (Some(commit), false) = (committed, context.quiet) {
            let done = style::paint(style::GOOD, "committed");
            writeln!(output::stdout(), "{done} {}", sanitize(&commit))?;
        }
    }
    Ok(())
}

/// Resolves the unmerged files of the ledger for a program that holds the lock of the repository.
pub(super) fn resolve_ledger(context: &Context) -> anyhow::Result<()> {
    let groups = unmerged(context, &[context.ledger().path().to_owned()])?;
    resolve(&groups, Mode::default(), context).map(drop)
}

/// Unmerged files of the database or the ledger in one repository.
struct UnmergedGroup {
    repository: Repository,
    files: Vec<FileToMerge>,
}

struct FileToMerge {
    /// Absolute, without links.
    path: PathBuf,
    kind: FileKind,
    unmerged: UnmergedFile,
    base: Base,
    /// The conflict in the name of a domain file.
    rename: Option<Finding>,
}

impl FileToMerge {
    /// The versions to merge: base, ours, theirs.
    fn versions(&self, repository: &Repository) -> anyhow::Result<[Option<Vec<u8>>; 3]> {
        let mut versions = repository.versions(&self.unmerged)?;
        match &self.base {
            Base::File(base) => versions[0].clone_from(base),
            // Another name is another host, unless the changes of its file come to this one.
            Base::OtherFile(_) if self.only_side().is_some() => versions[0] = None,
            Base::OtherFile(_) | Base::Unknown => {}
        }
        Ok(versions)
    }
}

impl UnmergedGroup {
    fn kinds(&self) -> impl Iterator<Item = FileKind> {
        self.files.iter().map(|file| file.kind)
    }
}

/// The unmerged files in these folders, by repository; none where there is no repository. The ledger
/// may be in a repository or work tree of its own.
fn unmerged(context: &Context, folders: &[PathBuf]) -> anyhow::Result<Vec<UnmergedGroup>> {
    let mut groups: Vec<UnmergedGroup> = vec![];
    for folder in folders {
        // A folder that a side removed has unmerged files too.
        let Some(repository) = Repository::of_project(folder)? else {
            continue;
        };
        let top = repository.work_tree()?;
        let mut files = vec![];
        let unmerged = repository.unmerged(&repository.relative(folder)?)?;
        let ancestors = match &unmerged[..] {
            [] => vec![],
            _ => repository.ancestors()?,
        };
        for unmerged in unmerged {
            let path = top.join(&unmerged.path);
            let mut known = groups.iter().flat_map(|group| &group.files);
            let is_known = known.any(|known| known.path == path);
            if let (Some(kind), false) = (FileKind::from_path(&path, &context.config), is_known) {
                let merge = |versions| merging::merge_ancestors(kind, versions);
                files.push(FileToMerge {
                    base: repository.base_of(&unmerged, &ancestors, &merge)?,
                    path,
                    kind,
                    unmerged,
                    rename: None,
                });
            }
        }
        for number in 0..files.len() {
            if files[number].kind == FileKind::Domain {
                let conflict = renames::conflict(&files[number], &files, &repository, context);
                files[number].rename = conflict?;
            }
        }
        groups.push(UnmergedGroup { repository, files });
    }
    Ok(groups)
}

/// The absolute paths of the files on the command line.
fn named_files(files: &[PathBuf], context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let absolute = |path: &PathBuf| {
        let path = context.directory.join(path);
        let folder = path
            .parent()
            .and_then(|folder| urldb_files::real_path(folder).ok());
        match (folder, path.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => path,
        }
    };
    let named: Vec<PathBuf> = files.iter().map(absolute).collect();
    for path in &named {
        anyhow::ensure!(
            FileKind::from_path(path, &context.config).is_some(),
            "{} is no file of the database or the ledger; urldb merges only these",
            context.shown(path)
        );
    }
    Ok(named)
}

/// Numbers of files.
#[derive(Debug, Default)]
struct Counts {
    resolved: u64,
    left: u64,
    /// Files that are merged, and contradict other ones.
    contradictory: u64,
}

impl Counts {
    fn print(&self, dry_run: bool, context: &Context) -> anyhow::Result<()> {
        let mut out = output::stdout();
        if self.left > 0 {
            let merged = style::count(self.resolved, "file");
            let done = if dry_run { "can be merged" } else { "merged" };
            let left = self.left;
            writeln!(
                out,
                "{merged} {done}, {left} with conflicts: edit and `git add` what is left"
            )?;
        } else if self.resolved == 0 && !context.quiet {
            writeln!(out, "no unmerged files in the database and the ledger")?;
        }
        Ok(())
    }

    fn exit_code(&self) -> ExitCode {
        if self.left + self.contradictory == 0 {
            ExitCode::Success
        } else {
            ExitCode::Findings
        }
    }
}

/// The options of a resolution.
#[derive(Debug, Default, Clone, Copy)]
struct Mode {
    dry_run: bool,
    by_evidence: bool,
}

/// Merges the files, writes and stages them, and reports each.
fn resolve(
    groups: &[UnmergedGroup],
    Mode {
        dry_run,
        by_evidence,
    }: Mode,
    context: &Context,
) -> anyhow::Result<Counts> {
    let mut kinds = groups.iter().flat_map(UnmergedGroup::kinds);
    let _edit = (kinds.any(|kind| kind == FileKind::Domain) && !dry_run)
        .then(|| Edit::begin(&context.database()))
        .transpose()?;
    let mut counts = Counts::default();
    let mut changed = vec![];
    for UnmergedGroup { repository, files } in groups {
        let style = repository.conflict_style();
        let mut attempts = files
            .iter()
            .map(|file| attempt(repository, file, style))
            .collect::<anyhow::Result<Vec<_>>>()?;
        listed::settle(&mut attempts, files, (repository, style), context)?;
        let mut taken = vec![];
        for (attempt, file) in attempts.iter_mut().zip(files) {
            let how = (repository, style);
            taken.extend(evidence::weigh(attempt, file, how, by_evidence, context)?);
        }
        let unmerged: Vec<_> = files.iter().map(|file| file.unmerged.clone()).collect();
        let present = repository.work_tree_blobs(&unmerged)?;
        let mut resolutions = vec![];
        for (file, attempt) in files.iter().zip(attempts) {
            let attempt = unless_edited(attempt, repository, file, &present)?;
            report(&attempt, file, dry_run, context)?;
            match &attempt.resolution {
                None | Some(Resolution::Conflict(_)) => counts.left += 1,
                Some(Resolution::Merged(_) | Resolution::Removed) => counts.resolved += 1,
            }
            resolutions.extend(attempt.resolution.map(|it| (file.unmerged.clone(), it)));
        }
        for line in &taken {
            writeln!(output::stdout(), "{}", sanitize(line))?;
        }
        if !dry_run {
            repository.resolve(&resolutions)?;
            repository.add_to_message(&taken)?;
            if files.iter().any(|file| file.kind == FileKind::Domain) {
                // Git merged the other files by itself, and may have made a mistake in them.
                let folder = repository.relative(&context.database())?;
                let staged = repository.staged(&[&folder])?.into_iter();
                changed.extend(staged.map(|file| file.path));
            }
        }
    }
    if !changed.is_empty() {
        let findings = across::findings(&context.config, &changed)?;
        let errors = findings.iter().filter(|finding| finding.is_error());
        for finding in errors {
            write_finding(&mut output::stdout(), context, finding)?;
            counts.contradictory += 1;
        }
    }
    Ok(counts)
}

fn report(
    attempt: &MergeAttempt,
    file: &FileToMerge,
    dry_run: bool,
    context: &Context,
) -> anyhow::Result<()> {
    let mut out = output::stdout();
    for finding in &attempt.findings {
        let finding = finding.clone().in_file(&file.path);
        write_finding(&mut out, context, &finding)?;
    }
    let what = match (&attempt.resolution, dry_run) {
        (Some(Resolution::Merged(_)), true) => "would merge",
        (Some(Resolution::Merged(_)), false) => "merged",
        (Some(Resolution::Removed), true) => "would remove",
        (Some(Resolution::Removed), false) => "removed",
        (Some(Resolution::Conflict(_)) | None, _) => return Ok(()),
    };
    if !context.quiet {
        let what = style::paint(style::GOOD, what);
        let listed = match attempt.settled {
            0 => String::new(),
            1 => ", with 1 record as its list has it".to_owned(),
            more => format!(", with {more} records as their lists have them"),
        };
        writeln!(out, "{what}: {}{listed}", context.shown(&file.path))?;
    }
    Ok(())
}

/// Merges one file.
fn attempt(
    repository: &Repository,
    file: &FileToMerge,
    style: TextStyle,
) -> anyhow::Result<MergeAttempt> {
    let FileToMerge {
        path,
        kind,
        unmerged,
        base,
        rename,
    } = file;
    let left = |message: &str, help: Option<String>| {
        let mut finding = Finding::new(Code::UnmergedFile, 1, message);
        finding.help = help;
        Ok(MergeAttempt::new(None, finding))
    };
    if !unmerged.is_regular() {
        let message = "a side has a symbolic link or a submodule here, which cannot be merged";
        return left(message, None);
    }
    if let Some(finding) = rename {
        return Ok(MergeAttempt::new(None, finding.clone()));
    }
    let versions = file.versions(repository)?;
    let mut attempt = merging::merge(*kind, &versions, style, MARKER_SIZE)?;
    if let Some(side) = file.only_side().filter(|_| file.has_ancestor()) {
        let is_removed = attempt.resolution == Some(Resolution::Removed);
        if is_removed && *kind == FileKind::Domain && *base == Base::Unknown {
            let (here, there) = (side.name, side.other);
            let message =
                format!("{there} side removed the file, {here} side renamed or reformatted it");
            return left(&message, Some(renames::keep_or_remove(path)));
        }
        // A file that one side removed has no line to edit.
        for finding in &mut attempt.findings {
            finding.help = Some(renames::keep_or_remove(path));
        }
    }
    Ok(attempt)
}

/// The attempt, unless somebody has worked on the file. `present` has the blobs of the work tree.
fn unless_edited(
    attempt: MergeAttempt,
    repository: &Repository,
    file: &FileToMerge,
    present: &BTreeMap<PathBuf, String>,
) -> anyhow::Result<MergeAttempt> {
    let FileToMerge { path, unmerged, .. } = file;
    // A file that is gone has no work in it.
    let Some(stored) = present.get(&unmerged.path) else {
        return Ok(attempt);
    };
    let mut is_edited = attempt.resolution.is_some();
    for resolution in attempt.resolution.iter().chain(&attempt.earlier) {
        is_edited = is_edited && !repository.is_untouched(unmerged, resolution, stored)?;
    }
    if !is_edited {
        return Ok(attempt);
    }
    let message = if repository.is_resolved_by_rerere(unmerged) {
        "`git rerere` has resolved the file as in an earlier merge, so urldb left it alone"
    } else {
        "the file was edited since the merge, so urldb left it alone"
    };
    let help = format!(
        "finish it and `{}`, or begin again with `{}`",
        git_command(&["git", "add"], path),
        git_command(&["git", "checkout", "--merge", "--"], path)
    );
    let finding = Finding::new(Code::UnmergedFile, 1, message).with_help(help);
    Ok(MergeAttempt::new(None, finding))
}

/// A command of git on one file, for a POSIX shell in the folder where urldb was started.
fn git_command(words: &[&str], path: &Path) -> String {
    let folder = std::env::current_dir().and_then(|folder| urldb_files::real_path(&folder));
    let name = path
        .strip_prefix(folder.unwrap_or_default())
        .unwrap_or(path)
        .to_string_lossy();
    // Git takes such a name for an option or a pattern.
    let name = if name.starts_with(['-', ':']) {
        format!("./{name}")
    } else {
        name.into_owned()
    };
    urldb_render::command_line(&[words, &[name.as_str()]].concat())
        .unwrap_or_else(|| words.join(" "))
}
