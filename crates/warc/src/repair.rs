//! Makes a damaged archive whole again: what can be read stays, the rest is set aside.
//!
//! Of a damaged file each damaged part is copied to `NAME.at-OFFSET.damaged` beside it, for a person to
//! look at; then the file is replaced by its good records, and the index is made anew. Where records
//! share a gzip member the whole file is copied, and each good record gets a member of its own. Nothing
//! is deleted. A file's lines leave the index before the file changes, so that a run which finds a repair
//! that was cut short sees a file that is not indexed, and indexes it; or the damage is still there,
//! and the next repair does it all again.

mod shared;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::cdxj::Keys;
use crate::finding::Code;
use crate::fs::{DirectoryLock, replace, sync_directory_of};
use crate::index::{self, IndexError};
use crate::reader::{ReadError, Reader};
use crate::recover::{RecoverError, Recovered, damaged_path, recover};
use crate::verify::archive_files;

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The files that a dead process left unfinished.
    pub recovered: Vec<Recovered>,
    /// The finished files that were damaged.
    pub repaired: Vec<Repaired>,
}

/// What became of one damaged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The file. It is gone if none of its records was good.
    pub file: PathBuf,
    /// How many good records there were.
    pub records: u64,
    /// The files with the damaged parts, or with all that the file was.
    pub damaged: Vec<PathBuf>,
    /// What was wrong, in the order of the file.
    pub faults: Vec<String>,
}

/// Why an archive was not repaired. Nothing is lost; trying again does no harm.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// An unfinished file could not be taken over.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// The index could not be made.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Repairs the files of an archive's directory, and makes its index anew.
pub fn repair(dir: &Path, keys: &impl Keys) -> Result<Repair, RepairError> {
    let recovered = recover(dir)?;
    let mut repaired = Vec::new();
    for path in archive_files(dir).map_err(at(dir))? {
        repaired.extend(repair_file(dir, &path).map_err(at(&path))?);
    }
    index::rebuild(dir, keys)?;
    Ok(Repair {
        recovered,
        repaired,
    })
}

fn at(path: &Path) -> impl Fn(io::Error) -> RepairError + use<> {
    let path = path.to_owned();
    move |source| RepairError::Io {
        path: path.clone(),
        source,
    }
}

/// `None` if the file is good.
fn repair_file(dir: &Path, path: &Path) -> io::Result<Option<Repaired>> {
    let mut survey = Survey::of(path)?;
    if survey.faults.is_empty() {
        return Ok(None);
    }
    let mut repaired = Repaired {
        file: path.to_owned(),
        records: survey.records,
        damaged: Vec::new(),
        faults: std::mem::take(&mut survey.faults),
    };
    let _lock = DirectoryLock::acquire(dir)?;
    let length = path.metadata()?.len();
    let damaged = if survey.is_shared {
        vec![(0, length)]
    } else {
        gaps(&survey.good, length)
    };
    for (from, to) in damaged {
        let aside = damaged_path(path, from);
        replace(&aside, |output| copy(path, (from, to), output))?;
        repaired.damaged.push(aside);
    }
    index::forget(&dir.join(index::FILE_NAME), path)?;
    if survey.is_shared {
        replace(path, |output| {
            repaired.records = shared::write_apart(path, &survey.stretches(length), output)?;
            Ok(())
        })?;
    } else if survey.good.is_empty() {
        std::fs::remove_file(path)?;
        sync_directory_of(path)?;
    } else {
        replace(path, |output| {
            let mut parts = survey.good.iter();
            parts.try_for_each(|part| copy(path, *part, output))
        })?;
    }
    Ok(Some(repaired))
}

/// A part of a file: from the first byte to the one after the last.
type Part = (u64, u64);

/// What a file has that is good, and what is wrong with the rest.
#[derive(Default)]
struct Survey {
    records: u64,
    /// Good records, those that follow each other as one part.
    good: Vec<Part>,
    faults: Vec<String>,
    /// Where reading went on after each fault.
    resumed: Vec<u64>,
    /// Whether records share a gzip member.
    is_shared: bool,
}

impl Survey {
    fn of(path: &Path) -> io::Result<Self> {
        let mut survey = Self::default();
        let mut reader = Reader::open(path).map_err(io::Error::other)?;
        loop {
            match survey.next(&mut reader) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.is_damage() => {
                    survey.faults.push(error.to_string());
                    let gap = reader.skip_damage().map_err(io::Error::other)?;
                    survey
                        .resumed
                        .extend(gap.map(|gap| gap.offset + gap.length));
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        if survey.records == 0 && survey.faults.is_empty() {
            survey.faults.push(Code::EmptyFile.meaning().to_owned());
        }
        Ok(survey)
    }

    /// The file, cut where reading went on after a fault.
    fn stretches(&self, length: u64) -> Vec<Part> {
        let starts = std::iter::once(0).chain(self.resumed.iter().copied());
        let ends = self.resumed.iter().copied().chain([length]);
        starts.zip(ends).collect()
    }

    fn next(&mut self, reader: &mut Reader<File>) -> Result<bool, ReadError> {
        let Some(record) = reader.next_record()? else {
            return Ok(false);
        };
        self.is_shared |= record.within_member() > 0;
        let extent = record.finish()?;
        let (from, to) = (extent.offset, extent.offset + extent.length);
        self.records += 1;
        match self.good.last_mut().filter(|(_, end)| *end == from) {
            Some((_, end)) => *end = to,
            None => self.good.push((from, to)),
        }
        Ok(true)
    }
}

/// The parts of a file that are not among the good ones; all of it, be it empty, if none is.
fn gaps(good: &[Part], length: u64) -> Vec<Part> {
    let ends = std::iter::once(0).chain(good.iter().map(|(_, to)| *to));
    let starts = good.iter().map(|(from, _)| *from).chain([length]);
    ends.zip(starts)
        .filter(|(from, to)| from < to || good.is_empty())
        .collect()
}

fn copy(path: &Path, (from, to): Part, output: &mut impl Write) -> io::Result<()> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let copied = io::copy(&mut file.take(to - from), output)?;
    if copied < to - from {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
