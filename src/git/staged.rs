//! Lists the staged files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use git2::{ErrorCode, ObjectType, Oid, Tree};

use super::command::{CommandResult, output, run};
use super::index_file::{CachedTree, IndexFile};
use super::paths;
use super::raw_changes::{RAW, raw_changes};
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
    /// `git update-index --skip-worktree`, as in a sparse checkout.
    pub skips_work_tree: bool,
    /// `git update-index --assume-unchanged`.
    pub is_assumed_unchanged: bool,
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
    fn new(path: PathBuf, (mode, id): (u32, String)) -> Self {
        Self {
            path,
            id,
            mode,
            skips_work_tree: false,
            is_assumed_unchanged: false,
        }
    }

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

/// A regular file of the index.
struct IndexedFile {
    path: PathBuf,
    id: String,
    skips_work_tree: bool,
}

impl Repository {
    /// The staged files directly in the folders `dirs` (relative to the work
    /// tree) that differ from the base, by folder and path. A renamed file counts
    /// as added; deletions and files marked with `git add -N` are left out.
    pub fn staged(&self, dirs: &[&Path]) -> Result<Vec<StagedFile>> {
        let dirs: Vec<_> = dirs.iter().map(|dir| paths::to_bytes(dir)).collect();
        if let Some(lib) = self.lib()
            && let Some(index) = IndexFile::read(&self.index_file())
            && let Some(staged) = self.staged_by_lib(lib, &index, &dirs)
        {
            return Ok(staged);
        }
        let base = self.base_by_git()?;
        let staged: Result<Vec<_>> = dirs
            .iter()
            .map(|dir| self.staged_by_git(dir, &base))
            .collect();
        Ok(staged?.concat())
    }

    /// The regular files of the index below the folder `dir` (relative to the work tree), each with the id
    /// of its blob.
    pub fn indexed(&self, dir: &Path) -> Result<Vec<(PathBuf, String)>> {
        let files = self.files_of_index(dir)?.into_iter();
        Ok(files.map(|file| (file.path, file.id)).collect())
    }

    /// Those of [`Self::indexed`] that are not in the work tree, since a sparse checkout leaves them out.
    ///
    /// # Errors
    /// When git fails, or the repository is bare.
    pub fn left_out(&self, dir: &Path) -> Result<Vec<(PathBuf, String)>> {
        let top = self.work_tree()?;
        let files = self.files_of_index(dir)?.into_iter();
        let left_out = files
            .filter(|file| file.skips_work_tree && !urldb_files::is_there(&top.join(&file.path)));
        Ok(left_out.map(|file| (file.path, file.id)).collect())
    }

    fn files_of_index(&self, dir: &Path) -> Result<Vec<IndexedFile>> {
        let dir = paths::to_bytes(dir);
        let prefix = if dir.is_empty() {
            vec![]
        } else {
            [&dir, b"/".as_slice()].concat()
        };
        let mut files = vec![];
        let index = IndexFile::read(&self.index_file());
        let read = index.and_then(|index| {
            index.each_below(&prefix, |entry| {
                let is_file = entry.mode & 0o170_000 == 0o100_000;
                if is_file && !entry.is_unmerged() && !entry.is_intended() {
                    files.push(IndexedFile {
                        path: paths::from_bytes(entry.path),
                        id: entry.id.to_string(),
                        skips_work_tree: entry.skips_work_tree(),
                    });
                }
            })
        });
        if read.is_some() {
            return Ok(files);
        }
        let mut git = self.git();
        git.env("GIT_LITERAL_PATHSPECS", "1")
            .args(["ls-files", "-v", "--stage", "-z", "--"])
            .arg(paths::pathspec(&paths::from_bytes(&dir)));
        let listed = output(&mut git, b"")?;
        let entries = listed.split(|byte| *byte == 0);
        let entries = entries.filter_map(|entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            let words: Vec<_> = std::str::from_utf8(&entry[..tab])
                .ok()?
                .split(' ')
                .collect();
            let [tag, mode, id, "0"] = words[..] else {
                return None;
            };
            let is_file = mode.starts_with("100");
            is_file.then(|| IndexedFile {
                path: paths::from_bytes(&entry[tab + 1..]),
                id: id.to_owned(),
                skips_work_tree: tag.eq_ignore_ascii_case("s"),
            })
        });
        Ok(entries.collect())
    }

    /// The tree of the base; the empty tree if there is no base.
    fn base_by_git(&self) -> Result<String> {
        let tree = |revision: &str| {
            let mut git = self.git();
            git.args(["rev-parse", "--verify", "-q"])
                .arg(format!("{revision}^{{tree}}"));
            Ok::<_, anyhow::Error>(match run(&mut git, b"")? {
                CommandResult::Success(id) => Some(line(id)?),
                CommandResult::Failure(_) => None,
            })
        };
        let head = tree("HEAD")?;
        let base = if head.is_some() && self.amends_by_git()? {
            tree("HEAD~1")?.or_else(|| head.filter(|_| self.is_shallow()))
        } else {
            head
        };
        match base {
            Some(base) => Ok(base),
            None => self.empty_tree(),
        }
    }

    /// Whether the commit being made replaces HEAD.
    fn amends_by_git(&self) -> Result<bool> {
        if !self.env().tells_author() {
            return Ok(false);
        }
        let mut git = self.git();
        git.args(["log", "-1", "--no-mailmap", "--date=raw"])
            .arg("--format=%an%x00%ae%x00%ad");
        let author = output(&mut git, b"")?;
        let author = author.strip_suffix(b"\n").unwrap_or(&author);
        let mut parts = author.splitn(3, |byte| *byte == 0);
        let (Some(name), Some(email), Some(date)) = (parts.next(), parts.next(), parts.next())
        else {
            return Ok(false);
        };
        let date = String::from_utf8_lossy(date);
        Ok(self.env().has_author(name, email, &date))
    }

    /// `None` if libgit2 or the reader of the index fails.
    fn staged_by_lib(
        &self,
        lib: &git2::Repository,
        index: &IndexFile,
        dirs: &[Vec<u8>],
    ) -> Option<Vec<StagedFile>> {
        let base = self.base_by_lib(lib).ok()?;
        let mut staged = Vec::new();
        for dir in dirs {
            if !is_unchanged(index, base.as_ref(), dir).ok()? {
                let base = folder_in(base.as_ref(), dir).ok()?;
                staged.extend(staged_in(lib, index, base, dir)?);
            }
        }
        Some(staged)
    }

    /// The tree of the base; `None` without a base.
    fn base_by_lib<'r>(&self, lib: &'r git2::Repository) -> Result<Option<Tree<'r>>, git2::Error> {
        let head = match lib.head() {
            Ok(head) => head.peel_to_commit()?,
            Err(error) if error.code() == ErrorCode::UnbornBranch => return Ok(None),
            Err(error) => return Err(error),
        };
        let author = head.author();
        let when = author.when();
        let offset = when.offset_minutes().abs();
        let (sign, hours, minutes) = (when.sign(), offset / 60, offset % 60);
        let date = format!("{} {sign}{hours:02}{minutes:02}", when.seconds());
        let env = self.env();
        if !env.has_author(author.name_bytes(), author.email_bytes(), &date) {
            return head.tree().map(Some);
        }
        match head.parent(0) {
            Ok(parent) => parent.tree().map(Some),
            Err(_) if self.is_shallow() => head.tree().map(Some),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn staged_by_git(&self, dir: &[u8], base: &str) -> Result<Vec<StagedFile>> {
        let mut git = self.git();
        git.env("GIT_LITERAL_PATHSPECS", "1")
            .args(["diff-index", "--cached"])
            .args(RAW)
            .args(["--diff-filter=d", "--ita-invisible-in-index", base, "--"])
            .arg(paths::pathspec(&paths::from_bytes(dir)));
        let mut staged = BTreeMap::new();
        for change in raw_changes(&mut git)? {
            let path = paths::to_bytes(&change.path);
            let file = change
                .after
                .map_or((0, String::new()), |it| (it.mode, it.id));
            if is_child(&path, dir) {
                staged.insert(path, StagedFile::new(change.path, file));
            }
        }
        if !staged.is_empty() {
            self.read_flags(dir, &mut staged)?;
        }
        Ok(staged.into_values().collect())
    }
}

impl Repository {
    /// Reads what users have set for the entries of the index.
    fn read_flags(&self, dir: &[u8], staged: &mut BTreeMap<Vec<u8>, StagedFile>) -> Result<()> {
        let mut git = self.git();
        git.env("GIT_LITERAL_PATHSPECS", "1")
            .args(["ls-files", "-v", "-z", "--cached", "--"])
            .arg(paths::pathspec(&paths::from_bytes(dir)));
        for line in output(&mut git, b"")?.split(|byte| *byte == 0) {
            let [tag, b' ', path @ ..] = line else {
                continue;
            };
            if let Some(file) = staged.get_mut(path) {
                file.skips_work_tree = tag.eq_ignore_ascii_case(&b's');
                file.is_assumed_unchanged = tag.is_ascii_lowercase();
            }
        }
        Ok(())
    }
}

/// The staged files in a folder whose tree in the base is `base`.
fn staged_in(
    lib: &git2::Repository,
    index: &IndexFile,
    base: Option<Oid>,
    dir: &[u8],
) -> Option<Vec<StagedFile>> {
    let objects = lib.odb().ok()?;
    let raw = unverified(|| base.map(|id| objects.read(id)).transpose()).ok()?;
    let raw = raw.as_ref();
    if raw.is_some_and(|raw| raw.kind() != ObjectType::Tree) {
        return None;
    }
    let mut base = RawTree::new(raw.map_or(&[], |raw| raw.data()));
    let prefix = if dir.is_empty() {
        vec![]
    } else {
        [dir, b"/"].concat()
    };
    let mut staged = BTreeMap::new();
    let mut is_readable = true;
    index.each_below(&prefix, |entry| {
        if !is_readable || entry.is_intended() || !is_child(entry.path, dir) {
            return;
        }
        let Some(is_same) = base.has(&entry.path[prefix.len()..], entry.mode, entry.id) else {
            is_readable = false;
            return;
        };
        if entry.is_unmerged() || !is_same {
            let change = StagedFile {
                path: paths::from_bytes(entry.path),
                id: entry.id.to_string(),
                mode: if entry.is_unmerged() { 0 } else { entry.mode },
                skips_work_tree: entry.skips_work_tree(),
                is_assumed_unchanged: entry.is_assumed_unchanged(),
            };
            staged.insert(entry.path.to_vec(), change);
        }
    })?;
    is_readable.then(|| staged.into_values().collect())
}

/// The entries of a tree object: for each its mode in octal, a space, its name, a zero, and its id. They are
/// sorted by name, as if the name of a folder ended with a slash. That is the order of the index too, so
/// one pass over both compares a folder of many files.
struct RawTree<'a> {
    /// The bytes behind the entry `next`.
    rest: &'a [u8],
    /// The first entry that [`Self::has`] has not passed.
    next: Option<RawTreeEntry<'a>>,
}

struct RawTreeEntry<'a> {
    mode: u32,
    name: &'a [u8],
    id: Oid,
}

impl<'a> RawTree<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            next: None,
        }
    }

    /// Whether the tree has such a file; `None` if the tree cannot be read. A name comes not before those
    /// that were asked for earlier.
    fn has(&mut self, name: &[u8], mode: u32, id: Oid) -> Option<bool> {
        loop {
            if self.next.is_none() && self.rest.is_empty() {
                return Some(false);
            }
            let next = match self.next.take() {
                Some(next) => next,
                None => self.read()?,
            };
            let is_before = next.is_before(name);
            let is_same = next.name == name && next.mode == mode && next.id == id;
            if !is_before {
                self.next = Some(next);
                return Some(is_same);
            }
        }
    }

    fn read(&mut self) -> Option<RawTreeEntry<'a>> {
        const ID: usize = 20;
        let space = self.rest.iter().position(|byte| *byte == b' ')?;
        let (mode, rest) = (&self.rest[..space], &self.rest[space + 1..]);
        let zero = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = (&rest[..zero], &rest[zero + 1..]);
        let id = Oid::from_bytes(rest.get(..ID)?).ok()?;
        self.rest = &rest[ID..];
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        Some(RawTreeEntry { mode, name, id })
    }
}

impl RawTreeEntry<'_> {
    /// Whether the entry comes before the file `name`.
    fn is_before(&self, name: &[u8]) -> bool {
        const FOLDER: u32 = 0o040_000;
        if self.mode != FOLDER {
            return self.name < name;
        }
        self.name.iter().chain(b"/").lt(name)
    }
}

/// Whether nothing is staged in the folder `dir`, as far as the trees tell that git has cached.
///
/// Git caches the trees of all folders before it starts the hook of a commit. From the top on, no folder
/// is read below one in which nothing is staged, however many files it has.
fn is_unchanged(
    index: &IndexFile,
    base: Option<&Tree<'_>>,
    dir: &[u8],
) -> Result<bool, git2::Error> {
    let ends = dir.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let ends = ends.map(|(at, _)| at).chain([dir.len()]);
    for end in std::iter::once(0).chain(ends) {
        let id = folder_in(base, &dir[..end])?;
        if index.cached_tree(&dir[..end]) == CachedTree::Known(id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads trees that are only compared, without verifying them: git does not verify the objects that it
/// compares either.
fn unverified<T>(read: impl FnOnce() -> T) -> T {
    git2::opts::strict_hash_verification(false);
    let value = read();
    git2::opts::strict_hash_verification(true);
    value
}

fn folder_in(base: Option<&Tree<'_>>, dir: &[u8]) -> Result<Option<Oid>, git2::Error> {
    let Some(base) = base else {
        return Ok(None);
    };
    if dir.is_empty() {
        return Ok(Some(base.id()));
    }
    match unverified(|| base.get_path(&paths::from_bytes(dir))) {
        Ok(entry) if entry.kind() == Some(ObjectType::Tree) => Ok(Some(entry.id())),
        Ok(_) => Ok(None),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether `path` names something directly in `dir`.
fn is_child(path: &[u8], dir: &[u8]) -> bool {
    let name = if dir.is_empty() {
        Some(path)
    } else {
        path.strip_prefix(dir)
            .and_then(|rest| rest.strip_prefix(b"/"))
    };
    name.is_some_and(|name| !name.is_empty() && !name.contains(&b'/'))
}
