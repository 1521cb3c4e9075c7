//! Lists the staged files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::changed::{FileVersion, Snapshot};
use super::command::{CommandResult, output, run};
use super::paths;
use super::raw_changes::{RAW, RawChange, raw_changes};
use super::repository::{Repository, line};

/// A file of the index that differs from the base: HEAD, or the parent of the commit that
/// `git commit --amend` replaces.
///
/// Git does not tell its hooks that it amends. But it keeps the author and the time of the old commit,
/// unless an option asks for others, and a hook sees them in its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// The blob, in hexadecimal; the commit of a submodule.
    pub id: String,
    /// Git's mode, `0o100644` for a plain file; 0 while unmerged.
    pub mode: u32,
    /// The blob in the base; `None` if the file is new.
    pub before: Option<String>,
}

/// The kind of a staged entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file, executable or not.
    File,
    /// A symbolic link.
    Symlink,
    /// The commit of another repository.
    Submodule,
    /// A file with a conflict that is not yet resolved.
    Unmerged,
}

impl StagedFile {
    /// The kind, from the mode.
    pub fn kind(&self) -> EntryKind {
        match self.mode {
            0 => EntryKind::Unmerged,
            0o120_000 => EntryKind::Symlink,
            0o160_000 => EntryKind::Submodule,
            _ => EntryKind::File,
        }
    }
}

impl Repository {
    /// The staged files directly in the folders `dirs` (relative to the work tree) that differ from the base, by folder
    /// and path. A renamed file counts as added; deletions and files marked with `git add -N` are left out.
    ///
    /// # Errors
    /// When git fails.
    pub fn staged(&self, dirs: &[&Path]) -> Result<Vec<StagedFile>> {
        let changes = raw_changes(
            self.git()
                .env("GIT_LITERAL_PATHSPECS", "1")
                .args(["diff-index", "--cached"])
                .args(RAW)
                .args(["--diff-filter=d", "--ita-invisible-in-index"])
                .args([&self.base()?, "--"])
                .args(dirs.iter().map(|dir| paths::pathspec(dir))),
        )?;
        let file = |change: &RawChange| {
            let (mode, id) = change
                .after
                .as_ref()
                .map_or((0, String::new()), |it| (it.mode, it.id.clone()));
            StagedFile {
                path: change.path.clone(),
                id,
                mode,
                before: change
                    .before
                    .as_ref()
                    .filter(|it| it.is_regular())
                    .map(|it| it.id.clone()),
            }
        };
        let below = |dir| {
            changes
                .iter()
                .filter(move |change| change.path.parent() == Some(dir))
        };
        Ok(dirs.iter().flat_map(|dir| below(*dir)).map(file).collect())
    }

    /// The regular files of the index below the folder `dir` (relative to the work tree), each with the id
    /// of its blob.
    ///
    /// # Errors
    /// When git fails.
    pub fn indexed(&self, dir: &Path) -> Result<Vec<(PathBuf, String)>> {
        Ok(self
            .files_of(&Snapshot::Index, dir)?
            .into_iter()
            .filter_map(|(path, version)| match version {
                FileVersion::Blob(id) => Some((path, id)),
                _ => None,
            })
            .collect())
    }

    /// Those of [`Self::indexed`] that are not in the work tree, since a sparse checkout leaves them out.
    ///
    /// # Errors
    /// When git fails, or the repository is bare.
    pub fn left_out(&self, dir: &Path) -> Result<Vec<(PathBuf, String)>> {
        let top = self.work_tree()?;
        if !self.is_sparse() {
            return Ok(vec![]);
        }
        let mut tags = self.tags(&[dir])?;
        tags.retain(|path, tag| skips_work_tree(*tag) && !urldb_files::is_there(&top.join(path)));
        let mut files = self.indexed(dir)?;
        files.retain(|(path, _)| tags.contains_key(path));
        Ok(files)
    }

    /// The commit or the tree of the base; the empty tree if there is no base.
    fn base(&self) -> Result<String> {
        let tree = |revision: &str| {
            let mut git = self.git();
            git.args(["rev-parse", "--verify", "-q"])
                .arg(format!("{revision}^{{tree}}"));
            Ok::<_, anyhow::Error>(match run(&mut git, b"")? {
                CommandResult::Success(id) => Some(line(id)?),
                CommandResult::Failure(_) => None,
            })
        };
        let head = self.head_commit();
        let base = if head.is_some() && self.amends()? {
            tree("HEAD~1")?.or_else(|| head.filter(|_| self.is_shallow()))
        } else {
            head
        };
        base.map_or_else(|| self.empty_tree(), Ok)
    }

    /// Whether the commit being made replaces HEAD.
    fn amends(&self) -> Result<bool> {
        if !self.env().tells_author() {
            return Ok(false);
        }
        let author = output(
            self.git()
                .args(["log", "-1", "--no-mailmap", "--date=raw"])
                .arg("--format=%an%x00%ae%x00%ad"),
            b"",
        )?;
        let mut parts = author
            .strip_suffix(b"\n")
            .unwrap_or(&author)
            .splitn(3, |byte| *byte == 0);
        let (Some(name), Some(email), Some(date)) = (parts.next(), parts.next(), parts.next())
        else {
            return Ok(false);
        };
        let date = String::from_utf8_lossy(date);
        Ok(self.env().has_author(name, email, &date))
    }

    /// The tags that git gives entries of the index in the folders `dirs` for what users have set for them.
    pub(super) fn tags(&self, dirs: &[&Path]) -> Result<BTreeMap<PathBuf, u8>> {
        let listing = self.ls_files(&["-v", "--cached"], dirs)?;
        Ok(paths::entries(&listing)
            .filter_map(|line| match line {
                [tag, b' ', path @ ..] => Some((paths::from_bytes(path), *tag)),
                _ => None,
            })
            .collect())
    }

    /// The output of `git ls-files` with these options, for the files at or below the paths: a zero ends each entry.
    pub(super) fn ls_files(&self, options: &[&str], paths: &[&Path]) -> Result<Vec<u8>> {
        output(
            self.git()
                .env("GIT_LITERAL_PATHSPECS", "1")
                .arg("ls-files")
                .args(options)
                .args(["-z", "--"])
                .args(paths.iter().map(|path| paths::pathspec(path))),
            b"",
        )
    }
}

/// Whether a tag is that of `git update-index --skip-worktree`.
pub(super) fn skips_work_tree(tag: u8) -> bool {
    tag.eq_ignore_ascii_case(&b's')
}
