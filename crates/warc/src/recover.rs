//! Takes over the archive files of processes that died.
//!
//! Of an `.open` file the records up to the first damaged one are kept, under the final name. The
//! rest is not thrown away: it goes to `NAME.warc.gz.at-OFFSET.damaged`, for a person to look at.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::file::{OPEN, SUFFIX, publish};
use crate::fs::{DirectoryLock, replace};
use crate::reader::{ReadError, Reader};

/// What became of one `.open` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The file with the good records, under its final name; `None` if there were none.
    pub file: Option<PathBuf>,
    /// How many good records there were.
    pub records: u64,
    /// The file with the rest; `None` if all was good.
    pub damaged: Option<PathBuf>,
    /// What was wrong with the first bad record.
    pub fault: Option<String>,
}

/// Why a file could not be recovered. It is as it was; trying again does no harm.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file could not be read: this is not damage, which would have been set aside.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: ReadError,
    },
    /// There is a finished file of the same name, which must not be overwritten.
    #[error("{}: cannot take this name for the recovered file, it exists; move one of them away", path.display())]
    Exists {
        /// The finished file.
        path: PathBuf,
    },
}

/// Recovers every `.open` file in the directory that no living process has locked, in the order of
/// their names. A file in which not even the first record is good becomes a `.damaged` file whole.
pub fn recover(dir: &Path) -> Result<Vec<Recovered>, RecoverError> {
    let failed = |source| RecoverError::Io {
        path: dir.to_owned(),
        source,
    };
    let _lock = DirectoryLock::acquire(dir).map_err(failed)?;
    let entries = std::fs::read_dir(dir)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(failed)?;
    let mut open_paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    open_paths.retain(|path| is_open(path) && path.is_file());
    open_paths.sort();
    open_paths
        .iter()
        .filter_map(|path| recover_file(path).transpose())
        .collect()
}

fn is_open(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.and_then(|name| name.strip_suffix(OPEN))
        .is_some_and(|name| name.ends_with(SUFFIX))
}

/// `None` if the file belongs to a living process, or did until it was finished just now.
fn recover_file(open_path: &Path) -> Result<Option<Recovered>, RecoverError> {
    let failed = |source| RecoverError::Io {
        path: open_path.to_owned(),
        source,
    };
    let opened = OpenOptions::new().read(true).write(true).open(open_path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    if !open_path.exists() {
        return Ok(None);
    }
    let final_path = open_path.with_extension("");
    // An empty one was about to be removed, because the name is taken.
    if final_path.exists() && file.metadata().map_err(failed)?.len() > 0 {
        return Err(RecoverError::Exists { path: final_path });
    }
    let good = survey(&file).map_err(|source| RecoverError::Read {
        path: open_path.to_owned(),
        source,
    })?;
    let damaged = set_aside(&file, &final_path, good.length).map_err(failed)?;
    if good.records > 0 {
        file.set_len(good.length)
            .and_then(|()| publish(&file, open_path, &final_path))
            .map_err(failed)?;
    } else {
        std::fs::remove_file(open_path).map_err(failed)?;
    }
    let file = (good.records > 0).then_some(final_path);
    Ok(Some(Recovered {
        file,
        records: good.records,
        damaged,
        fault: good.fault,
    }))
}

/// The good beginning of a file.
#[derive(Default)]
struct Good {
    records: u64,
    length: u64,
    fault: Option<String>,
}

fn survey(file: &File) -> Result<Good, ReadError> {
    let mut good = Good::default();
    match count(file, &mut good) {
        Err(error) if error.is_damage() => good.fault = Some(error.to_string()),
        other => other?,
    }
    Ok(good)
}

fn count(file: &File, good: &mut Good) -> Result<(), ReadError> {
    let mut reader = Reader::new(BufReader::new(file))?;
    while let Some(record) = reader.next_record()? {
        let extent = record.finish()?;
        good.records += 1;
        good.length = extent.offset + extent.length;
    }
    Ok(())
}

/// Copies what follows the good records to a file of its own. Its name tells the offset, so that a
/// recovery which was itself interrupted writes the same file again.
fn set_aside(mut file: &File, final_path: &Path, good: u64) -> io::Result<Option<PathBuf>> {
    if file.metadata()?.len() == good {
        return Ok(None);
    }
    let path = damaged_path(final_path, good);
    file.seek(SeekFrom::Start(good))?;
    replace(&path, |output| io::copy(&mut file, output).map(drop))?;
    Ok(Some(path))
}

/// Where the part of a file that begins at `offset` is set aside.
pub(crate) fn damaged_path(path: &Path, offset: u64) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(format!(".at-{offset}.damaged"));
    path.into()
}
