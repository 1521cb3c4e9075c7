//! The merge driver: the lines of `.gitattributes` that name it, and git's configuration, which says
//! how git runs it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::command::{CommandResult, complete, output, run, succeeds};
use super::patterns::{self, add_lines, attribute_line, remove_lines};
use super::repository::{Repository, line};

/// The name of the driver in git's configuration and in `.gitattributes`.
const NAME: &str = "urldb";

/// The length of git's conflict markers without an attribute.
pub const MARKER_SIZE: usize = 7;

/// The text that people see in `git config`.
const TITLE: &str = "urldb: merges domain files and ledger files by record";

/// The command of the driver. Where urldb is missing, too old or fails, git would take our version for
/// the result. So the command merges lines then, as git does without a driver.
const COMMAND: &str = "PATH=\"$PATH:$HOME/.local/bin:${CARGO_HOME:-$HOME/.cargo}/bin\"; \
    urldb resolve --driver %O %A %B %P --marker-size %L; code=$?; [ $code -le 1 ] && exit $code; \
    git merge-file -q -L ours -L base -L theirs --marker-size=%L %A %O %B";

/// The kinds of merge that files of a project get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeAttributes {
    /// The folder of `.gitattributes`, in the work tree.
    pub root: PathBuf,
    /// The folder of domain files, relative to `root`.
    pub database: PathBuf,
    /// The folder of the ledger, relative to `root`.
    pub ledger: PathBuf,
}

/// The state of the merge driver's setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeDriverState {
    /// Whether git's configuration has a driver.
    pub is_configured: bool,
    /// Whether this version wrote the driver.
    pub is_current: bool,
    /// Files, relative to the work tree, that git would merge in another way. They stand for all files
    /// of their kind, and need not exist.
    pub unnamed: Vec<PathBuf>,
}

impl MergeAttributes {
    /// A file of each kind: its folder, relative to the root, its path in the folder, and its merge.
    fn samples(&self) -> [(&Path, &'static str, &'static str); 4] {
        [
            (&self.database, "example.org.yaml", NAME),
            (&self.ledger, "example.org.yaml", NAME),
            (&self.ledger, "incidents/example.yaml", NAME),
            (&self.ledger, "history/2026-01.jsonl", "union"),
        ]
    }

    /// The lines that name the driver.
    fn driver_lines(&self) -> Vec<String> {
        let merge = format!("merge={NAME}");
        let line = |folder: &Path, files: &str| attribute_line(folder, files, &merge);
        [
            line(&self.database, "*.yaml"),
            line(&self.ledger, "**/*.yaml"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// All lines. Runs only append to the history, so that git's own `union` fits.
    fn lines(&self) -> Vec<String> {
        let mut lines = self.driver_lines();
        lines.extend(attribute_line(
            &self.ledger,
            "history/*.jsonl",
            "merge=union",
        ));
        lines
    }

    fn file(&self) -> PathBuf {
        self.root.join(".gitattributes")
    }
}

impl Repository {
    /// Sets the merge driver in the configuration of this repository, and names it in
    /// `.gitattributes`. Returns the files that changed.
    pub fn install_merge_driver(&self, attributes: &MergeAttributes) -> Result<Vec<PathBuf>> {
        let mut changed = Vec::new();
        let keys = [("name", TITLE), ("driver", COMMAND)]
            .map(|(key, value)| (format!("merge.{NAME}.{key}"), value));
        if keys
            .iter()
            .any(|(key, value)| self.config(key).as_deref() != Some(*value))
        {
            for (key, value) in keys {
                complete(self.git().args(["config", "--local", &key, value]), b"")?;
            }
            changed.push(self.common_dir().join("config"));
        }
        let file = attributes.file();
        if add_lines(&file, &attributes.lines())? {
            changed.push(file);
        }
        Ok(changed)
    }

    /// Removes the merge driver from `.gitattributes`, and from the configuration unless another project
    /// of the repository uses it. Returns the files that changed. The line of the history stays: it needs
    /// no driver.
    pub fn uninstall_merge_driver(&self, attributes: &MergeAttributes) -> Result<Vec<PathBuf>> {
        let mut changed = Vec::new();
        let file = attributes.file();
        if remove_lines(&file, &attributes.driver_lines())? {
            changed.push(file);
        }
        let section = format!("merge.{NAME}");
        if self.config(&format!("{section}.driver")).is_some() && !self.has_driver_lines()? {
            complete(
                self.git()
                    .args(["config", "--local", "--remove-section", &section]),
                b"",
            )?;
            changed.push(self.common_dir().join("config"));
        }
        Ok(changed)
    }

    /// Whether the attributes of this work tree name the driver anywhere: another project uses it.
    fn has_driver_lines(&self) -> Result<bool> {
        let attribute = format!("merge={NAME}");
        let own = patterns::read(&self.common_dir().join("info/attributes"))?;
        if own.split_whitespace().any(|word| word == attribute) {
            return Ok(true);
        }
        let mut git = self.git();
        git.args(["grep", "--untracked", "--quiet", "--extended-regexp"])
            .args(["-e", &format!("[[:space:]]{attribute}([[:space:]]|$)")])
            .args(["--", ":(top,glob)**/.gitattributes"]);
        succeeds(&mut git)
    }

    /// The state of the merge driver's setup. Changes nothing.
    pub fn merge_driver_state(&self, attributes: &MergeAttributes) -> Result<MergeDriverState> {
        let command = self.config(&format!("merge.{NAME}.driver"));
        let mut unnamed = Vec::new();
        for (folder, file, merge) in attributes.samples() {
            let file = attributes.root.join(folder).join(file);
            let Ok(path) = self.relative(&file) else {
                continue;
            };
            if !self.ignores(&file)? && self.attribute("merge", &path)?.as_deref() != Some(merge) {
                unnamed.push(path);
            }
        }
        Ok(MergeDriverState {
            is_configured: command.is_some(),
            is_current: command.as_deref() == Some(COMMAND),
            unnamed,
        })
    }

    /// The length of git's conflict markers in the file at `path`, relative to the work tree, in a merge that
    /// adds nothing to it.
    ///
    /// # Errors
    /// When git fails.
    pub fn marker_size(&self, path: &Path) -> Result<usize> {
        let value = self
            .attribute("conflict-marker-size", path)?
            .unwrap_or_default();
        let digits = value.split(|char: char| !char.is_ascii_digit()).next();
        Ok(digits
            .and_then(|digits| digits.parse().ok())
            .filter(|size| *size > 0)
            .unwrap_or(MARKER_SIZE))
    }

    /// The value of an attribute of the file at `path`, relative to the work tree; `None` without one.
    fn attribute(&self, name: &str, path: &Path) -> Result<Option<String>> {
        let answer = output(
            self.git().args(["check-attr", "-z", name, "--"]).arg(path),
            b"",
        )?;
        let value = answer.split(|byte| *byte == 0).nth(2).unwrap_or_default();
        Ok((value != b"unspecified").then(|| String::from_utf8_lossy(value).into_owned()))
    }

    /// Whether a key in git's configuration of this repository is true.
    pub(super) fn is_configured(&self, key: &str) -> bool {
        let value = run(
            self.git().args(["config", "--type=bool", "--get", key]),
            b"",
        );
        matches!(value, Ok(CommandResult::Success(value)) if value.starts_with(b"true"))
    }

    /// The value of a key in git's configuration of this repository; `None` if git has none.
    pub(super) fn config(&self, key: &str) -> Option<String> {
        let value = run(self.git().args(["config", "--get", key]), b"").ok()?;
        match value {
            CommandResult::Success(value) => line(value).ok(),
            CommandResult::Failure(_) => None,
        }
    }
}
