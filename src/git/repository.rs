//! One repository: its folders, and the blobs in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use git2::{ObjectType, Oid};

use super::command::{CommandResult, command, output, run};
use super::env::GitEnv;
use super::location::{RepositoryPaths, held_by, locate, open};
use super::paths;
use super::trees::{TreeFolder, Trees, parse_entry, tree_id};

/// A repository, as git sees it from some folder and environment.
pub struct Repository {
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_tree: Option<PathBuf>,
    prefix: PathBuf,
    env: GitEnv,
    /// Absent where libgit2 refuses the repository.
    lib: Option<git2::Repository>,
    trees: Trees,
}

impl Repository {
    /// The repository that a project in `dir` belongs to; `None` when there is none. The folder need not exist: git
    /// removes one with its last file. Variables that name another repository have no effect: one of its hooks or
    /// aliases has started this process.
    ///
    /// # Errors
    /// As [`Self::discover`].
    pub fn of_project(dir: &Path) -> Result<Option<Self>> {
        let dir = std::path::absolute(dir)?;
        match dir.ancestors().find(|dir| urldb_files::is_folder(dir)) {
            Some(dir) => Self::discover(dir, held_by(GitEnv::from_process(), dir)?),
            None => Ok(None),
        }
    }

    /// The repository that `dir` belongs to, or the one that `env` names;
    /// `None` when there is none.
    ///
    /// # Errors
    /// When git refuses the repository, for example because of its owner.
    pub fn discover(dir: &Path, env: GitEnv) -> Result<Option<Self>> {
        let dir = paths::resolve(dir)?;
        let lib = open(&dir, &env);
        let Some(found) = locate(&dir, &env, lib.as_ref())? else {
            return Ok(None);
        };
        let RepositoryPaths {
            git_dir,
            common_dir,
            work_tree,
        } = found;
        let prefix = match (env.get("GIT_PREFIX"), &work_tree) {
            (Some(prefix), _) => PathBuf::from(prefix),
            (None, Some(top)) => dir.strip_prefix(top).unwrap_or(Path::new("")).to_owned(),
            (None, None) => PathBuf::new(),
        };
        Ok(Some(Self {
            git_dir,
            common_dir,
            work_tree,
            prefix,
            env,
            lib,
            trees: Trees::default(),
        }))
    }

    /// The top folder of the work tree.
    ///
    /// # Errors
    /// When there is none: a bare repository has no files to look after.
    pub fn work_tree(&self) -> Result<&Path> {
        self.work_tree.as_deref().with_context(|| {
            format!(
                "{} has no work tree (it is a bare repository); run this in a clone of it",
                paths::shown(&self.git_dir)
            )
        })
    }

    /// The `.git` folder of this work tree.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The `.git` folder that all work trees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The user's folder, relative to the work tree. Git runs a hook at the
    /// top, whatever folder the user committed from.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// `path` relative to the work tree, with symbolic links resolved.
    ///
    /// # Errors
    /// When it is outside of the work tree.
    pub fn relative(&self, path: &Path) -> Result<PathBuf> {
        let top = self.work_tree()?;
        match paths::resolve(path)?.strip_prefix(top) {
            Ok(inside) => Ok(inside.to_owned()),
            Err(_) => bail!(
                "{} is outside of the repository {}; use the repository that it belongs to",
                paths::shown(path),
                paths::shown(top)
            ),
        }
    }

    /// The time of the last commit that changed a file, in seconds since 1970; `None` if there is no
    /// such commit, or git cannot say.
    pub fn last_commit_of(&self, path: &Path) -> Option<i64> {
        let path = self.relative(path).ok()?;
        output(
            self.git()
                .args(["log", "-1", "--format=%ct", "--"])
                .arg(path),
            b"",
        )
        .and_then(line)
        .ok()?
        .parse()
        .ok()
    }

    /// The id of the commit that is checked out; `None` if there is none yet.
    pub fn head_commit(&self) -> Option<String> {
        let known = self.lib.as_ref().and_then(|lib| lib.head().ok()?.target());
        if let Some(id) = known {
            return Some(id.to_string());
        }
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        output(&mut git, b"").and_then(line).ok()
    }

    /// The address of the remote `origin`, as it is configured: it may contain credentials.
    pub fn origin(&self) -> Option<String> {
        let known = self
            .lib
            .as_ref()
            .and_then(|lib| lib.config().ok()?.get_string("remote.origin.url").ok());
        if known.is_some() {
            return known;
        }
        output(
            self.git().args(["config", "--get", "remote.origin.url"]),
            b"",
        )
        .and_then(line)
        .ok()
    }

    /// The id of the tree without entries, which every repository knows.
    pub(super) fn empty_tree(&self) -> Result<String> {
        output(
            self.git().args(["hash-object", "-t", "tree", "--stdin"]),
            b"",
        )
        .and_then(line)
    }

    /// The bytes of a blob as stored, without filters.
    pub fn read_blob(&self, id: &str) -> Result<Vec<u8>> {
        if let Some(lib) = &self.lib {
            let blob = git2::Oid::from_str(id).and_then(|oid| lib.find_blob(oid));
            if let Ok(blob) = blob {
                return Ok(blob.content().to_owned());
            }
        }
        // Git also fetches blobs that a partial clone lacks.
        output(self.git().args(["cat-file", "blob", id]), b"")
    }

    /// The id of the regular file at `path` (relative to the work tree) in a commit or tree; `None` without one, or
    /// without the revision.
    ///
    /// # Errors
    /// When git cannot be run.
    pub fn blob_at(&self, revision: &str, path: &Path) -> Result<Option<String>> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(None);
        };
        Ok(self.folder_at(revision, folder)?.get(name).cloned())
    }

    /// The regular files directly in a folder (relative to the work tree) in a commit or tree; none without the folder or
    /// the revision.
    ///
    /// # Errors
    /// When git cannot be run.
    pub fn folder_at(&self, revision: &str, folder: &Path) -> Result<Arc<TreeFolder>> {
        let known = self.lib.as_ref().and_then(|lib| {
            let tree = tree_id(lib, revision)?;
            self.trees.folder(lib, tree, folder)
        });
        // Git also fetches trees that a partial clone lacks.
        known.map_or_else(|| self.folder_by_git(revision, folder).map(Arc::new), Ok)
    }

    fn folder_by_git(&self, revision: &str, folder: &Path) -> Result<TreeFolder> {
        let mut git = self.git();
        // With a slash at its end, the folder itself is not listed.
        let pattern = match folder {
            top if top.as_os_str().is_empty() => PathBuf::from("."),
            folder => folder.join(""),
        };
        git.env("GIT_LITERAL_PATHSPECS", "1")
            .args(["ls-tree", "-z", "--full-tree", revision, "--"])
            .arg(pattern);
        let CommandResult::Success(listing) = run(&mut git, b"")? else {
            return Ok(TreeFolder::new());
        };
        Ok(paths::entries(&listing).filter_map(parse_entry).collect())
    }

    /// Stores a blob and returns its id.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<String> {
        if let Some(Ok(id)) = self.lib.as_ref().map(|lib| lib.blob(bytes)) {
            return Ok(id.to_string());
        }
        let id = output(self.git().args(["hash-object", "-w", "--stdin"]), bytes)?;
        line(id)
    }

    /// The id under which git would store a blob.
    ///
    /// # Errors
    /// When git fails.
    pub(super) fn blob_id(&self, bytes: &[u8]) -> Result<String> {
        let known = self
            .lib
            .as_ref()
            .and_then(|_| Oid::hash_object(ObjectType::Blob, bytes).ok());
        match known {
            Some(id) => Ok(id.to_string()),
            None => output(self.git().args(["hash-object", "--stdin"]), bytes).and_then(line),
        }
    }

    /// The index of the commit being made, or else the repository's index.
    pub(super) fn index_file(&self) -> PathBuf {
        let index = Path::new(self.env.get("GIT_INDEX_FILE").unwrap_or("index".as_ref()));
        let base = match (self.env.get("GIT_INDEX_FILE"), &self.work_tree) {
            // Git reads it from the top of the work tree, where hooks run.
            (Some(_), Some(top)) => top,
            _ => &self.git_dir,
        };
        base.join(index)
    }

    /// The repository in libgit2, unless libgit2 refuses it.
    pub(super) fn lib(&self) -> Option<&git2::Repository> {
        self.lib.as_ref()
    }

    pub(super) fn env(&self) -> &GitEnv {
        &self.env
    }

    /// A `git` command for this repository and index, run at the top.
    pub(super) fn git(&self) -> Command {
        let mut git = command(self.work_tree.as_deref().unwrap_or(&self.git_dir));
        git.envs(self.env.iter())
            .env_remove("GIT_PREFIX")
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_INDEX_FILE", self.index_file());
        if let Some(top) = &self.work_tree {
            git.env("GIT_WORK_TREE", top);
        }
        git
    }
}

/// The only line that git printed.
pub(super) fn line(output: Vec<u8>) -> Result<String> {
    Ok(String::from_utf8(output)
        .context("git printed an id that is not text")?
        .trim_end()
        .to_owned())
}
