//! A list of the archive files whose lines are in the index. With this list a run need not read the
//! index to find files that are not indexed, nor check the order of its lines before a lookup.
//!
//! The list is a file beside the index. It is valid for an index with the recorded length, modification
//! time and (on Unix) inode. Otherwise, for example after a merge in git, the index is read once. The
//! list may be deleted at any time.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::lines::{IndexLines, write_line};
use crate::cdxj::CdxjLine;
use crate::fs::replace;

/// The name of the list in the directory of an archive.
pub(super) const FILE_NAME: &str = ".indexed";

/// The names of the files whose lines are in the index.
pub(super) fn read(index: &Path) -> io::Result<BTreeSet<String>> {
    match read_list(index)? {
        Some(names) => Ok(names),
        None => file_names_in(index),
    }
}

/// Whether the list is valid for the present index, whose lines are then in order.
pub(super) fn is_current(index: &Path) -> io::Result<bool> {
    let first = IndexLines::open(&list_path(index))?.next().transpose()?;
    Ok(first.is_some_and(|first| first == index_state(index).unwrap_or_default().as_bytes()))
}

/// Writes the list for the present index, whose lines must be in order.
pub(super) fn write(index: &Path, names: &BTreeSet<String>) -> io::Result<()> {
    let state = index_state(index)?;
    replace(&list_path(index), |output| {
        writeln!(output, "{state}")?;
        names
            .iter()
            .try_for_each(|name| write_line(output, name.as_bytes()))
    })
}

/// Reads the list. `None` if it is missing or belongs to another state of the index.
fn read_list(index: &Path) -> io::Result<Option<BTreeSet<String>>> {
    let mut lines = IndexLines::open(&list_path(index))?;
    let Some(first) = lines.next().transpose()? else {
        return Ok(None);
    };
    if first != index_state(index)?.as_bytes() {
        return Ok(None);
    }
    lines
        .map(|line| Ok(String::from_utf8_lossy(&line?).into_owned()))
        .collect::<io::Result<_>>()
        .map(Some)
}

fn file_names_in(index: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for line in IndexLines::open(index)? {
        if let Some(name) = file_name_in_line(&String::from_utf8_lossy(&line?))
            && !names.contains(&*name)
        {
            names.insert(name);
        }
    }
    Ok(names)
}

/// The archive file that an index line names; `None` for an invalid line.
fn file_name_in_line(line: &str) -> Option<String> {
    CdxjLine::parse(line).ok().map(|line| line.filename)
}

/// Length, modification time and inode of the index, if it exists. Renaming changes none of them.
fn index_state(index: &Path) -> io::Result<String> {
    let known = match index.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok("no index".to_owned()),
        other => other?,
    };
    let since = known.modified()?.duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    let (length, inode) = (known.len(), inode(&known));
    Ok(format!("index of {length} bytes at {nanos}{inode}"))
}

#[cfg(unix)]
fn inode(known: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!(", inode {}", known.ino())
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> String {
    String::new()
}

fn list_path(index: &Path) -> PathBuf {
    index.with_file_name(FILE_NAME)
}
