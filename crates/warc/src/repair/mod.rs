//! Repairs a damaged archive: readable records stay, the rest is saved separately.
//!
//! Each damaged part of a file is copied to `NAME.at-OFFSET.damaged` beside the file, for a person to
//! examine. Then the file is replaced by its readable records, and the index is rebuilt. Where records
//! share a gzip member, the whole file is copied, and each readable record gets a member of its own.
//! Nothing is deleted.
//!
//! A file's lines leave the index before the file changes. So after an interrupted repair the next run
//! either finds the file not indexed and indexes it, or finds the damage and repairs it again. The report is told
//! before the index has the files again, and before a file without readable records is removed. So the next repair
//! tells what an interrupted one did not.

pub(crate) mod recover;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use self::recover::{DAMAGED_SUFFIX, damaged_path};
pub use self::recover::{RecoverError, RecoveredFile, recover};
use crate::cdxj::SortKeys;
use crate::extent::Extent;
use crate::files::names::file_name_of;
use crate::files::{archive_files, names_in};
use crate::finding::FindingCode;
use crate::fs::{
    DirectoryLock, FileError, at, copy_range, file, remove_if_there, replace, sync_directory_of,
};
use crate::index::{IndexError, forget_file, rebuild_index, unindexed_files};
use crate::reader::{self, InflatedMembers, ReadError, Reader};
use crate::replacement::finish_replacements;

/// The outcome of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// The files that a dead process left unfinished.
    pub recovered: Vec<RecoveredFile>,
    /// The finished files that were damaged.
    pub repaired: Vec<RepairedFile>,
    /// Damaged files of zstd frames, which stay as they are: this crate writes no zstd.
    pub left: Vec<PathBuf>,
}

/// The outcome for one damaged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedFile {
    /// The file. It no longer exists if it had no readable record.
    pub file: PathBuf,
    /// The number of readable records.
    pub records: u64,
    /// The files with the damaged parts, or with the whole former content.
    pub damaged: Vec<PathBuf>,
    /// The errors, in the order of the file.
    pub faults: Vec<String>,
}

/// Why an archive was not repaired. Nothing is lost; the caller may try again.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// An unfinished file could not be recovered.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// The index could not be rebuilt.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
}

/// The fault of a file that an interrupted repair has mended.
const MENDED_BEFORE: &str = "an earlier repair has mended the file, and ended before it could tell";

/// Repairs the files in an archive's directory and rebuilds its index.
pub fn repair(dir: &Path, keys: &impl SortKeys) -> Result<RepairReport, RepairError> {
    repair_telling(dir, keys, |_| {})
}

/// The same. `tell` gets the report once the files are repaired; what a kill keeps it from telling, the next repair
/// reports again.
///
/// # Errors
/// As [`repair`].
pub fn repair_telling(
    dir: &Path,
    keys: &impl SortKeys,
    tell: impl FnOnce(&RepairReport),
) -> Result<RepairReport, RepairError> {
    let recovered = recover(dir)?;
    match finish_replacements(dir) {
        // The index is rebuilt below.
        Err(error) if error.is_damaged_index() => {}
        finished => finished?,
    }
    let mut report = RepairReport {
        recovered,
        ..RepairReport::default()
    };
    let mut unindexed: BTreeSet<PathBuf> = unindexed_files(dir).into_iter().flatten().collect();
    for recovered in &report.recovered {
        unindexed.retain(|path| recovered.file.as_ref() != Some(path));
    }
    for path in archive_files(dir).map_err(at(dir))? {
        match repair_file(dir, &path).map_err(at(&path))? {
            FileRepair::Sound(records) => {
                let damaged = damaged_parts(dir, &path).map_err(at(dir))?;
                if !damaged.is_empty() && unindexed.contains(&path) {
                    report.repaired.push(RepairedFile {
                        file: path,
                        records,
                        damaged,
                        faults: vec![MENDED_BEFORE.to_owned()],
                    });
                }
            }
            FileRepair::Left => report.left.push(path),
            FileRepair::Done(file) => report.repaired.push(file),
        }
    }
    tell(&report);
    for file in report.repaired.iter().filter(|file| file.records == 0) {
        remove(dir, &file.file).map_err(at(&file.file))?;
    }
    rebuild_index(dir, keys)?;
    Ok(report)
}

fn remove(dir: &Path, path: &Path) -> io::Result<()> {
    let _lock = DirectoryLock::acquire(dir)?;
    remove_if_there(path)?;
    sync_directory_of(path)
}

/// The parts of a file that a repair has set aside.
fn damaged_parts(dir: &Path, path: &Path) -> io::Result<Vec<PathBuf>> {
    let start = format!("{}.at-", file_name_of(path));
    let parts = names_in(dir)?
        .into_iter()
        .filter(|name| name.starts_with(&start) && name.ends_with(DAMAGED_SUFFIX));
    Ok(parts.map(|name| dir.join(name)).collect())
}

/// The outcome for one file.
enum FileRepair {
    /// The file is not damaged, and has so many records.
    Sound(u64),
    /// The file is damaged, and stays.
    Left,
    Done(RepairedFile),
}

fn repair_file(dir: &Path, path: &Path) -> io::Result<FileRepair> {
    let mut contents = FileContents::read(path)?;
    if contents.faults.is_empty() {
        return Ok(FileRepair::Sound(contents.records));
    }
    if contents.is_zstd {
        return Ok(FileRepair::Left);
    }
    let mut repaired = RepairedFile {
        file: path.to_owned(),
        records: contents.records,
        damaged: Vec::new(),
        faults: std::mem::take(&mut contents.faults),
    };
    let _lock = DirectoryLock::acquire(dir)?;
    let length = file(path).metadata()?.len();
    for range in contents.damaged_ranges(length) {
        let aside = damaged_path(path, range.start);
        replace(&aside, |output| copy_range(path, &range, output))?;
        repaired.damaged.push(aside);
    }
    forget_file(dir, path)?;
    if contents.has_shared_members {
        let ranges = contents.ranges_between_faults(length);
        replace(path, |output| {
            repaired.records = write_separately(path, &ranges, output)?;
            Ok(())
        })?;
    } else if !contents.readable.is_empty() {
        replace(path, |output| {
            contents
                .readable
                .iter()
                .try_for_each(|range| copy_range(path, range, output))
        })?;
    }
    Ok(FileRepair::Done(repaired))
}

/// The readable and damaged parts of a file, as byte ranges.
#[derive(Default)]
struct FileContents {
    records: u64,
    /// Readable records; adjacent records form one range.
    readable: Vec<Range<u64>>,
    faults: Vec<String>,
    /// The offsets where reading resumed after a fault.
    resumed: Vec<u64>,
    /// Whether records share a gzip member.
    has_shared_members: bool,
    is_zstd: bool,
}

impl FileContents {
    fn read(path: &Path) -> io::Result<Self> {
        let mut contents = Self::default();
        let mut reader = Reader::new(file(path).open()?).map_err(io::Error::other)?;
        contents.is_zstd = reader.compression() == reader::Compression::Zstd;
        loop {
            match contents.add_next_record(&mut reader) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.is_damage() => {
                    contents.faults.push(error.to_string());
                    let skipped = reader.skip_damage().map_err(io::Error::other)?;
                    contents
                        .resumed
                        .extend(skipped.map(|skipped| skipped.offset + skipped.length));
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        if contents.records == 0 && contents.faults.is_empty() {
            contents
                .faults
                .push(FindingCode::EmptyFile.meaning().to_owned());
        }
        Ok(contents)
    }

    /// Reads the next record; false at the end of the file.
    fn add_next_record(&mut self, reader: &mut Reader<File>) -> Result<bool, ReadError> {
        let Some(record) = reader.next_record()? else {
            return Ok(false);
        };
        self.has_shared_members |= record.within_member() > 0;
        let extent = record.finish()?;
        let (start, end) = (extent.offset, extent.offset + extent.length);
        self.records += 1;
        match self.readable.last_mut().filter(|last| last.end == start) {
            Some(last) => last.end = end,
            None => self.readable.push(start..end),
        }
        Ok(true)
    }

    /// The ranges to save: the gaps between readable ranges, or the whole file if records share gzip
    /// members or none is readable.
    fn damaged_ranges(&self, length: u64) -> Vec<Range<u64>> {
        if self.has_shared_members || self.readable.is_empty() {
            return std::iter::once(0..length).collect();
        }
        let starts = std::iter::once(0).chain(self.readable.iter().map(|range| range.end));
        let ends = self.readable.iter().map(|range| range.start);
        starts
            .zip(ends.chain([length]))
            .filter(|(start, end)| start < end)
            .map(|(start, end)| start..end)
            .collect()
    }

    /// The whole file, divided where reading resumed after a fault.
    fn ranges_between_faults(&self, length: u64) -> Vec<Range<u64>> {
        let starts = std::iter::once(0).chain(self.resumed.iter().copied());
        let ends = self.resumed.iter().copied().chain([length]);
        starts.zip(ends).map(|(start, end)| start..end).collect()
    }
}

/// Writes the readable records of each range of the file, up to the first damage in the range.
/// Returns their number.
pub(super) fn write_separately(
    path: &Path,
    ranges: &[Range<u64>],
    output: &mut impl Write,
) -> io::Result<u64> {
    let mut records = 0;
    for range in ranges {
        let mut input = inflated(path, range)?;
        let mut position = 0;
        for Extent { offset, length } in record_extents(path, range)? {
            copy_exactly(&mut input, offset - position, &mut io::sink())?;
            let mut member = GzEncoder::new(&mut *output, Compression::new(6));
            copy_exactly(&mut input, length, &mut member)?;
            member.finish()?;
            position = offset + length;
            records += 1;
        }
    }
    Ok(records)
}

/// The positions of the readable records in the decompressed range.
fn record_extents(path: &Path, range: &Range<u64>) -> io::Result<Vec<Extent>> {
    let mut extents = Vec::new();
    let read = Reader::new(inflated(path, range)?).and_then(|mut reader| {
        while let Some(record) = reader.next_record()? {
            extents.push(record.finish()?);
        }
        Ok::<_, ReadError>(())
    });
    match read {
        Err(error) if !error.is_damage() => Err(io::Error::other(error)),
        _ => Ok(extents),
    }
}

fn inflated(path: &Path, range: &Range<u64>) -> io::Result<InflatedMembers<io::Take<File>>> {
    let mut file = file(path).open()?;
    file.seek(SeekFrom::Start(range.start))?;
    let length = range.end.saturating_sub(range.start);
    InflatedMembers::new(file.take(length)).map_err(io::Error::other)
}

fn copy_exactly(input: &mut impl Read, length: u64, output: &mut impl Write) -> io::Result<()> {
    let copied = io::copy(&mut input.take(length), output)?;
    if copied < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
