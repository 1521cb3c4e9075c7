//! The index of an archive: CDXJ lines, sorted as bytes (`LC_ALL=C sort`), none of them twice.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crate::cdxj::{CdxjLine, InvalidLine, Place};
use crate::file::SUFFIX;
use crate::fs::{DirectoryLock, replace};
use crate::http::StoredHead;
use crate::reader::{ReadError, Reader};

/// The name of the index in the directory of an archive.
pub const FILE_NAME: &str = "index.cdxj";

/// The longest line that is taken from an index, in bytes. A URL of 64 KiB, every byte of it escaped
/// in key and JSON, is shorter.
const MAX_LINE: u64 = 1024 * 1024;

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

/// Merges lines into the index, which need not exist yet. The index is streamed and replaced as a
/// whole, under the lock of its directory. One that is out of order, as a merge in git leaves it, is
/// put in order.
pub fn merge(path: &Path, lines: &[CdxjLine]) -> Result<(), IndexError> {
    let failed = |source| IndexError::Io {
        path: path.to_owned(),
        source,
    };
    let rendered: Result<BTreeSet<Vec<u8>>, _> = lines
        .iter()
        .map(|line| line.render().map(String::into_bytes))
        .collect();
    let new = rendered.map_err(|source| IndexError::Line {
        path: path.to_owned(),
        source,
    })?;
    if new.is_empty() {
        return Ok(());
    }
    let dir = path
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let _lock = DirectoryLock::acquire(dir).map_err(failed)?;
    let merged = if is_sorted(path).map_err(failed)? {
        replace(path, |output| {
            merge_sorted(OldLines::open(path)?, new, output)
        })
    } else {
        sorted(path).and_then(|mut all| {
            all.extend(new);
            replace(path, |output| {
                all.iter().try_for_each(|line| write_line(output, line))
            })
        })
    };
    merged.map_err(failed)
}

/// The lines about all records of an archive file, in the order of the file. `key` makes the sort key
/// of a URL.
pub fn lines_of(path: &Path, key: impl Fn(&str) -> String) -> Result<Vec<CdxjLine>, IndexError> {
    let failed = |source| IndexError::Read {
        path: path.to_owned(),
        source,
    };
    let filename = path.file_name().unwrap_or_default().to_string_lossy();
    let mut reader = Reader::open(path).map_err(failed)?;
    let mut lines = Vec::new();
    while let Some(mut record) = reader.next_record().map_err(failed)? {
        let header = record.header().clone();
        let head = StoredHead::read(&mut record).map_err(|error| failed(record.fault(error)))?;
        let place = Place {
            filename: &filename,
            extent: record.finish().map_err(failed)?,
        };
        lines.extend(CdxjLine::of_record(&header, head.as_ref(), place, &key));
    }
    Ok(lines)
}

/// The finished files of an archive that its index does not name, sorted: files that a process had
/// no time to index, and those in which there is nothing to index.
pub fn unlisted(dir: &Path) -> Result<Vec<PathBuf>, IndexError> {
    let failed = |path: &Path, source| IndexError::Io {
        path: path.to_owned(),
        source,
    };
    let mut unlisted = BTreeSet::new();
    for entry in std::fs::read_dir(dir).map_err(|source| failed(dir, source))? {
        let name = entry.map_err(|source| failed(dir, source))?.file_name();
        unlisted.extend(
            name.into_string()
                .ok()
                .filter(|name| name.ends_with(SUFFIX)),
        );
    }
    let index = dir.join(FILE_NAME);
    let lines = OldLines::open(&index).map_err(|source| failed(&index, source))?;
    for line in lines {
        let line = line.map_err(|source| failed(&index, source))?;
        // What is no line of an index names no file.
        let line = CdxjLine::parse(&String::from_utf8_lossy(&line));
        line.map(|line| unlisted.remove(&line.filename)).ok();
    }
    Ok(unlisted.iter().map(|name| dir.join(name)).collect())
}

/// The lines of an index that may not exist, without line ends and without empty ones.
struct OldLines(Option<BufReader<File>>);

impl OldLines {
    fn open(path: &Path) -> io::Result<Self> {
        match File::open(path) {
            Ok(file) => Ok(Self(Some(BufReader::new(file)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(input) = &mut self.0 else {
            return Ok(None);
        };
        let mut line = Vec::new();
        while input.take(MAX_LINE).read_until(b'\n', &mut line)? > 0 {
            if line.pop_if(|last| *last == b'\n').is_none() && line.len() as u64 >= MAX_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a line is too long for an index",
                ));
            }
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

impl Iterator for OldLines {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose()
    }
}

fn is_sorted(path: &Path) -> io::Result<bool> {
    let mut last = Vec::new();
    for line in OldLines::open(path)? {
        let line = line?;
        if line < last {
            return Ok(false);
        }
        last = line;
    }
    Ok(true)
}

fn sorted(path: &Path) -> io::Result<BTreeSet<Vec<u8>>> {
    OldLines::open(path)?.collect()
}

fn merge_sorted(
    old: OldLines,
    mut new: BTreeSet<Vec<u8>>,
    output: &mut impl Write,
) -> io::Result<()> {
    let mut last = Vec::new();
    for line in old {
        let line = line?;
        while new.first().is_some_and(|first| *first < line) {
            new.pop_first()
                .map_or(Ok(()), |first| write_line(output, &first))?;
        }
        new.remove(&line);
        if line != last {
            write_line(output, &line)?;
        }
        last = line;
    }
    new.iter().try_for_each(|line| write_line(output, line))
}

fn write_line(output: &mut impl Write, line: &[u8]) -> io::Result<()> {
    output.write_all(line)?;
    output.write_all(b"\n")
}
