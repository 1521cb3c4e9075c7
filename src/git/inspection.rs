//! Facts about a repository for people: the files that git tracks and ignores, and the locks that are
//! there. Nothing here changes a file.
#![expect(clippy::disallowed_methods, reason = "git's folder is trusted")]

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail};

use super::command::{command, output};
use super::paths;
use super::repository::{Repository, line};

/// A lock file of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLock {
    /// The file.
    pub path: PathBuf,
    /// The time since the file was written.
    pub age: Duration,
}

/// The lock of urldb itself, which stays in the `.git` folder.
const OWN_LOCK: &str = "urldb.lock";

/// The longest wait for another git.
const PATIENCE: Duration = Duration::from_secs(10);

/// The deepest level of folders in which a reference is looked for.
const DEEPEST: usize = 64;

/// The folders of references, which git locks one by one, in a `.git` folder.
const REFERENCES: [&str; 2] = ["refs", "reftable"];

/// The version of git on PATH: `[2, 39, 5]`.
///
/// # Errors
/// When git cannot be run, or prints something else.
pub fn version() -> Result<[u32; 3]> {
    let mut git = command(Path::new("."));
    let text = line(output(git.arg("--version"), b"")?)?;
    let mut numbers = text
        .split(' ')
        .nth(2)
        .unwrap_or_default()
        .split('.')
        .map_while(|number| number.parse().ok());
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        bail!("`git --version` printed something unexpected: {text}");
    };
    Ok([major, minor, numbers.next().unwrap_or_default()])
}

impl Repository {
    /// Whether commits lack parents that they have elsewhere.
    pub fn is_shallow(&self) -> bool {
        self.common_dir().join("shallow").exists()
    }

    /// Whether git tracks the file at `path`, or a file below the folder `path`.
    ///
    /// # Errors
    /// When git fails, for example since the path is outside of the work tree.
    pub fn is_tracked(&self, path: &Path) -> Result<bool> {
        let path = self.relative(path)?;
        Ok(!self.ls_files(&["--cached"], &[&path])?.is_empty())
    }

    /// The files that git tracks, links and submodules included, by their paths without links.
    ///
    /// # Errors
    /// When git fails, or the repository has no work tree.
    pub fn tracked_files(&self) -> Result<BTreeSet<PathBuf>> {
        let top = self.work_tree()?;
        let listed = output(self.git().args(["ls-files", "--cached", "-z"]), b"")?;
        Ok(paths::entries(&listed)
            .map(|name| top.join(paths::from_bytes(name)))
            .collect())
    }

    /// Whether a remote repository has a branch of this name, as far as this clone knows.
    pub fn has_remote_branch(&self, name: &str) -> bool {
        let mut git = self.git();
        git.args(["for-each-ref", "--count=1", "--format=%(refname)"])
            .arg(format!("refs/remotes/*/{name}"));
        output(&mut git, b"").is_ok_and(|found| !found.is_empty())
    }

    /// The lock files of git that stop commits and merges: those of the index, the configuration and the
    /// like, and of references.
    pub fn locks(&self) -> Vec<GitLock> {
        let mut paths = BTreeSet::new();
        for dir in [self.git_dir(), self.common_dir()] {
            find_locks(dir, 0, &mut paths);
            for folder in REFERENCES {
                find_locks(&dir.join(folder), DEEPEST, &mut paths);
            }
        }
        paths
            .into_iter()
            .filter_map(|path| {
                let age = age(&path)?;
                Some(GitLock { path, age })
            })
            .collect()
    }

    /// Waits while another git writes the work tree and the index: a killed urldb leaves its git at work. A lock
    /// that is older than ten seconds belongs to a person, or to nobody.
    pub fn wait_for_writer(&self) {
        let lock = self.git_dir().join("index.lock");
        while !self.env().is_of_hook() && age(&lock).is_some_and(|age| age < PATIENCE) {
            sleep(Duration::from_millis(20));
        }
    }
}

/// The time since the file was written; `None` without one.
fn age(file: &Path) -> Option<Duration> {
    let written = fs::symlink_metadata(file).ok()?.modified().ok()?;
    Some(written.elapsed().unwrap_or_default())
}

/// Collects the lock files of git in a folder, and so many levels below. A folder that cannot be read has
/// none.
fn find_locks(dir: &Path, levels: usize, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        let is_lock = path.extension() == Some("lock".as_ref()) && !path.ends_with(OWN_LOCK);
        if is_lock && kind.as_ref().is_ok_and(FileType::is_file) {
            found.insert(path);
        } else if levels > 0 && kind.is_ok_and(|kind| kind.is_dir()) {
            find_locks(&path, levels - 1, found);
        }
    }
}
