//! The files of one process, one after another, each up to a target size (section 10 of the WARC 0.9
//! draft).

use std::path::{Path, PathBuf};

use crate::date::WarcDate;
use crate::file::{ArchiveFile, FileError, Style, file_name};
use crate::record::Draft;

/// Serial numbers have five digits, and no directory has so many files of one second.
const SERIALS: u32 = 100_000;

/// Files named `PREFIX-TIMESTAMP-SERIAL-HOST.warc.gz`. None exists before there is something to write.
pub struct Series {
    dir: PathBuf,
    prefix: String,
    host: String,
    style: Style,
    target_size: u64,
    serial: u32,
    current: Option<ArchiveFile>,
    finished: Vec<PathBuf>,
}

impl Series {
    /// A series in a directory, which must exist when the first file begins. Its files may grow
    /// without bound.
    pub fn new(dir: &Path, prefix: &str, host: &str) -> Self {
        Self {
            dir: dir.to_owned(),
            prefix: prefix.to_owned(),
            host: host.to_owned(),
            style: Style::default(),
            target_size: u64::MAX,
            serial: 0,
            current: None,
            finished: Vec::new(),
        }
    }

    /// The same in another style.
    #[must_use]
    pub fn with_style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Begins a new file once one has that many bytes. Files are a little longer than that, for a
    /// record is never cut: [`segment::split`](crate::segment::split) those that are too long.
    #[must_use]
    pub fn with_target_size(mut self, bytes: u64) -> Self {
        self.target_size = bytes;
        self
    }

    /// The file to write to now. Where a new one begins, `now` gives its date, and `warcinfo` drafts
    /// its first record from that and the name that it is to have; once more if that name is taken.
    pub fn file<E: From<FileError>>(
        &mut self,
        now: impl FnOnce() -> Result<WarcDate, E>,
        warcinfo: impl FnMut(&WarcDate, &str) -> Result<Draft, E>,
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

    /// Several processes may begin within one second: the serial number tells their files apart.
    fn begin<E: From<FileError>>(
        &mut self,
        date: &WarcDate,
        mut warcinfo: impl FnMut(&WarcDate, &str) -> Result<Draft, E>,
    ) -> Result<ArchiveFile, E> {
        loop {
            let name = file_name(&self.prefix, date, self.serial, &self.host);
            let draft = warcinfo(date, &name)?;
            self.serial += 1;
            match ArchiveFile::create_in(self.style, &self.dir, &name, &draft) {
                Err(FileError::Exists { .. }) if self.serial < SERIALS => {}
                created => return Ok(created?),
            }
        }
    }

    fn end_file(&mut self) -> Result<(), FileError> {
        if let Some(file) = self.current.take() {
            self.finished.push(file.finish()?);
        }
        Ok(())
    }

    /// Finishes the file that is being written, and returns all files of the series, in order.
    pub fn finish(mut self) -> Result<Vec<PathBuf>, FileError> {
        self.end_file()?;
        Ok(self.finished)
    }
}
