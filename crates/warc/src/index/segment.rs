//! Segments of an index: the files of one, how it is written, and how it is read.
//!
//! | file of a segment | content |
//! |---|---|
//! | `NAME.cdxj.gz` | the lines, in compressed blocks |
//! | `NAME.loc` | the name of the data file, and the archive files whose lines the segment has |
//! | `NAME.idx` | the key and the position of each block |
//!
//! `NAME` is the latest timestamp of the lines and a digest of the segment. So a segment never changes,
//! and an equal segment has the same name. The `.idx` file comes last: without it there is no segment.
//! A segment without lines is a `.loc` file only.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use urldb_files::Limit;

use super::cursor::{LineCursor, SeekCursor, seek_after};
use super::error::{IndexError, at};
use super::lines::{MAX_LINE, read_line};
use super::zipnum::{BlockPosition, IdxDialect, ZipNumWriter, invalid, key_and_timestamp};
use crate::digest::{DigestAlgorithm, DigestHasher};
use crate::fs::{self, DirectoryLock, remove_if_there, sync_directory_of};
use crate::source::{ArchiveInput, FileSource};

/// The directory of the segments in the directory of an archive.
pub const INDEX_DIRECTORY: &str = "index";

const DATA_SUFFIX: &str = ".cdxj.gz";
const LOC_SUFFIX: &str = ".loc";
const IDX_SUFFIX: &str = ".idx";

/// The suffixes of the files of a segment, in the order in which the files appear.
const PUBLICATION: [&str; 3] = [DATA_SUFFIX, LOC_SUFFIX, IDX_SUFFIX];

pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";

/// The name of the data file in `.loc` and `.idx`.
const PART: &str = "cdxj";

/// Limit of the compressed length of a block, in bytes.
const MAX_BLOCK: u64 = 16 * 1024 * 1024;

/// The largest list of archive files that is read: a `.loc` file, or the list of files that a new one
/// replaces. 64 MiB have some 600,000 names.
pub const LARGEST_LIST: Limit = Limit::mib(64);

/// Bytes at the end of an `.idx` file that have its last line.
const MAX_IDX_LINE: u64 = MAX_LINE + 1024;

/// A segment of an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Segment {
    dir: PathBuf,
    name: String,
    /// Whether the segment has lines, or only names of files without lines.
    has_lines: bool,
}

impl Segment {
    pub(super) fn data(&self) -> PathBuf {
        self.path(DATA_SUFFIX)
    }

    fn path(&self, suffix: &str) -> PathBuf {
        self.dir.join(format!("{}{suffix}", self.name))
    }

    /// The paths of the files, in the order of publication.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let suffixes: &[&str] = if self.has_lines {
            &PUBLICATION
        } else {
            &[LOC_SUFFIX]
        };
        suffixes.iter().map(|suffix| self.path(suffix)).collect()
    }

    /// The length of the lines, compressed, in bytes.
    pub(super) fn length(&self) -> u64 {
        fs::file(&self.data())
            .metadata()
            .map_or(0, |known| known.len())
    }

    /// The archive files whose lines the segment has.
    ///
    /// # Errors
    /// When the list cannot be read, or is not that of the segment.
    pub(super) fn files(&self) -> io::Result<BTreeSet<String>> {
        let loc = fs::file(&self.path(LOC_SUFFIX)).read(LARGEST_LIST)?;
        let (names, has_part) = read_loc(&loc)?;
        if has_part != self.has_lines {
            return Err(invalid("the list of files is that of another segment"));
        }
        Ok(names)
    }

    /// Whether the segment may have lines of files that its list does not name: of damaged files.
    pub(super) fn may_have_other_files(&self) -> bool {
        self.has_lines && self.files().is_ok_and(|files| files.is_empty())
    }

    /// A cursor, which must be moved before it is used; `None` if the segment has no lines.
    pub(super) fn open(&self) -> Result<Option<SegmentCursor>, IndexError> {
        if !self.has_lines {
            return Ok(None);
        }
        let (data, idx) = (self.data(), self.path(IDX_SUFFIX));
        let open = |path: &Path| fs::file(path).open().map_err(at(path));
        let cursor =
            SegmentCursor::new(data.clone(), Box::new(open(&data)?), Box::new(open(&idx)?));
        cursor.map(Some)
    }

    /// Whether all files of the segment are there with the lengths that they should have.
    pub(super) fn is_complete(&self) -> bool {
        self.files().is_ok() && self.open().is_ok()
    }

    /// Removes the files, first the one that makes them a segment.
    pub(super) fn remove(&self) -> io::Result<()> {
        for suffix in [IDX_SUFFIX, LOC_SUFFIX, DATA_SUFFIX] {
            remove_if_there(&self.path(suffix))?;
        }
        Ok(())
    }
}

/// The archive files in a `.loc` file, and whether its segment has lines.
fn read_loc(loc: &[u8]) -> io::Result<(BTreeSet<String>, bool)> {
    let mut names = BTreeSet::new();
    let mut has_part = false;
    let loc = std::str::from_utf8(loc).map_err(|_| invalid("the list of files is not UTF-8"))?;
    for line in loc.lines() {
        match line.split_once('\t') {
            Some((PART, _)) => has_part = true,
            Some((name, _)) => drop(names.insert(name.to_owned())),
            None => return Err(invalid("the list of files is damaged")),
        }
    }
    Ok((names, has_part))
}

/// The archive files whose lines a segment of an index has, by the bytes of its `.loc` file.
///
/// # Errors
/// When the bytes are no such list.
pub fn files_of_segment(loc: &[u8]) -> io::Result<BTreeSet<String>> {
    read_loc(loc).map(|(names, _)| names)
}

/// The segments of the index in this directory, the latest first.
pub(super) fn list(dir: &Path) -> io::Result<Vec<Segment>> {
    let names = fs::names(&fs::index_root(dir))?;
    let mut segments = Vec::new();
    for name in &names {
        if let Some(name) = name.strip_suffix(IDX_SUFFIX) {
            segments.push(Segment {
                dir: dir.to_owned(),
                name: name.to_owned(),
                has_lines: true,
            });
        } else if let Some(name) = name.strip_suffix(LOC_SUFFIX)
            && !names.contains(&format!("{name}{IDX_SUFFIX}"))
        {
            let segment = Segment {
                dir: dir.to_owned(),
                name: name.to_owned(),
                has_lines: false,
            };
            // Otherwise the segment was not finished.
            if segment.files().is_ok() {
                segments.push(segment);
            }
        }
    }
    segments.sort_by(|a, b| b.cmp(a));
    Ok(segments)
}

/// Whether the caller holds the lock for merges.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeLock {
    Held,
    NotHeld,
}

/// Removes the files that killed processes have left. The caller holds the lock of the archive's
/// directory, so all files of a segment that is being published are there.
pub(super) fn clean_up(dir: &Path, merge: MergeLock) -> io::Result<()> {
    let complete: BTreeSet<String> = list(dir)?.into_iter().map(|it| it.name).collect();
    let names = fs::names(&fs::index_root(dir))?;
    let is_of_merge =
        |name: &str| name.ends_with(TEMPORARY_SUFFIX) && name.starts_with(Purpose::Merged.prefix());
    // The files of a merge that is running are not left over.
    let mut lock = None;
    if merge == MergeLock::NotHeld && names.iter().any(|name| is_of_merge(name)) {
        lock = DirectoryLock::try_acquire(dir)?;
    }
    let no_merge_runs = merge == MergeLock::Held || lock.is_some();
    for name in names {
        let is_left = match name.strip_suffix(TEMPORARY_SUFFIX) {
            Some(_) if is_of_merge(&name) => no_merge_runs,
            Some(_) => name.starts_with(Purpose::Added.prefix()),
            None => [DATA_SUFFIX, LOC_SUFFIX]
                .iter()
                .filter_map(|suffix| name.strip_suffix(suffix))
                .any(|name| !complete.contains(name)),
        };
        if is_left {
            remove_if_there(&dir.join(name))?;
        }
    }
    Ok(())
}

/// What a segment is written for. The temporary files of different purposes have different names.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// New lines, under the lock of the archive's directory.
    Added,
    /// The lines of other segments or of all files, under the lock of the index.
    Merged,
}

impl Purpose {
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Merged => "merged",
        }
    }
}

/// A complete segment under temporary names, which are removed when it is dropped.
pub(super) struct SegmentDraft {
    segment: Segment,
    /// Temporary and final paths, in the order of publication.
    files: Vec<(PathBuf, PathBuf)>,
}

impl SegmentDraft {
    /// Writes a segment with the lines that `lines` passes on in order, and with the names of the
    /// archive files that they are about. `None` if there are neither.
    #[expect(clippy::too_many_lines)]
    pub(super) fn write(
        dir: &Path,
        purpose: Purpose,
        files: &BTreeSet<String>,
        lines: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), IndexError>,
    ) -> Result<Option<Self>, IndexError> {
        let temporary =
            |suffix| dir.join(format!("{}{suffix}{TEMPORARY_SUFFIX}", purpose.prefix()));
        let [data, loc, idx] = PUBLICATION.map(temporary);
        let mut draft = Self {
            segment: Segment {
                dir: dir.to_owned(),
                name: String::new(),
                has_lines: false,
            },
            files: [&data, &loc, &idx]
                .map(|path| (path.clone(), PathBuf::new()))
                .into(),
        };
        let create = |path: &Path| fs::create(path).map(BufWriter::new).map_err(at(path));
        let output = HashingOutput::new(create(&data)?);
        let part = PART.to_owned();
        let writer = ZipNumWriter::new(output, create(&idx)?, IdxDialect::Tab { part });
        let mut writer = writer.map_err(at(&idx))?;
        let mut latest = Vec::new();
        lines(&mut |line| {
            writer.add(line)?;
            let timestamp =
                key_and_timestamp(line).and_then(|key| key.rsplit(|b| *b == b' ').next());
            if let Some(timestamp) = timestamp.filter(|it| *it > latest.as_slice()) {
                timestamp.clone_into(&mut latest);
            }
            Ok(())
        })?;
        let (output, idx_output) = writer.finish().map_err(at(&data))?;
        let has_lines = output.length > 0;
        let mut list = String::new();
        for name in files.iter().filter(|name| !name.contains(char::is_control)) {
            let _ = writeln!(list, "{name}\t../{name}");
        }
        if !has_lines && list.is_empty() {
            return Ok(None);
        }
        let (output, mut hasher) = output.into_parts();
        hasher.update(list.as_bytes());
        let digest = hasher.finish().to_string();
        let digest = digest.split(':').next_back().unwrap_or_default();
        let latest = String::from_utf8_lossy(&latest);
        let latest = if has_lines { &*latest } else { "files" };
        draft.segment.name = format!("{latest}-{}", &digest[..16.min(digest.len())]);
        draft.segment.has_lines = has_lines;
        if has_lines {
            let name = &draft.segment.name;
            list.insert_str(0, &format!("{PART}\t{name}{DATA_SUFFIX}\n"));
        }
        let mut loc_output = create(&loc)?;
        loc_output.write_all(list.as_bytes()).map_err(at(&loc))?;
        let sync = |output: BufWriter<File>, path: &Path| {
            let synced = output.into_inner().map_err(io::IntoInnerError::into_error);
            synced.and_then(|file| file.sync_all()).map_err(at(path))
        };
        sync(output, &data)?;
        sync(idx_output, &idx)?;
        sync(loc_output, &loc)?;
        for ((_, path), suffix) in draft.files.iter_mut().zip(PUBLICATION) {
            *path = draft.segment.path(suffix);
        }
        Ok(Some(draft))
    }

    /// Gives the files their final names. The caller holds the lock of the archive's directory.
    pub(super) fn publish(mut self) -> Result<Segment, IndexError> {
        let loc = self.segment.path(LOC_SUFFIX);
        for (temporary, path) in &self.files {
            if self.segment.has_lines || *path == loc {
                let renamed = fs::file(temporary).rename(&fs::file(path));
                renamed.map_err(at(path))?;
            } else {
                remove_if_there(temporary).map_err(at(temporary))?;
            }
        }
        self.files.clear();
        sync_directory_of(&loc).map_err(at(&self.segment.dir))?;
        Ok(self.segment.clone())
    }
}

impl Drop for SegmentDraft {
    fn drop(&mut self) {
        for (temporary, _) in &self.files {
            // The next update removes what stays.
            let _ = remove_if_there(temporary);
        }
    }
}

/// Hashes and counts what it writes.
struct HashingOutput<W> {
    output: W,
    hasher: DigestHasher,
    length: u64,
}

impl<W> HashingOutput<W> {
    fn new(output: W) -> Self {
        Self {
            output,
            hasher: DigestHasher::new(DigestAlgorithm::Sha256),
            length: 0,
        }
    }

    fn into_parts(self) -> (W, DigestHasher) {
        (self.output, self.hasher)
    }
}

impl<W: Write> Write for HashingOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Whether a file of this name in the directory of the index belongs to a segment.
pub(crate) fn is_segment_name(name: &str) -> bool {
    PUBLICATION.iter().any(|suffix| name.ends_with(suffix))
}

/// The place of a file in the order in which the files of its segment appear.
pub(super) fn place_in_publication(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?;
    PUBLICATION.iter().position(|suffix| name.ends_with(suffix))
}

/// Cursors over the segments with lines among these files of an archive, the latest first. The cursors
/// must be moved before they are used. The errors are those of damaged segments.
pub(crate) fn cursors(
    source: &dyn FileSource,
    names: &[String],
) -> impl Iterator<Item = Result<SegmentCursor, IndexError>> {
    let names = names.iter().rev().filter_map(|name| {
        let is_of_index = name.strip_prefix(INDEX_DIRECTORY)?.starts_with('/');
        name.strip_suffix(IDX_SUFFIX).filter(|_| is_of_index)
    });
    names.map(|name| {
        let [data, idx] = [DATA_SUFFIX, IDX_SUFFIX].map(|suffix| format!("{name}{suffix}"));
        let open = |name: &str| source.open_file(name).map_err(at(&source.path_of(name)));
        SegmentCursor::new(source.path_of(&data), open(&data)?, open(&idx)?)
    })
}

/// The lines of the block that is being read.
type BlockLines = BufReader<GzDecoder<Cursor<Vec<u8>>>>;

/// A cursor over the lines of a segment, which reads one block at a time.
pub(crate) struct SegmentCursor {
    path: PathBuf,
    data: Box<dyn ArchiveInput>,
    data_length: u64,
    /// The lines of `.idx`, from that of the next block on.
    idx: BufReader<Box<dyn ArchiveInput>>,
    idx_length: u64,
    block: Option<BlockLines>,
    /// The key of the block after the current one, and its position; `None` at the end.
    next_block: Option<(Vec<u8>, BlockPosition)>,
    /// The offset of the current block.
    block_offset: u64,
    line: Vec<u8>,
    has_line: bool,
    was_moved: bool,
}

impl SegmentCursor {
    /// A cursor, which must be moved before it is used. `path` is the data file, for messages.
    ///
    /// # Errors
    /// When a file cannot be read, or when the blocks do not end where the data ends.
    pub(crate) fn new(
        path: PathBuf,
        data: Box<dyn ArchiveInput>,
        idx: Box<dyn ArchiveInput>,
    ) -> Result<Self, IndexError> {
        let mut cursor = Self {
            path,
            data,
            data_length: 0,
            idx: BufReader::new(idx),
            idx_length: 0,
            block: None,
            next_block: None,
            block_offset: 0,
            line: Vec::new(),
            has_line: false,
            was_moved: false,
        };
        cursor.compare_lengths().map_err(at(&cursor.path))?;
        Ok(cursor)
    }

    /// Whether the blocks end where the data ends.
    fn compare_lengths(&mut self) -> io::Result<()> {
        self.data_length = self.data.seek(SeekFrom::End(0))?;
        self.idx_length = self.idx.seek(SeekFrom::End(0))?;
        let tail = self.idx_length.saturating_sub(MAX_IDX_LINE.min(4096));
        if self.end_of_blocks(tail)? != Some(self.data_length) {
            let tail = self.idx_length.saturating_sub(MAX_IDX_LINE);
            if self.end_of_blocks(tail)? != Some(self.data_length) {
                return Err(invalid("its blocks do not end where the file ends"));
            }
        }
        Ok(())
    }

    /// Where the last block ends, according to the end of `.idx` from this offset on.
    fn end_of_blocks(&mut self, from: u64) -> io::Result<Option<u64>> {
        self.idx.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        self.idx.read_to_end(&mut text)?;
        let Some(text) = text.strip_suffix(b"\n") else {
            return Ok(None);
        };
        let line = text
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        Ok(BlockPosition::parse(line).map(|(_, position)| position.offset + position.length))
    }

    /// Reads the next line of `.idx`.
    fn read_position(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        self.next_block = None;
        if read_line(&mut self.idx, &mut line)? > 0 {
            let (key, position) = BlockPosition::parse(&line)
                .ok_or_else(|| invalid("a line of its .idx file is damaged"))?;
            self.next_block = Some((key.to_owned(), position));
        }
        Ok(())
    }

    /// Begins the next block; false at the end.
    fn begin_block(&mut self) -> io::Result<bool> {
        let Some((_, position)) = &self.next_block else {
            return Ok(false);
        };
        let (offset, length) = (position.offset, position.length);
        if length > MAX_BLOCK || offset + length > self.data_length {
            return Err(invalid(
                "a block is longer than the file, or than is allowed",
            ));
        }
        self.data.seek(SeekFrom::Start(offset))?;
        let mut member = vec![0; usize::try_from(length).unwrap_or_default()];
        self.data.read_exact(&mut member)?;
        self.block = Some(BufReader::new(GzDecoder::new(Cursor::new(member))));
        self.block_offset = offset;
        Ok(true)
    }

    fn next_line(&mut self) -> io::Result<()> {
        loop {
            if let Some(block) = &mut self.block {
                let read = read_line(block, &mut self.line).map_err(damaged)?;
                if read > 0 && !self.line.is_empty() {
                    self.has_line = true;
                    return Ok(());
                } else if read > 0 {
                    continue;
                }
                self.block = None;
            }
            if !self.begin_block()? {
                self.has_line = false;
                return Ok(());
            }
            self.begin_lines()?;
            self.read_position()?;
        }
    }

    /// Compares the first line of the new block with its key.
    fn begin_lines(&mut self) -> io::Result<()> {
        let (Some(block), Some((key, _))) = (&mut self.block, &self.next_block) else {
            return Ok(());
        };
        let first = block.fill_buf().map_err(damaged)?;
        let first = &first[..first.len().min(key.len())];
        if key.starts_with(first) && !first.is_empty() {
            return Ok(());
        }
        Err(invalid("a block does not begin with its key"))
    }

    fn skip_lines_before(&mut self, target: &[u8]) -> io::Result<()> {
        while self.has_line && self.line.as_slice() < target {
            self.next_line()?;
        }
        Ok(())
    }

    fn seek_to(&mut self, target: &[u8]) -> io::Result<()> {
        // A key that begins the target may be that of a block with the target.
        let is_before = |line: &[u8]| {
            let key = line.split(|byte| *byte == b'\t').next().unwrap_or_default();
            key < target && !target.starts_with(key)
        };
        let last_before = seek_after(&mut self.idx, self.idx_length, is_before)?;
        self.idx.seek(SeekFrom::Start(last_before.unwrap_or(0)))?;
        self.block = None;
        self.was_moved = true;
        self.read_position()?;
        self.next_line()?;
        self.skip_lines_before(target)
    }
}

/// An error of a block: bytes that are not gzip are damage too.
fn damaged(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            invalid(format!("a block is damaged: {error}"))
        }
        _ => error,
    }
}

impl LineCursor for SegmentCursor {
    fn line(&self) -> Option<&[u8]> {
        self.has_line.then_some(&self.line)
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        self.next_line().map_err(at(&self.path))
    }

    fn position(&self) -> (&Path, u64) {
        (&self.path, self.block_offset)
    }
}

impl SeekCursor for SegmentCursor {
    fn seek(&mut self, target: &[u8]) -> Result<(), IndexError> {
        self.seek_to(target).map_err(at(&self.path))
    }

    fn seek_forward(&mut self, target: &[u8]) -> Result<(), IndexError> {
        let is_within_block = match &self.next_block {
            Some((key, _)) => key.as_slice() >= target,
            None => true,
        };
        let moved = if !self.was_moved {
            self.seek_to(target)
        } else if !self.has_line {
            Ok(())
        } else if is_within_block {
            self.skip_lines_before(target)
        } else {
            self.seek_to(target)
        };
        moved.map_err(at(&self.path))
    }
}
