//! The commits that changed files last.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::command::output;
use super::paths;
use super::repository::Repository;

/// Begins the line of a commit: no name of a file begins so.
const COMMIT: u8 = 1;

impl Repository {
    /// The id of the last commit that changed each of the files (relative to the work tree); none for a file without
    /// commit. In a shallow clone, the oldest commit has all files. `folder` is that of the files.
    ///
    /// # Errors
    /// When git fails.
    pub fn last_commits(
        &self,
        folder: &Path,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> Result<HashMap<PathBuf, String>> {
        let mut wanted: HashSet<PathBuf> = files.into_iter().collect();
        let mut found = HashMap::new();
        if self.head_commit().is_none() {
            return Ok(found);
        }
        let mut git = self.git();
        git.args(["log", "-z", "--first-parent", "--diff-merges=first-parent"])
            .args([
                "--root",
                "--name-only",
                "--no-renames",
                "--no-show-signature",
            ])
            .args(["--format=%x01%H", "--"])
            .arg(paths::pathspec(folder))
            .env("GIT_LITERAL_PATHSPECS", "1");
        let mut commit = String::new();
        for field in paths::entries(&output(&mut git, b"")?) {
            let name = field.strip_prefix(b"\n").unwrap_or(field);
            if let Some(id) = name.strip_prefix(&[COMMIT]) {
                commit = String::from_utf8_lossy(id).into_owned();
            } else if let Some(file) = wanted.take(&paths::from_bytes(name)) {
                found.insert(file, commit.clone());
            }
        }
        Ok(found)
    }
}
