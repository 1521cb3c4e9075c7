//! The files of an archive that do not count while new files replace them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::names::{LARGEST_LIST, is_archive_name};
use crate::fs;

pub(crate) const REPLACES_SUFFIX: &str = ".replaces";

/// A file that replaces others.
pub(crate) struct Replacement {
    pub(crate) new: String,
    pub(crate) old: Vec<String>,
    /// Whether the new file has its final name.
    pub(crate) is_done: bool,
}

/// The replacements among these files of a directory.
pub(crate) fn replacements(dir: &Path, names: &BTreeSet<String>) -> io::Result<Vec<Replacement>> {
    let mut found = Vec::new();
    for name in names {
        let Some(new) = name
            .strip_suffix(REPLACES_SUFFIX)
            .filter(|new| is_archive_name(new))
        else {
            continue;
        };
        let old = fs::root(dir)
            .file(name)
            .read_to_string(LARGEST_LIST)
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        found.push(Replacement {
            new: new.to_owned(),
            // The list may come from somebody else's commit.
            old: old
                .lines()
                .filter(|old| is_archive_name(old) && !old.contains(['/', '\\']) && *old != new)
                .map(str::to_owned)
                .collect(),
            is_done: names.contains(new),
        });
    }
    Ok(found)
}

/// The archive files that do not count now: those that a new file has replaced, and new files that are not
/// complete. `names` has the files of the archive, in this directory or elsewhere.
///
/// # Errors
/// When the directory cannot be read.
pub fn hidden_files(dir: &Path, names: &BTreeSet<String>) -> io::Result<BTreeSet<String>> {
    let mut hidden = BTreeSet::new();
    for replacement in replacements(dir, names)? {
        if replacement.is_done {
            hidden.extend(replacement.old);
        } else {
            hidden.insert(replacement.new);
        }
    }
    Ok(hidden)
}
