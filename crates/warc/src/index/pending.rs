//! Index lines of archive files that are not finished yet.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufReader, BufWriter, IntoInnerError, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use tempfile::SpooledTempFile;

use super::error::{IndexError, at};
use super::lines::{read_line, render, write_line};
use super::update::IndexUpdate;
use crate::cdxj::CdxjLine;
use crate::files::names::INDEX_DIRECTORY;

/// Bytes of compressed lines in memory. More lines go into a temporary file.
const IN_MEMORY: usize = 1024 * 1024;

/// The lines of records, which wait for the end of their archive files: an index refers to finished files
/// only. Memory does not grow with the number of lines. The lines are lost with the process; then
/// [`complete_index`](super::complete_index) reads the files.
pub struct PendingLines {
    dir: PathBuf,
    /// Buffered, since the encoder clears its own buffer at each write.
    lines: BufWriter<GzEncoder<SpooledTempFile>>,
    files: BTreeSet<String>,
}

impl PendingLines {
    /// No lines for the index in the directory of an archive. The directory must exist once there are many
    /// lines.
    pub fn new(dir: &Path) -> Self {
        let file = SpooledTempFile::new_in(IN_MEMORY, dir);
        Self {
            dir: dir.to_owned(),
            lines: BufWriter::new(GzEncoder::new(file, Compression::fast())),
            files: BTreeSet::new(),
        }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When the line cannot be in an index, or the temporary file cannot be written.
    pub fn add(&mut self, line: &CdxjLine) -> Result<(), IndexError> {
        let rendered = render(&self.dir.join(INDEX_DIRECTORY), line)?;
        write_line(&mut self.lines, &rendered).map_err(at(&self.dir))?;
        if !self.files.contains(&line.filename) {
            self.files.insert(line.filename.clone());
        }
        Ok(())
    }

    /// Adds all lines to the index, which is created if missing. Afterwards their archive files count as
    /// indexed.
    ///
    /// # Errors
    /// When the temporary file cannot be read, or the index cannot be written.
    pub fn merge_into_index(self) -> Result<(), IndexError> {
        let mut update = IndexUpdate::new(&self.dir);
        let lines = self.lines.into_inner();
        let lines = lines.map_err(IntoInnerError::into_error);
        let mut file = lines.and_then(GzEncoder::finish).map_err(at(&self.dir))?;
        file.seek(SeekFrom::Start(0)).map_err(at(&self.dir))?;
        let mut lines = BufReader::new(GzDecoder::new(BufReader::new(file)));
        let mut line = Vec::new();
        while read_line(&mut lines, &mut line).map_err(at(&self.dir))? > 0 {
            update.add_rendered(std::mem::take(&mut line))?;
        }
        update.files = self.files;
        update.finish()
    }
}

impl fmt::Debug for PendingLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingLines")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
