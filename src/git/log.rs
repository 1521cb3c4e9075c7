//! The commits that changed files last.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use super::command::cannot_run;
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
            .env("GIT_LITERAL_PATHSPECS", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = git.spawn().with_context(|| cannot_run(&git))?;
        let mut commit = String::new();
        let output = child.stdout.take().map(BufReader::new);
        for field in output.into_iter().flat_map(|it| it.split(0)) {
            let field = field?;
            let name = field.strip_prefix(b"\n").unwrap_or(&field);
            if let Some(id) = name.strip_prefix(&[COMMIT]) {
                commit = String::from_utf8_lossy(id).into_owned();
            } else if let Some(file) = wanted.take(&paths::from_bytes(name)) {
                found.insert(file, commit.clone());
            }
            if wanted.is_empty() {
                break;
            }
        }
        // It may have more to say.
        let _ = child.kill();
        child.wait().context("cannot wait for `git log`")?;
        Ok(found)
    }
}
