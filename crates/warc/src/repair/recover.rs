//! Finishes the archive files of processes that died.
//!
//! The records of an `.open` file up to the first damaged one get the final name. So do those before a
//! record whose last segments are missing, if the file has its first segment. The rest is saved in
//! `NAME.warc.gz.at-OFFSET.damaged`, for a person to examine.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::extent::Extent;
use crate::files::names::OPEN_SUFFIX;
use crate::files::{ARCHIVE_SUFFIX, names_in};
use crate::fs::{self, DirectoryLock, FileError, at, remove_if_there, replace};
use crate::header::{Header, RecordType};
use crate::reader::{ReadError, Reader};
use crate::segment;
use crate::writer::archive_file::publish;

/// The outcome for one `.open` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredFile {
    /// The file with the readable records, under its final name; `None` if there are none.
    pub file: Option<PathBuf>,
    /// The number of readable records.
    pub records: u64,
    /// The file with the damaged rest; `None` if there is no damage.
    pub damaged: Option<PathBuf>,
    /// The error in the first damaged record, or in the first one that lacks segments.
    pub fault: Option<String>,
}

/// Why a file could not be recovered. The file is unchanged; the caller may try again.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
    /// The file could not be read, for another reason than damage.
    #[error(transparent)]
    Read(#[from] FileError<ReadError>),
    /// A finished file of the same name exists, which must not be overwritten.
    #[error("{}: cannot take this name for the recovered file, it exists; move one of them away", path.display())]
    Exists {
        /// The finished file.
        path: PathBuf,
    },
}

/// Recovers every unlocked `.open` file in the directory, sorted by name. A file without any readable
/// record becomes a `.damaged` file as a whole.
pub fn recover(dir: &Path) -> Result<Vec<RecoveredFile>, RecoverError> {
    let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
    names_in(dir)
        .map_err(at(dir))?
        .iter()
        .filter(|name| is_open(name))
        .filter_map(|name| recover_file(&dir.join(name)).transpose())
        .collect()
}

fn is_open(name: &str) -> bool {
    name.strip_suffix(OPEN_SUFFIX)
        .is_some_and(|name| name.ends_with(ARCHIVE_SUFFIX))
}

/// `None` if a running process has the file locked, or has just finished it.
fn recover_file(open_path: &Path) -> Result<Option<RecoveredFile>, RecoverError> {
    let file = match fs::file(open_path).open_to_write() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(at(open_path))?,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(at(open_path)(error).into()),
    }
    if !fs::file(open_path).is_file() {
        return Ok(None);
    }
    let final_path = open_path.with_extension("");
    // Its process was about to remove an empty file, because the name is taken.
    if urldb_files::is_there(&final_path) && file.metadata().map_err(at(open_path))?.len() > 0 {
        return Err(RecoverError::Exists { path: final_path });
    }
    let readable = readable_part(&file).map_err(at(open_path))?;
    let damaged = set_aside(&file, &final_path, readable.length).map_err(at(open_path))?;
    if readable.records > 0 {
        file.set_len(readable.length)
            .and_then(|()| publish(&file, open_path, &final_path))
            .map_err(at(open_path))?;
    } else {
        remove_if_there(open_path).map_err(at(open_path))?;
    }
    let file = (readable.records > 0).then_some(final_path);
    Ok(Some(RecoveredFile {
        file,
        records: readable.records,
        damaged,
        fault: readable.fault,
    }))
}

/// The beginning of a file up to the first damage.
#[derive(Default)]
struct ReadablePart {
    records: u64,
    length: u64,
    fault: Option<String>,
    /// Records whose last segment was not read yet, by the id of the first one: the offset, and the number
    /// of records before it.
    segmented: HashMap<String, (u64, u64)>,
}

/// Limit of the number of records whose segments are mixed in one file.
const MAX_SEGMENTED: usize = 1_000;

impl ReadablePart {
    fn add(&mut self, extent: Extent, header: &Header) {
        if let Some(origin) = segment::origin(header) {
            if segment::is_last(header) {
                self.segmented.remove(origin);
            } else if header.record_type() != Some(RecordType::Continuation)
                && self.segmented.len() < MAX_SEGMENTED
            {
                let start = (extent.offset, self.records);
                self.segmented.insert(origin.to_owned(), start);
            }
        }
        self.records += 1;
        self.length = extent.offset + extent.length;
    }

    /// Ends before the first record that lacks segments: its process died while it wrote them.
    fn leave_incomplete_out(&mut self) {
        if let Some((offset, records)) = self.segmented.values().min().copied() {
            let fault = || format!("segments of the record at byte {offset} are missing");
            self.fault = self.fault.take().or_else(|| Some(fault()));
            (self.length, self.records) = (offset, records);
        }
    }
}

fn readable_part(file: &File) -> Result<ReadablePart, ReadError> {
    let mut readable = ReadablePart::default();
    match count_records(file, &mut readable) {
        Err(error) if error.is_damage() => readable.fault = Some(error.to_string()),
        other => other?,
    }
    readable.leave_incomplete_out();
    Ok(readable)
}

fn count_records(file: &File, readable: &mut ReadablePart) -> Result<(), ReadError> {
    let mut reader = Reader::new(BufReader::new(file))?;
    while let Some(record) = reader.next_record()? {
        let (extent, header) = record.finish_with_header()?;
        readable.add(extent, &header);
    }
    Ok(())
}

/// Copies everything after the readable part to a file of its own. The file's name has the offset, so
/// a second recovery after an interrupted one writes the same file again.
fn set_aside(mut file: &File, final_path: &Path, readable: u64) -> io::Result<Option<PathBuf>> {
    if file.metadata()?.len() == readable {
        return Ok(None);
    }
    let path = damaged_path(final_path, readable);
    file.seek(SeekFrom::Start(readable))?;
    replace(&path, |output| io::copy(&mut file, output).map(drop))?;
    Ok(Some(path))
}

/// The suffix of the damaged part of a file.
pub(crate) const DAMAGED_SUFFIX: &str = ".damaged";

/// The path for the damaged part of a file that begins at `offset`.
pub(crate) fn damaged_path(path: &Path, offset: u64) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(format!(".at-{offset}{DAMAGED_SUFFIX}"));
    path.into()
}
