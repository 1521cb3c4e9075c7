//! Which archive files the index has the lines of, so that a run need not read the index to know; and
//! that its lines are in order, so that they need not be compared before one is looked up.
//!
//! The list stands in a file beside the index, and is good as long as the index is the very one that
//! it was written for: length, time of change and (where there are such) the inode say so. Else, after
//! a merge in git say, the index is read once. The list may be deleted at any time.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::lines::{Lines, write_line};
use crate::cdxj::CdxjLine;
use crate::fs::replace;

/// The name of the list in the directory of an archive.
pub(super) const FILE_NAME: &str = ".indexed";

/// The names of the files that the index has the lines of.
pub(super) fn read(index: &Path) -> io::Result<BTreeSet<String>> {
    match remembered(index)? {
        Some(names) => Ok(names),
        None => named_in(index),
    }
}

/// Whether there is a list for the index as it is now, which is then in order.
pub(super) fn is_current(index: &Path) -> io::Result<bool> {
    let first = Lines::open(&path(index))?.next().transpose()?;
    Ok(first.is_some_and(|first| first == state(index).unwrap_or_default().as_bytes()))
}

/// Puts the list down for the index as it is now, which has to be in order.
pub(super) fn write(index: &Path, names: &BTreeSet<String>) -> io::Result<()> {
    let state = state(index)?;
    replace(&path(index), |output| {
        writeln!(output, "{state}")?;
        names
            .iter()
            .try_for_each(|name| write_line(output, name.as_bytes()))
    })
}

/// `None` if there is no list, or one for another state of the index.
fn remembered(index: &Path) -> io::Result<Option<BTreeSet<String>>> {
    let mut lines = Lines::open(&path(index))?;
    let Some(first) = lines.next().transpose()? else {
        return Ok(None);
    };
    if first != state(index)?.as_bytes() {
        return Ok(None);
    }
    lines
        .map(|line| Ok(String::from_utf8_lossy(&line?).into_owned()))
        .collect::<io::Result<_>>()
        .map(Some)
}

fn named_in(index: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for line in Lines::open(index)? {
        if let Some(name) = file_named(&String::from_utf8_lossy(&line?))
            && !names.contains(&*name)
        {
            names.insert(name);
        }
    }
    Ok(names)
}

/// The file that a line names. What is no line of an index names none.
fn file_named(line: &str) -> Option<String> {
    CdxjLine::parse(line).ok().map(|line| line.filename)
}

/// Length, time of change and inode of the index, which need not exist. None of them changes when it
/// is renamed.
fn state(index: &Path) -> io::Result<String> {
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

fn path(index: &Path) -> PathBuf {
    index.with_file_name(FILE_NAME)
}
