//! The lines of `.gitattributes` and `.gitignore`: a pattern for files, and their treatment.

use std::io::ErrorKind;
use std::path::{Component, Path};

use anyhow::{Context, Result};
use urldb_files::write_atomically;

use super::paths;

use crate::limits;

/// The line of `.gitattributes` that gives files in a folder an attribute. The folder is relative to
/// that of `.gitattributes`; `None` for a folder outside, and for a name that no pattern can have.
pub fn attribute_line(folder: &Path, files: &str, attribute: &str) -> Option<String> {
    let pattern = pattern(folder, files)?;
    let is_plain = |char: char| !char.is_whitespace() && char != '"';
    if pattern.chars().all(is_plain) {
        return Some(format!("{pattern} {attribute}"));
    }
    let quoted = pattern.replace('\\', "\\\\").replace('"', "\\\"");
    Some(format!("\"{quoted}\" {attribute}"))
}

/// The line of `.gitignore` that names files in a folder, or the folder itself if `files` is empty;
/// otherwise as [`attribute_line`].
pub fn ignore_line(folder: &Path, files: &str) -> Option<String> {
    let pattern = pattern(folder, files)?;
    // Only a pattern with a slash before its end stays in its folder.
    Some(format!("/{}", pattern.trim_start_matches('/')))
}

/// Adds the lines to a file such as `.gitignore`, each unless it is there. Returns whether the file
/// changed.
///
/// # Errors
/// When the file cannot be read or written.
pub fn add_lines(file: &Path, lines: &[String]) -> Result<bool> {
    let before = read(file)?;
    let mut after = before.clone();
    for line in lines {
        if !after.lines().any(|known| known.trim() == line) {
            if !after.is_empty() && !after.ends_with('\n') {
                after.push('\n');
            }
            after.push_str(line);
            after.push('\n');
        }
    }
    write(file, &before, &after)
}

/// Removes the lines from a file such as `.gitattributes`. Returns whether the file changed.
///
/// # Errors
/// When the file cannot be read or written.
pub(super) fn remove_lines(file: &Path, lines: &[String]) -> Result<bool> {
    let before = read(file)?;
    let after: String = before
        .split_inclusive('\n')
        .filter(|known| lines.iter().all(|line| line != known.trim()))
        .collect();
    write(file, &before, &after)
}

/// The text of the file; no text if there is no file.
pub(super) fn read(file: &Path) -> Result<String> {
    match urldb_files::read_to_string(file, limits::GIT_FILE) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| format!("cannot read {}", paths::shown(file))),
    }
}

/// Writes the text, or removes a file that is empty now. Returns whether the file changed.
fn write(file: &Path, before: &str, after: &str) -> Result<bool> {
    if before == after {
        return Ok(false);
    }
    let written = if after.is_empty() {
        urldb_files::remove(file).map(drop)
    } else {
        write_atomically(file, after.as_bytes())
    };
    written.with_context(|| format!("cannot write {}", paths::shown(file)))?;
    Ok(true)
}

/// The pattern of git for files in a folder, relative to the folder of `.gitattributes` or `.gitignore`;
/// `None` for a folder outside, and for a name that no pattern can have.
fn pattern(folder: &Path, files: &str) -> Option<String> {
    let mut pattern = String::new();
    for part in folder.components() {
        match part {
            Component::Normal(name) => {
                for char in name.to_str()?.chars() {
                    let is_first = pattern.is_empty() && matches!(char, '!' | '#');
                    if is_first || matches!(char, '*' | '?' | '[' | '\\') {
                        pattern.push('\\');
                    }
                    pattern.push(char);
                }
                pattern.push('/');
            }
            Component::CurDir => {}
            _ => return None,
        }
    }
    if pattern.is_empty() {
        // Only a pattern with a slash stays in its folder.
        pattern.push('/');
    }
    pattern.push_str(files);
    (!pattern.contains(char::is_control)).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_folder_only() {
        for (folder, files, wanted) in [
            ("urldb", "*.yaml", Some("urldb/*.yaml x")),
            (".", "*.yaml", Some("/*.yaml x")),
            ("./a/b", "**/*.yaml", Some("a/b/**/*.yaml x")),
            ("my data", "*.yaml", Some("\"my data/*.yaml\" x")),
            ("a*[b]", "x", Some("a\\*\\[b]/x x")),
            ("a\"b*", "x", Some("\"a\\\"b\\\\*/x\" x")),
            ("!a", "x", Some("\\!a/x x")),
            ("../out", "x", None),
            ("/out", "x", None),
            ("a\nb", "x", None),
        ] {
            assert_eq!(
                attribute_line(Path::new(folder), files, "x").as_deref(),
                wanted,
                "{folder}"
            );
        }
        for (folder, files, wanted) in [
            ("archive", "", Some("/archive/")),
            ("./my data", ".*", Some("/my data/.*")),
            ("#a", "", Some("/\\#a/")),
            ("..", "", None),
        ] {
            let line = ignore_line(Path::new(folder), files);
            assert_eq!(line.as_deref(), wanted, "{folder}");
        }
    }
}
