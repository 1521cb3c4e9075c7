//! Joins archive files into one new file, without some of their records.
//!
//! Records are copied as whole gzip members, byte for byte. The old files are removed only after the new
//! file was read again, and has the digest of what was copied.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::capture::RelatedRecords;
use crate::cdxj::{CdxjLine, SortKeys};
use crate::digest::{Digest, HashingOutput};
use crate::draft::RecordDraft;
use crate::files::ARCHIVE_SUFFIX;
use crate::fs::{
    DirectoryLock, FileError, at, copy_range, file, remove_if_there, sync_directory_of,
};
use crate::header::{Header, RecordType};
use crate::index::{IndexError, forget_files, index_joined_file, merge_index};
use crate::reader::{ReadError, Reader};
use crate::replacement::{self, ReplacementLock, joining_path};
use crate::writer::{Compression, WriteError, WriteOptions, Writer};

/// Buffer size of copies, in bytes.
const CHUNK: usize = 64 * 1024;

/// Why files were not joined. The archive has the same records as before.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// Another process replaces files of the archive.
    #[error("another process is joining or removing files of {}; try again when it has ended", dir.display())]
    Busy {
        /// The directory of the archive.
        dir: PathBuf,
    },
    /// A file is damaged, or is no file with one gzip member for each record.
    #[error("{}: {problem}", path.display())]
    Unsuitable {
        /// The file.
        path: PathBuf,
        /// The problem, for people.
        problem: String,
    },
    /// The new file differs from what was written to it.
    #[error("{}: the new file does not have the bytes that were written: the disk may be damaged", path.display())]
    Differs {
        /// The new file.
        path: PathBuf,
    },
    /// The first record of the new file could not be written.
    #[error(transparent)]
    Record(#[from] FileError<WriteError>),
    /// The index could not be changed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
}

/// A file that was joined from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedFile {
    /// The new file.
    pub path: PathBuf,
    /// The records that were copied.
    pub records: u64,
    /// The records that were left out.
    pub left_out: u64,
    /// The length of the old files, in bytes.
    pub bytes_before: u64,
    /// The length of the new file, in bytes.
    pub bytes: u64,
}

/// A file whose records are copied.
#[derive(Clone, Copy, Debug)]
pub struct JoinSource<'a> {
    /// Its name in the archive.
    pub name: &'a str,
    /// The path of its bytes: the file itself, or a copy of it.
    pub path: &'a Path,
}

/// A file that [`FileJoiner::prepare`] makes of others.
pub struct JoinRequest<'a> {
    /// The name of the new file, from [`archive_file_name`](crate::files::archive_file_name), with a prefix that
    /// no other process uses at the same time.
    pub name: &'a str,
    /// Its first record, which says what the file is.
    pub warcinfo: &'a RecordDraft,
    /// The old files, in the order of their records in the new file.
    pub sources: &'a [JoinSource<'a>],
    /// The offsets of the records to leave out, ascending, by file. Records that belong to one of them
    /// (`WARC-Concurrent-To`) are left out too, and a `warcinfo` without other records.
    pub left_out: &'a dyn Fn(&str) -> &'a [u64],
}

/// Joins files of an archive, while no other process does.
pub struct FileJoiner {
    dir: PathBuf,
    options: WriteOptions,
    lock: ReplacementLock,
}

impl FileJoiner {
    /// Takes the lock of the archive in this directory, and completes what a killed process left.
    ///
    /// # Errors
    /// [`JoinError::Busy`] if another process has the lock.
    pub fn begin(dir: &Path, options: WriteOptions) -> Result<Self, JoinError> {
        let busy = || JoinError::Busy {
            dir: dir.to_owned(),
        };
        let lock = ReplacementLock::try_acquire(dir)
            .map_err(at(dir))?
            .ok_or_else(busy)?;
        replacement::finish_with_lock(dir, &lock)?;
        Ok(Self {
            dir: dir.to_owned(),
            options,
            lock,
        })
    }

    /// Writes a file that has the records of others, reads it again, compares the digests, and adds its
    /// lines to the index. Neither counts before [`PreparedFile::commit`].
    ///
    /// # Errors
    /// The archive is then as before.
    pub fn prepare(
        &self,
        request: &JoinRequest<'_>,
        keys: &impl SortKeys,
    ) -> Result<PreparedFile<'_>, JoinError> {
        let path = self.dir.join(request.name);
        if !request.name.ends_with(ARCHIVE_SUFFIX) || urldb_files::is_there(&path) {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(at(&path)(exists).into());
        }
        let mut parts = Vec::new();
        for source in request.sources {
            parts.push(SourceFile::read(source, (request.left_out)(source.name))?);
        }
        let mut prepared = PreparedFile {
            joiner: self,
            draft: joining_path(&self.dir, request.name),
            old: parts.iter().map(|part| part.name.clone()).collect(),
            segments: Vec::new(),
            file: JoinedFile {
                path,
                bytes: 0,
                records: parts.iter().map(|part| part.records).sum(),
                left_out: parts.iter().map(|part| part.left_out).sum(),
                bytes_before: parts.iter().map(|part| part.length).sum(),
            },
            is_committed: false,
        };
        // Dropped, what is prepared is undone.
        prepared.write(request, &parts, keys)?;
        Ok(prepared)
    }

    /// Removes the lines of the old files from the index, and those of `removed`, files that left the
    /// archive in another way; then merges its segments.
    ///
    /// # Errors
    /// When the index is damaged or cannot be changed. Lookups take the lines of the new files all the
    /// same, and the next run or command completes the index.
    pub fn finish(self, removed: &BTreeSet<String>) -> Result<(), IndexError> {
        replacement::finish_with_lock(&self.dir, &self.lock)?;
        forget_files(&self.dir, removed)?;
        merge_index(&self.dir).map(drop)
    }

    /// Writes a file, reads it again, and compares the digests.
    fn write(
        &self,
        draft: &NewFile,
        warcinfo: &RecordDraft,
        parts: &[SourceFile],
    ) -> Result<(), JoinError> {
        let mut writer =
            Writer::new(&draft.file, Compression::Gzip).with_version(self.options.version);
        if self.options.skip_lengths {
            writer = writer.with_skip_lengths();
        }
        let first = writer
            .write_draft(warcinfo, io::empty(), 0)
            .map_err(at(&draft.path))?;
        let output = BufWriter::with_capacity(CHUNK, &draft.file);
        let mut output = HashingOutput::new(output);
        for part in parts {
            for range in &part.kept {
                copy_range(&part.path, range, &mut output).map_err(at(&draft.path))?;
            }
        }
        let mut read_again = || {
            output.flush()?;
            draft.file.sync_all()?;
            let mut written = file(&draft.path).open()?;
            written.seek(SeekFrom::Start(first.offset + first.length))?;
            Digest::sha256_of(written)
        };
        let (found, _) = read_again().map_err(at(&draft.path))?;
        if found != output.into_parts().1.finish() {
            let path = draft.path.clone();
            return Err(JoinError::Differs { path });
        }
        Ok(())
    }
}

/// A new file that is complete, and does not count yet. Dropped, it is removed.
pub struct PreparedFile<'a> {
    joiner: &'a FileJoiner,
    /// The new file under its temporary name.
    draft: PathBuf,
    /// The names of the old files.
    old: Vec<String>,
    segments: Vec<PathBuf>,
    file: JoinedFile,
    is_committed: bool,
}

impl PreparedFile<'_> {
    /// The path of the new file until [`PreparedFile::commit`].
    pub fn path(&self) -> &Path {
        &self.draft
    }

    /// The files of the index that have the lines of the new file, and no others.
    pub fn segments(&self) -> &[PathBuf] {
        &self.segments
    }

    /// Replaces the old files by the new one. The index has the lines of both until
    /// [`FileJoiner::finish`], and lookups take those of the new file.
    ///
    /// # Errors
    /// The archive is then as before, unless only an old file could not be removed: the next run or
    /// command removes it.
    pub fn commit(mut self) -> Result<JoinedFile, JoinError> {
        let (dir, path) = (&self.joiner.dir, &self.file.path);
        {
            let _lock = DirectoryLock::acquire(dir).map_err(at(dir))?;
            file(&self.draft).rename(&file(path)).map_err(at(path))?;
            sync_directory_of(path).map_err(at(dir))?;
        }
        for name in &self.old {
            let old = dir.join(name);
            remove_if_there(&old).map_err(at(&old))?;
        }
        self.is_committed = true;
        Ok(self.file.clone())
    }

    fn write(
        &mut self,
        request: &JoinRequest<'_>,
        parts: &[SourceFile],
        keys: &impl SortKeys,
    ) -> Result<(), JoinError> {
        let joiner = self.joiner;
        let dir = &joiner.dir;
        replacement::announce(dir, request.name, &self.old).map_err(at(&self.file.path))?;
        let new = NewFile::create(dir, request.name)?;
        joiner.write(&new, request.warcinfo, parts)?;
        self.segments = index_joined_file(dir, &new.path, request.name, keys)?;
        self.file.bytes = new.file.metadata().map_err(at(&new.path))?.len();
        Ok(())
    }
}

impl Drop for PreparedFile<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            // If this fails, the next run or command undoes the replacement.
            let _ = replacement::finish_with_lock(&self.joiner.dir, &self.joiner.lock);
        }
    }
}

/// A file to join, with the ranges of the records that are copied.
struct SourceFile {
    name: String,
    path: PathBuf,
    length: u64,
    kept: Vec<Range<u64>>,
    records: u64,
    /// Number of `warcinfo` records among them.
    descriptions: u64,
    left_out: u64,
}

impl SourceFile {
    /// Reads every record of a file.
    fn read(from: &JoinSource<'_>, dropped: &[u64]) -> Result<Self, JoinError> {
        let path = from.path;
        let mut source = Self {
            name: from.name.to_owned(),
            length: file(path).metadata().map_err(at(path))?.len(),
            path: path.to_owned(),
            kept: Vec::new(),
            records: 0,
            descriptions: 0,
            left_out: 0,
        };
        let unsuitable = |problem: String| JoinError::Unsuitable {
            path: path.to_owned(),
            problem,
        };
        let mut magic = [0; 2];
        let opened = file(path)
            .open()
            .and_then(|mut file| file.read_exact(&mut magic));
        if opened.is_err() || magic != [0x1f, 0x8b] {
            return Err(unsuitable("the file is not compressed".to_owned()));
        }
        let mut related = RelatedRecords::default();
        let mut end = 0;
        let read = read_records(path, &mut |header, range, is_within_member| {
            if is_within_member || range.start != end {
                return false;
            }
            end = range.end;
            let record = RecordToJoin {
                is_dropped: dropped.binary_search(&range.start).is_ok(),
                range,
                is_warcinfo: header.record_type() == Some(RecordType::Warcinfo),
            };
            let leaves_alone = CdxjLine::describes(header);
            let passed = related.add(header, record, |owner, record| {
                record.is_dropped |= owner.is_dropped && !leaves_alone;
            });
            if let Some(record) = passed {
                source.add(record);
            }
            true
        });
        related.end_file().for_each(|it| source.add(it));
        if !read.map_err(|error| unsuitable(error.to_string()))? {
            return Err(unsuitable("records share a gzip member".to_owned()));
        }
        if end != source.length {
            return Err(unsuitable("bytes after the last record".to_owned()));
        }
        if source.records == source.descriptions && source.left_out > 0 {
            // No record is left that the warcinfo records could describe.
            source.left_out += source.descriptions;
            (source.records, source.kept) = (0, Vec::new());
        }
        Ok(source)
    }

    /// Adds the next record, which comes after all others.
    fn add(&mut self, record: RecordToJoin) {
        if record.is_dropped {
            self.left_out += 1;
            return;
        }
        self.records += 1;
        self.descriptions += u64::from(record.is_warcinfo);
        match self.kept.last_mut() {
            Some(last) if last.end == record.range.start => last.end = record.range.end,
            _ => self.kept.push(record.range),
        }
    }
}

/// The facts about a record that decide whether it is copied.
struct RecordToJoin {
    range: Range<u64>,
    is_dropped: bool,
    is_warcinfo: bool,
}

/// Passes the header and the range of all records to `add`, and whether they share a gzip member with the one
/// before; false if `add` refuses one.
fn read_records(
    path: &Path,
    add: &mut dyn FnMut(&Header, Range<u64>, bool) -> bool,
) -> Result<bool, ReadError> {
    let mut reader = Reader::open(path)?;
    while let Some(record) = reader.next_record()? {
        let is_within_member = record.within_member() > 0;
        let (extent, header) = record.finish_with_header()?;
        let range = extent.offset..extent.offset + extent.length;
        if !add(&header, range, is_within_member) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The new file under its temporary name.
struct NewFile {
    path: PathBuf,
    file: File,
}

impl NewFile {
    fn create(dir: &Path, name: &str) -> Result<Self, JoinError> {
        let path = joining_path(dir, name);
        let file = file(&path).create_new().map_err(at(&path))?;
        Ok(Self { path, file })
    }
}
