//! The merge driver: the lines of `.gitattributes` that name it, and git's configuration, which says
//! how git runs it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use urldb_files::write_atomically;

use super::command::{CommandResult, output, run};
use super::paths;
use super::repository::{Repository, line};

/// The name of the driver in git's configuration and in `.gitattributes`.
const NAME: &str = "urldb";

/// The text that people see in `git config`.
const TITLE: &str = "urldb: merges domain files and ledger files by record";

/// The command of the driver. Where urldb is missing, too old or fails, git would take our version for
/// the result. So the command merges lines then, as git does without a driver.
const COMMAND: &str = "PATH=\"$PATH:${CARGO_HOME:-$HOME/.cargo}/bin\"; \
    urldb resolve --driver %O %A %B %P --marker-size %L; code=$?; [ $code -le 1 ] && exit $code; \
    git merge-file -q -L ours -L base -L theirs --marker-size=%L %A %O %B";

/// Which files of a project get which merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeAttributes {
    /// The folder of `.gitattributes`, in the work tree.
    pub root: PathBuf,
    /// The folder of domain files, relative to `root`.
    pub database: PathBuf,
    /// The folder of the ledger, relative to `root`.
    pub ledger: PathBuf,
}

impl MergeAttributes {
    /// The lines that name the driver.
    fn driver_lines(&self) -> Vec<String> {
        let line = |folder: &Path, files: &str| {
            let pattern = pattern(folder, files)?;
            Some(format!("{pattern} merge={NAME}"))
        };
        let lines = [
            line(&self.database, "*.yaml"),
            line(&self.ledger, "**/*.yaml"),
        ];
        lines.into_iter().flatten().collect()
    }

    /// All lines. Runs only append to the history, so that git's own `union` fits.
    fn lines(&self) -> Vec<String> {
        let history = pattern(&self.ledger, "history/*.jsonl");
        let mut lines = self.driver_lines();
        lines.extend(history.map(|pattern| format!("{pattern} merge=union")));
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
        let keys = [("name", TITLE), ("driver", COMMAND)];
        let keys = keys.map(|(key, value)| (format!("merge.{NAME}.{key}"), value));
        if keys
            .iter()
            .any(|(key, value)| self.config(key).as_deref() != Some(*value))
        {
            for (key, value) in keys {
                output(self.git().args(["config", "--local", &key, value]), b"")?;
            }
            changed.push(self.common_dir().join("config"));
        }
        let before = read_attributes(&attributes.file())?;
        let mut after = before.clone();
        for line in attributes.lines() {
            if !after.lines().any(|known| known.trim() == line) {
                if !after.is_empty() && !after.ends_with('\n') {
                    after.push('\n');
                }
                after.push_str(&line);
                after.push('\n');
            }
        }
        changed.extend(write_attributes(&attributes.file(), &before, &after)?);
        Ok(changed)
    }

    /// Removes the merge driver from the configuration and from `.gitattributes`. Returns the files
    /// that changed. The line of the history stays, since it needs no driver.
    pub fn uninstall_merge_driver(&self, attributes: &MergeAttributes) -> Result<Vec<PathBuf>> {
        let mut changed = Vec::new();
        let section = format!("merge.{NAME}");
        if self.config(&format!("{section}.driver")).is_some() {
            let mut git = self.git();
            git.args(["config", "--local", "--remove-section", &section]);
            output(&mut git, b"")?;
            changed.push(self.common_dir().join("config"));
        }
        let before = read_attributes(&attributes.file())?;
        let lines = attributes.driver_lines();
        let others = before.split_inclusive('\n');
        let others = others.filter(|known| lines.iter().all(|line| line != known.trim()));
        let after: String = others.collect();
        changed.extend(write_attributes(&attributes.file(), &before, &after)?);
        Ok(changed)
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

/// The pattern for files in a folder, relative to `.gitattributes`; `None` for a folder outside.
fn pattern(folder: &Path, files: &str) -> Option<String> {
    let mut pattern = String::new();
    for part in folder.components() {
        match part {
            std::path::Component::Normal(name) => {
                for char in name.to_str()?.chars() {
                    let is_first = pattern.is_empty() && matches!(char, '!' | '#');
                    if is_first || matches!(char, '*' | '?' | '[' | '\\') {
                        pattern.push('\\');
                    }
                    pattern.push(char);
                }
                pattern.push('/');
            }
            std::path::Component::CurDir => {}
            _ => return None,
        }
    }
    if pattern.is_empty() {
        // Only a pattern with a slash stays in its folder.
        pattern.push('/');
    }
    pattern.push_str(files);
    let is_plain = |char: char| !char.is_whitespace() && !char.is_control() && char != '"';
    if pattern.chars().all(is_plain) {
        return Some(pattern);
    }
    if pattern.chars().any(char::is_control) {
        return None;
    }
    let quoted = pattern.replace('\\', "\\\\").replace('"', "\\\"");
    Some(format!("\"{quoted}\""))
}

fn read_attributes(file: &Path) -> Result<String> {
    match urldb_files::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| format!("cannot read {}", paths::shown(file))),
    }
}

/// Writes the attributes, or removes a file that is empty now. Returns the file if it changed.
fn write_attributes(file: &Path, before: &str, after: &str) -> Result<Option<PathBuf>> {
    if before == after {
        return Ok(None);
    }
    let written = if after.is_empty() {
        fs::remove_file(file)
    } else {
        write_atomically(file, after.as_bytes())
    };
    written.with_context(|| format!("cannot write {}", paths::shown(file)))?;
    Ok(Some(file.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_folder_only() {
        for (folder, files, wanted) in [
            ("urldb", "*.yaml", Some("urldb/*.yaml")),
            (".", "*.yaml", Some("/*.yaml")),
            ("./a/b", "**/*.yaml", Some("a/b/**/*.yaml")),
            ("my data", "*.yaml", Some("\"my data/*.yaml\"")),
            ("a*[b]", "x", Some("a\\*\\[b]/x")),
            ("a\"b*", "x", Some("\"a\\\"b\\\\*/x\"")),
            ("!a", "x", Some("\\!a/x")),
            ("../out", "x", None),
            ("/out", "x", None),
            ("a\nb", "x", None),
        ] {
            assert_eq!(
                pattern(Path::new(folder), files).as_deref(),
                wanted,
                "{folder}"
            );
        }
    }
}
