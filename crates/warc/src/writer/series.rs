//! Writes a series of archive files, each up to a target size (section 10 of the WARC 0.9 draft).

use std::path::{Path, PathBuf};

use crate::draft::RecordDraft;
use crate::files::archive_file_name;
use crate::header::WarcDate;
use crate::writer::archive_file::remove;
use crate::writer::{ArchiveFile, ArchiveFileError, WriteOptions};

/// Number of serial numbers, which have five digits. No directory has that many files of one second.
const SERIALS: u32 = 100_000;

/// Files named `PREFIX-TIMESTAMP-SERIAL-HOST.warc.gz`, each created when its first record is written.
pub struct FileSeries {
    dir: PathBuf,
    prefix: String,
    host: String,
    options: WriteOptions,
    target_size: u64,
    serial: u32,
    current: Option<ArchiveFile>,
    finished: Vec<PathBuf>,
}

impl FileSeries {
    /// A series in a directory, which must exist when the first file is created. File size is not
    /// limited.
    pub fn new(dir: &Path, prefix: &str, host: &str) -> Self {
        Self {
            dir: dir.to_owned(),
            prefix: prefix.to_owned(),
            host: host.to_owned(),
            options: WriteOptions::default(),
            target_size: u64::MAX,
            serial: 0,
            current: None,
            finished: Vec::new(),
        }
    }

    /// Sets the options of all files.
    #[must_use]
    pub fn with_options(mut self, options: WriteOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the size in bytes from which a file is finished and the next one begins. Files are a
    /// little longer than that, because no record is cut; [`SegmentHeaders`](crate::segment::SegmentHeaders)
    /// divides records that are too long.
    #[must_use]
    pub fn with_target_size(mut self, bytes: u64) -> Self {
        self.target_size = bytes;
        self
    }

    /// The file to write to. For a new file, `now` gives its date, and `warcinfo` drafts its first
    /// record from the date and the file's name; `warcinfo` is called again if the name is taken.
    pub fn file<E: From<ArchiveFileError>>(
        &mut self,
        now: impl FnOnce() -> Result<WarcDate, E>,
        warcinfo: impl FnMut(&WarcDate, &str) -> Result<RecordDraft, E>,
    ) -> Result<&mut ArchiveFile, E> {
        let is_full = |file: &ArchiveFile| file.length() >= self.target_size;
        if self.current.as_ref().is_some_and(is_full) {
            self.end_file()?;
        }
        let file = match self.current.take() {
            Some(file) => file,
            None => self.begin(&now()?, warcinfo)?,
        };
        Ok(self.current.insert(file))
    }

    /// The file that was written to last, whatever its length: for records that belong to the one before.
    /// `None` before the first record.
    pub fn last_file(&mut self) -> Option<&mut ArchiveFile> {
        self.current.as_mut()
    }

    /// Creates the next file. The serial number distinguishes files of processes that start within the
    /// same second.
    fn begin<E: From<ArchiveFileError>>(
        &mut self,
        date: &WarcDate,
        mut warcinfo: impl FnMut(&WarcDate, &str) -> Result<RecordDraft, E>,
    ) -> Result<ArchiveFile, E> {
        loop {
            let name = archive_file_name(&self.prefix, date, self.serial, &self.host);
            let draft = warcinfo(date, &name)?;
            self.serial += 1;
            match ArchiveFile::create_with(self.options, &self.dir, &name, &draft) {
                Err(ArchiveFileError::Exists { .. }) if self.serial < SERIALS => {}
                created => return Ok(created?),
            }
        }
    }

    fn end_file(&mut self) -> Result<(), ArchiveFileError> {
        if let Some(file) = self.current.take() {
            self.finished.push(file.finish()?);
        }
        Ok(())
    }

    /// Removes all files of the series, the finished ones too.
    pub fn discard(self) -> Result<(), ArchiveFileError> {
        let mut finished = self.finished.iter();
        self.current.map_or(Ok(()), ArchiveFile::discard)?;
        finished.try_for_each(|path| remove(path))
    }

    /// Finishes the current file and returns all files of the series, in order.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, ArchiveFileError> {
        self.end_file()?;
        Ok(self.finished)
    }
}
