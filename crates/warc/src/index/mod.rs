//! The index of an archive: CDXJ lines, sorted as bytes (`LC_ALL=C sort`), none of them twice.
//!
//! Several processes may write archive files at once: each has files of its own, and merges its lines
//! into the one index under the lock of the directory.

mod lines;
mod listed;
mod lookup;
mod near;
mod scan;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) use self::lines::Lines;
use self::lines::write_line;
pub use self::lookup::{Found, Index};
pub(crate) use self::near::Near;
use crate::cdxj::{CdxjLine, InvalidLine, Keys};
use crate::file::SUFFIX;
use crate::fs::{DirectoryLock, remove_if_there, replace, sync_directory_of};
use crate::reader::ReadError;
use crate::verify::archive_files;

/// The name of the index in the directory of an archive.
pub const FILE_NAME: &str = "index.cdxj";

/// What it is called while it is made anew.
const REBUILT: &str = "index.cdxj.new";

/// The lines of this many bytes are gathered before they are merged.
const BATCH: usize = 64 * 1024 * 1024;

/// Why the index could not be made or merged. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line cannot be written.
    #[error("{}: {source}", path.display())]
    Line {
        /// The index.
        path: PathBuf,
        /// The line and its fault.
        source: InvalidLine,
    },
    /// An archive file is damaged.
    #[error("{}: {source}", path.display())]
    Read {
        /// The archive file.
        path: PathBuf,
        /// The record and its fault.
        source: ReadError,
    },
}

impl IndexError {
    /// Whether an archive file is bad, rather than its storage.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.is_damage())
    }
}

/// Merges lines into the index, which need not exist yet. The index is streamed and replaced as a
/// whole, under the lock of its directory. One that is out of order, as a merge in git leaves it, is
/// put in order. The lines of a file have to come together: a file that is named is taken for indexed.
pub fn merge(path: &Path, lines: &[CdxjLine]) -> Result<(), IndexError> {
    let mut update = Update::new(path);
    for line in lines {
        update.add(line)?;
        update.files.insert(line.filename.clone());
    }
    update.finish()
}

/// The lines about all records of an archive file, in the order of the file.
pub fn lines_of(path: &Path, keys: &impl Keys) -> Result<Vec<CdxjLine>, IndexError> {
    let mut lines = Vec::new();
    scan::scan(path, keys, |line| lines.push(line))?;
    Ok(lines)
}

/// The finished files of an archive that its index does not have the lines of, sorted: files that a
/// process had no time to index.
pub fn unlisted(dir: &Path) -> Result<Vec<PathBuf>, IndexError> {
    let mut unlisted = BTreeSet::new();
    for entry in std::fs::read_dir(dir).map_err(at(dir))? {
        let name = entry.map_err(at(dir))?.file_name();
        unlisted.extend(
            name.into_string()
                .ok()
                .filter(|name| name.ends_with(SUFFIX)),
        );
    }
    let index = dir.join(FILE_NAME);
    let listed = listed::read(&index).map_err(at(&index))?;
    Ok(unlisted
        .difference(&listed)
        .map(|name| dir.join(name))
        .collect())
}

/// What an index was made of.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// How many files.
    pub files: u64,
    /// What is wrong with those that are damaged: lines about what can be read of them are there.
    pub damaged: Vec<IndexError>,
}

/// Makes the index of an archive anew from all its files, and of nothing else.
pub fn rebuild(dir: &Path, keys: &impl Keys) -> Result<Rebuilt, IndexError> {
    let (path, new) = (dir.join(FILE_NAME), dir.join(REBUILT));
    remove_if_there(&new).map_err(at(&new))?;
    let mut update = Update::new(&new);
    let mut rebuilt = Rebuilt::default();
    for file in archive_files(dir).map_err(at(dir))? {
        rebuilt.files += 1;
        match update.add_file(&file, keys) {
            Err(error) if error.is_damage() => rebuilt.damaged.push(error),
            other => other?,
        }
    }
    update.finish()?;
    let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
    if new.exists() {
        std::fs::rename(&new, &path).map_err(at(&path))?;
    } else {
        replace(&path, |_| Ok(())).map_err(at(&path))?;
    }
    sync_directory_of(&path).map_err(at(&path))?;
    Ok(rebuilt)
}

/// Takes the lines about a file out of the index, which need not exist. The caller holds the lock of
/// the directory.
pub(crate) fn forget(index: &Path, file: &Path) -> io::Result<()> {
    if !index.exists() {
        return Ok(());
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    replace(index, |output| {
        for line in Lines::open(index)? {
            let line = line?;
            let parsed = CdxjLine::parse(&String::from_utf8_lossy(&line));
            if parsed.is_ok_and(|parsed| parsed.filename == name) {
                continue;
            }
            write_line(output, &line)?;
        }
        Ok(())
    })
}

/// Lines on their way into an index. They are gathered and merged many at a time, for each merge
/// writes the index anew.
pub struct Update {
    path: PathBuf,
    lines: BTreeSet<Vec<u8>>,
    bytes: usize,
    files: BTreeSet<String>,
}

impl Update {
    /// Of the index at that path, which need not exist yet; its directory has to.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            lines: BTreeSet::new(),
            bytes: 0,
            files: BTreeSet::new(),
        }
    }

    /// Adds the lines about all records of an archive file. Those about what can be read of a damaged
    /// file are added too, and the error is returned.
    pub fn add_file(&mut self, file: &Path, keys: &impl Keys) -> Result<(), IndexError> {
        let mut added = Ok(());
        let scanned = scan::scan(file, keys, |line| {
            let rendered = self.add(&line);
            if added.is_ok() {
                added = rendered;
            }
        });
        added?;
        scanned?;
        let name = file.file_name().unwrap_or_default();
        self.files.insert(name.to_string_lossy().into_owned());
        if self.bytes < BATCH {
            return Ok(());
        }
        self.merge()
    }

    fn add(&mut self, line: &CdxjLine) -> Result<(), IndexError> {
        let line = line.render().map_err(|source| IndexError::Line {
            path: self.path.clone(),
            source,
        })?;
        self.bytes += line.len();
        self.lines.insert(line.into_bytes());
        Ok(())
    }

    /// Merges what has not been merged yet.
    pub fn finish(mut self) -> Result<(), IndexError> {
        self.merge()
    }

    fn merge(&mut self) -> Result<(), IndexError> {
        if self.lines.is_empty() && self.files.is_empty() {
            return Ok(());
        }
        let dir = self
            .path
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
        let mut listed = listed::read(&self.path).map_err(at(&self.path))?;
        let is_to_be_sorted = || {
            let is_current = listed::is_current(&self.path).map_err(at(&self.path))?;
            Ok::<_, IndexError>(self.path.exists() && !is_current)
        };
        if !self.lines.is_empty() || is_to_be_sorted()? {
            merge_into(&self.path, &self.lines).map_err(at(&self.path))?;
        }
        listed.append(&mut self.files);
        listed::write(&self.path, &listed).map_err(at(&self.path))?;
        self.lines.clear();
        self.bytes = 0;
        Ok(())
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> IndexError + use<> {
    let path = path.to_owned();
    move |source| IndexError::Io {
        path: path.clone(),
        source,
    }
}

/// Streams the old lines through; only if these turn out to be in disorder are they held in memory.
fn merge_into(path: &Path, new: &BTreeSet<Vec<u8>>) -> io::Result<()> {
    let in_order = Cell::new(true);
    let merged = replace(path, |output| {
        in_order.set(merge_sorted(Lines::open(path)?, new, output)?);
        if in_order.get() {
            Ok(())
        } else {
            Err(io::Error::other("the index is out of order"))
        }
    });
    if in_order.get() {
        return merged;
    }
    let mut all: BTreeSet<Vec<u8>> = Lines::open(path)?.collect::<io::Result<_>>()?;
    all.extend(new.iter().cloned());
    replace(path, |output| {
        all.iter().try_for_each(|line| write_line(output, line))
    })
}

/// Whether the old lines are in order; if not, what was written is of no use.
fn merge_sorted(old: Lines, new: &BTreeSet<Vec<u8>>, output: &mut impl Write) -> io::Result<bool> {
    let mut new = new.iter().peekable();
    let mut last = Vec::new();
    for line in old {
        let line = line?;
        if line < last {
            return Ok(false);
        }
        while let Some(first) = new.next_if(|first| **first < line) {
            write_line(output, first)?;
        }
        new.next_if(|first| **first == line);
        if line != last {
            write_line(output, &line)?;
        }
        last = line;
    }
    new.try_for_each(|line| write_line(output, line))?;
    Ok(true)
}
