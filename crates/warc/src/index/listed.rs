//! Which archive files the index has the lines of, so that a run need not read the index to know.
//!
//! The list stands in a file beside the index, and is good as long as the index is the very one that
//! it was written for: length and time of change say so. Else, after a merge in git say, the index is
//! read once. The list may be deleted at any time.

use std::collections::BTreeSet;
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

/// Puts the list down for the index as it is now.
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

/// Length and time of change of the index, which need not exist.
fn state(index: &Path) -> io::Result<String> {
    let known = match index.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok("no index".to_owned()),
        other => other?,
    };
    let since = known.modified()?.duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    Ok(format!("index of {} bytes at {nanos}", known.len()))
}

fn path(index: &Path) -> PathBuf {
    index.with_file_name(FILE_NAME)
}
