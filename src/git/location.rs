//! The place of a repository, as the folders and the environment tell it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use git2::RepositoryOpenFlags;

use super::command::{CommandResult, GitFailure, command, run};
use super::env::GitEnv;
use super::paths;

/// The folders of a repository, without links.
#[derive(PartialEq, Eq)]
pub(super) struct RepositoryPaths {
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) work_tree: Option<PathBuf>,
}

/// The repository in libgit2, unless libgit2 refuses it.
pub(super) fn open(dir: &Path, env: &GitEnv) -> Option<git2::Repository> {
    if env.redirects() {
        return None;
    }
    // As git does, which hashes no object that it reads: the tree of ten thousand files takes 2 ms. `git fsck` does.
    git2::opts::strict_hash_verification(false);
    let no_ceilings: [&Path; 0] = [];
    // The reason of a refusal does not matter: git is next, and gives its own.
    git2::Repository::open_ext(dir, RepositoryOpenFlags::empty(), no_ceilings).ok()
}

/// The repository that `dir` belongs to, or the one that `env` names; `lib` is the same in libgit2.
pub(super) fn locate(
    dir: &Path,
    env: &GitEnv,
    lib: Option<&git2::Repository>,
) -> Result<Option<RepositoryPaths>> {
    let Some(lib) = lib else {
        return locate_with_git(dir, env);
    };
    Ok(Some(RepositoryPaths {
        git_dir: paths::resolve(lib.path())?,
        common_dir: paths::resolve(lib.commondir())?,
        work_tree: lib.workdir().map(paths::resolve).transpose()?,
    }))
}

/// The variables, as far as they hold for a project in `dir`: all if the project lies in the work tree that they name,
/// else those that hold for every repository. Git sets variables for the folder in which it starts a hook or an alias,
/// and this process may have gone to another repository.
pub(super) fn held_by(env: GitEnv, dir: &Path) -> Result<GitEnv> {
    let variable = |name| env.get(name).map(Path::new);
    let index = variable("GIT_INDEX_FILE");
    let (git_dir, tree) = (variable("GIT_DIR"), variable("GIT_WORK_TREE"));
    if index.is_none() && git_dir.is_none() && tree.is_none() {
        return Ok(env);
    }
    let (here, dir) = (paths::resolve(Path::new("."))?, paths::resolve(dir)?);
    let own = locate_without_variables(&dir, &env)?;
    if let (Some(index), Some(own)) = (index, &own)
        && !is_index_of(&here.join(index), own, || {
            locate_without_variables(&here, &env)
        })?
    {
        return Ok(env.without_local());
    }
    if git_dir.is_none() && tree.is_none() {
        return Ok(env);
    }
    let Ok(Some(named)) = locate_with_git(&here, &env) else {
        return Ok(env.without_local());
    };
    let tree = match tree {
        Some(tree) => Some(here.join(tree)),
        None => configured_tree(&named, &env)?,
    };
    let tree = tree.as_deref().map(paths::resolve).transpose()?;
    let is_own = own.as_ref().is_some_and(|own| own.git_dir == named.git_dir);
    let top = own.and_then(|own| own.work_tree);
    let holds = match &tree {
        // A repository in the work tree has its own files.
        Some(tree) => !top
            .as_ref()
            .is_some_and(|top| top.starts_with(tree) && top != tree),
        // Without a work tree of its own, a git folder apart has the current folder.
        None => is_own || (top.is_none() && named.is_apart()),
    };
    let tree = tree.or(top.filter(|_| is_own)).unwrap_or(here);
    if !holds || !dir.starts_with(&tree) {
        return Ok(env.without_local());
    }
    // The program works in other folders than the current one.
    Ok(env
        .with("GIT_DIR", named.git_dir)
        .with("GIT_WORK_TREE", tree))
}

impl RepositoryPaths {
    /// Whether git finds the repository only by a variable.
    fn is_apart(&self) -> bool {
        self.git_dir == self.common_dir && !self.git_dir.ends_with(".git")
    }
}

/// Whether an index may be that of the repository `own`: it is in its git folder, or in no git folder, and the current
/// folder is in the repository.
fn is_index_of(
    index: &Path,
    own: &RepositoryPaths,
    here: impl FnOnce() -> Result<Option<RepositoryPaths>>,
) -> Result<bool> {
    let index = paths::resolve(index)?;
    let folder = index.parent().unwrap_or(&index);
    if folder.starts_with(&own.git_dir) {
        return Ok(folder == own.git_dir || !is_git_folder(folder));
    }
    Ok(!is_git_folder(folder) && here()?.as_ref() == Some(own))
}

fn is_git_folder(folder: &Path) -> bool {
    urldb_files::is_file(&folder.join("HEAD"))
}

fn locate_without_variables(dir: &Path, env: &GitEnv) -> Result<Option<RepositoryPaths>> {
    let env = env.clone().without_local();
    locate(dir, &env, open(dir, &env).as_ref())
}

/// The work tree in the configuration of a repository.
fn configured_tree(named: &RepositoryPaths, env: &GitEnv) -> Result<Option<PathBuf>> {
    Ok(
        match run(
            command(&named.git_dir)
                .envs(env.clone().without_local().iter())
                .env("GIT_DIR", &named.git_dir)
                .args(["config", "--get", "core.worktree"]),
            b"",
        )? {
            CommandResult::Success(tree) => {
                let tree = tree.strip_suffix(b"\n").unwrap_or(&tree);
                Some(named.git_dir.join(paths::from_bytes(tree)))
            }
            CommandResult::Failure(_) => None,
        },
    )
}

/// Asks git where the repository is, one path per process: a folder name may
/// hold a line feed.
fn locate_with_git(dir: &Path, env: &GitEnv) -> Result<Option<RepositoryPaths>> {
    let rev_parse = |question: &str| {
        run(
            command(dir).envs(env.iter()).args(["rev-parse", question]),
            b"",
        )
    };
    let path = |answer: Vec<u8>| {
        let answer = answer.strip_suffix(b"\n").unwrap_or(&answer);
        paths::resolve(&dir.join(paths::from_bytes(answer)))
    };
    let git_dir = match rev_parse("--absolute-git-dir")? {
        CommandResult::Success(answer) => path(answer)?,
        CommandResult::Failure(failure) if failure.complaint.contains("not a git repository") => {
            return Ok(None);
        }
        CommandResult::Failure(GitFailure { complaint, .. }) => {
            bail!("git refuses {}: {complaint}", paths::shown(dir))
        }
    };
    let common_dir = match rev_parse("--git-common-dir")? {
        CommandResult::Success(answer) => path(answer)?,
        CommandResult::Failure(GitFailure { complaint, .. }) => {
            bail!("git refuses {}: {complaint}", paths::shown(dir))
        }
    };
    let work_tree = match rev_parse("--show-toplevel")? {
        CommandResult::Success(answer) => Some(path(answer)?),
        CommandResult::Failure(_) => None,
    };
    Ok(Some(RepositoryPaths {
        git_dir,
        common_dir,
        work_tree,
    }))
}
