//! The files of a source: below the root of the repository, not ignored by git, in the order of their names.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use globset::GlobBuilder;
use ignore::{DirEntry, WalkBuilder};
use urldb_files::Root;
use urldb_interchange::{documents, input::LineReader};

use crate::config::{Author, Config, Format, ListSource};
use crate::git::Repository;
use crate::stop::{Interrupted, Stop, StoppableReader};

/// The files of a source, relative to the root.
#[derive(Debug, Default)]
pub(crate) struct SourceFiles {
    pub(crate) files: BTreeSet<PathBuf>,
    /// Repositories in the folders, such as submodules, whose files may be absent: they are not entered.
    pub(crate) submodules: BTreeSet<PathBuf>,
}

/// The folder of urldb.toml. If strangers wrote its files, lists are files that git tracks: others may hold secrets, such
/// as `.git/config` and those that git ignores. Without a repository, all files are theirs.
///
/// # Errors
/// When git fails.
pub(crate) fn root_of(config: &Config) -> anyhow::Result<Root> {
    let root = config.repository_root();
    let repository = match config.author {
        Author::Maintainer => None,
        Author::Stranger => Repository::of_project(&config.root)?,
    };
    Ok(match repository {
        Some(repository) => root.only(
            repository.tracked_files()?,
            "a file that git tracks, and --untrusted reads no other list",
        ),
        None => root,
    })
}

/// Finds the files of a source.
///
/// # Errors
/// When a folder cannot be read, a path is a submodule, or no file is there; and [`Interrupted`].
pub(crate) fn files_of(
    root: &Root,
    source: &ListSource,
    stop: &Stop,
) -> anyhow::Result<SourceFiles> {
    let mut found = SourceFiles::default();
    for pattern in &source.path {
        find(root, pattern, source.format, stop, &mut found)?;
    }
    if found.files.is_empty() {
        let paths = source.path.join(" or ");
        anyhow::bail!(match root.wanted() {
            Some(wanted) => format!("nothing at {paths} is {wanted}"),
            None if source.format == Format::Links => {
                format!(
                    "there is no document ({}) at {paths}",
                    documents::EXTENSIONS
                )
            }
            None => format!("there is no file at {paths}"),
        });
    }
    Ok(found)
}

/// Adds the files of one pattern.
fn find(
    root: &Root,
    pattern: &str,
    format: Format,
    stop: &Stop,
    found: &mut SourceFiles,
) -> anyhow::Result<()> {
    let start = fixed_part(pattern);
    if start == Path::new(pattern) {
        let path = root.path().join(&start);
        if !urldb_files::is_folder(&path) {
            if urldb_files::is_there(&path) {
                found.files.insert(start);
            }
            return Ok(());
        }
        anyhow::ensure!(
            !is_repository(&path) || start.as_os_str().is_empty(),
            "{pattern} is a submodule: run urldb in it, or copy the list"
        );
        let wants = format.of_folder().with_context(|| {
            format!("{pattern} is a folder; name the files in it, such as {pattern}/*.csv")
        })?;
        return walk(root, &start, format, wants, stop, found);
    }
    let matcher = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .context("a path of the source")?
        .compile_matcher();
    let is_match = |path: &Path| matcher.is_match(path);
    walk(root, &start, format, is_match, stop, found)
}

/// Whether a file, relative to the root, may be a list of the source.
pub(crate) fn may_be_list(source: &ListSource, file: &Path) -> bool {
    source
        .path
        .iter()
        .any(|pattern| file.starts_with(fixed_part(pattern)))
}

/// The folders of a pattern before its first special character; the whole of a path without any.
pub(crate) fn fixed_part(pattern: &str) -> PathBuf {
    let parts = Path::new(pattern).components();
    let is_fixed = |part: &std::path::Component| {
        !part
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .any(|byte| b"*?[]{}!\\".contains(byte))
    };
    parts.take_while(is_fixed).collect()
}

fn walk(
    root: &Root,
    start: &Path,
    format: Format,
    wants: impl Fn(&Path) -> bool,
    stop: &Stop,
    found: &mut SourceFiles,
) -> anyhow::Result<()> {
    let folder = root.path().join(start);
    if !urldb_files::is_folder(&folder) {
        return Ok(());
    }
    let base = folder.clone();
    let repositories = Arc::new(Mutex::new(BTreeSet::new()));
    let apart = Arc::clone(&repositories);
    let is_inside = move |entry: &DirEntry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_apart = is_folder && entry.path() != base && is_repository(entry.path());
        if is_apart && let Ok(mut apart) = apart.lock() {
            apart.insert(entry.path().to_owned());
        }
        entry.file_name() != ".git" && !is_apart
    };
    let walk = WalkBuilder::new(&folder)
        .hidden(false)
        .ignore(false)
        .git_global(false)
        .follow_links(false)
        .filter_entry(is_inside)
        .build();
    for entry in walk {
        Interrupted::unless_goes_on(stop, "the lists were not searched to their end")?;
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let kind = entry.file_type();
        let name = entry
            .path()
            .strip_prefix(root.path())
            .unwrap_or(entry.path());
        let is_read =
            |kind: fs::FileType| kind.is_file() || kind.is_symlink() && format == Format::Files;
        if kind.is_some_and(is_read) && wants(name) && !root.file(name).is_left_out() {
            found.files.insert(name.to_owned());
        }
    }
    let mut apart = repositories
        .lock()
        .map_err(|_| anyhow::anyhow!("a walk ended"))?;
    let names = std::mem::take(&mut *apart)
        .into_iter()
        .map(|path| path.strip_prefix(root.path()).unwrap_or(&path).to_owned());
    found.submodules.extend(names);
    Ok(())
}

/// The files of a format in a folder that git does not ignore, in the order of their names.
///
/// # Errors
/// When a folder cannot be read, or no such file is there.
pub(crate) fn files_in(
    folder: &Path,
    format: Format,
    wants: fn(&Path) -> bool,
) -> anyhow::Result<Vec<PathBuf>> {
    let root = Root::new(folder, "the folder of lists");
    let mut found = SourceFiles::default();
    walk(
        &root,
        Path::new(""),
        format,
        wants,
        &Stop::new(),
        &mut found,
    )?;
    anyhow::ensure!(
        !found.files.is_empty(),
        "there is no file of this format in {}",
        folder.display()
    );
    Ok(found.files.iter().map(|file| folder.join(file)).collect())
}

/// Refuses a file (relative to the root) outside of the repository. A link that is a list itself may lead anywhere, since
/// only its text is read.
///
/// # Errors
/// When a link leads out of the repository, or the file is not there.
pub(crate) fn ensure_inside(root: &Root, file: &Path, format: Format) -> anyhow::Result<()> {
    let file = root.file(file);
    if format == Format::Files && urldb_files::is_link(&file.path()) {
        return Ok(file.check_link()?);
    }
    file.metadata()?;
    Ok(())
}

/// Whether commands of urldb write the file: a domain file, or one of the ledger or the archive.
pub(crate) fn is_output(config: &Config, path: &Path) -> bool {
    let is_of_database =
        path.parent() == Some(config.database_root().path()) && urldb_format::is_domain_file(path);
    let folders = [config.ledger_root(), config.archive_root()];
    is_of_database || folders.iter().any(|folder| path.starts_with(folder.path()))
}

/// The folder that has all files of the source, before the first special character of its patterns: that of `base`.
pub(crate) fn top_of(root: &Root, source: &ListSource) -> PathBuf {
    let starts = source.path.iter().map(|pattern| fixed_part(pattern));
    common_folder(starts.map(|start| root.path().join(start)))
}

/// The deepest folder that has all these files and folders.
pub(crate) fn common_folder(paths: impl Iterator<Item = PathBuf>) -> PathBuf {
    paths
        .map(|mut path| {
            if !urldb_files::is_folder(&path) {
                path.pop();
            }
            path
        })
        .reduce(|one, other| {
            one.components()
                .zip(other.components())
                .map_while(|(one, other)| (one == other).then_some(one))
                .collect()
        })
        .unwrap_or_default()
}

/// Whether the folder is the work tree of a repository.
fn is_repository(folder: &Path) -> bool {
    urldb_files::is_there(&folder.join(".git"))
}

/// Refuses lists that git has not merged, or that have conflict markers.
pub(crate) struct MergeState {
    unmerged: BTreeSet<PathBuf>,
}

impl MergeState {
    /// The unmerged files of the repository around `root`, if there is one.
    pub(crate) fn of(root: &Path) -> anyhow::Result<Self> {
        let repository = Repository::of_project(root)?;
        let unmerged = match &repository {
            Some(repository) => repository.unmerged(&repository.relative(root)?)?,
            None => vec![],
        };
        let work_tree = repository.as_ref().map(Repository::work_tree).transpose()?;
        let paths = unmerged.into_iter().map(|file| match work_tree {
            Some(work_tree) => work_tree.join(&file.path),
            None => file.path,
        });
        Ok(Self {
            unmerged: paths.collect(),
        })
    }

    /// # Errors
    /// For a file with a conflict. In a document, conflict markers are text.
    pub(crate) fn check(
        &self,
        path: &Path,
        shown: &str,
        is_document: bool,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let is_unmerged = self.unmerged.contains(path);
        let has_markers = || -> io::Result<bool> {
            if is_document {
                return Ok(false);
            }
            let input = StoppableReader::new(urldb_files::open_input(path)?, stop);
            has_conflict_markers(BufReader::new(input))
        };
        anyhow::ensure!(
            !is_unmerged && !has_markers().with_context(|| format!("cannot read {shown}"))?,
            "{shown} has a merge conflict; mend it first"
        );
        Ok(())
    }
}

/// Whether lines begin with `<<<<<<< `, `=======` and `>>>>>>> `, in this order.
fn has_conflict_markers(input: impl BufRead) -> io::Result<bool> {
    let mut wanted = ["<<<<<<< ", "=======", ">>>>>>> "].iter().peekable();
    let mut lines = LineReader::new(input);
    while wanted.peek().is_some() {
        let Some(line) = lines.next_line()? else {
            return Ok(false);
        };
        let text = line.text.unwrap_or_default();
        wanted.next_if(|marker| text.starts_with(**marker));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflict_markers_count_at_the_start_of_lines() {
        let is_found = |text: &str| {
            // Small pieces: a marker may lie across two of them.
            let reader = BufReader::with_capacity(3, text.as_bytes());
            has_conflict_markers(reader).unwrap()
        };
        assert!(is_found("a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"));
        assert!(!is_found("a\n=======\n>>>>>>> theirs\n"));
        assert!(!is_found(" <<<<<<< ours\n=======\n>>>>>>> theirs\n"));
        assert!(!is_found("<<<<<<<\n=======\n>>>>>>>\n"));
        assert!(!is_found(""));
    }

    #[test]
    fn a_pattern_has_a_fixed_part() {
        for (pattern, fixed) in [
            ("recipes/*/*/conandata.yml", "recipes"),
            ("data/SHA256SUMS", "data/SHA256SUMS"),
            ("**/*.md", ""),
            ("a/b?/c", "a"),
        ] {
            assert_eq!(fixed_part(pattern), Path::new(fixed), "{pattern}");
        }
    }
}
