//! Lists the files of the work tree that differ from a commit.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::command::{CommandResult, output, run};
use super::paths;
use super::repository::{Repository, line};

/// A file of the work tree that may differ from a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// The blob in the commit, in hexadecimal; `None` if the commit has no such file.
    pub before: Option<String>,
}

impl Repository {
    /// The files below the folder `dir` (relative to the work tree) that differ from the commit
    /// `revision`, files that git does not track included, and perhaps some that do not differ.
    /// Deleted files are left out.
    ///
    /// # Errors
    /// When `revision` names no commit, or git fails.
    pub fn changed_since(&self, revision: &str, dir: &Path) -> Result<Vec<ChangedFile>> {
        let commit = self.commit(revision)?;
        let pathspec = if dir.as_os_str().is_empty() {
            Path::new(".")
        } else {
            dir
        };
        let mut diff = self.git();
        diff.env("GIT_LITERAL_PATHSPECS", "1")
            .args(["diff-index", "--raw", "-z", "--no-renames", "--no-abbrev"])
            .args(["--diff-filter=d", &commit, "--"])
            .arg(pathspec);
        let raw = output(&mut diff, b"")?;
        let mut fields = raw.split(|byte| *byte == 0);
        let mut files = Vec::new();
        while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
            let (mode, id) =
                parse_before(change).context("`git diff-index` printed something unexpected")?;
            files.push(ChangedFile {
                path: paths::from_bytes(path),
                before: mode.starts_with("100").then_some(id),
            });
        }
        let mut others = self.git();
        others
            .env("GIT_LITERAL_PATHSPECS", "1")
            .args(["ls-files", "--others", "-z", "--"])
            .arg(pathspec);
        let listing = output(&mut others, b"")?;
        let untracked = listing.split(|byte| *byte == 0);
        files.extend(
            untracked
                .filter(|path| !path.is_empty())
                .map(|path| ChangedFile {
                    path: paths::from_bytes(path),
                    before: None,
                }),
        );
        Ok(files)
    }

    /// The id of the commit that `revision` names.
    fn commit(&self, revision: &str) -> Result<String> {
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "--end-of-options"])
            .arg(format!("{revision}^{{commit}}"));
        match run(&mut git, b"")? {
            CommandResult::Success(id) => line(id),
            CommandResult::Failure(complaint) => bail!(
                "{} names no commit: {}",
                paths::shown(Path::new(revision)),
                paths::shown(Path::new(&complaint))
            ),
        }
    }
}

/// Reads the old mode and id in `:OLDMODE MODE OLDID ID STATUS`; the mode of a new file is 0.
fn parse_before(change: &[u8]) -> Option<(&str, String)> {
    let text = std::str::from_utf8(change).ok()?;
    let mut words = text.strip_prefix(':')?.split(' ');
    Some((words.next()?, words.nth(1)?.to_owned()))
}
