//! Changed entries of closed domains, as texts in a temporary file beside the ledger.
//!
//! The file has no name, so that it ends with the process, and a killed run leaves nothing.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use anyhow::Context;
use urldb_files::Root;

use super::documents::documents_in;
use super::entries::{Entries, EntryFile};

/// The temporary file, which is made for the first domain.
#[derive(Debug)]
pub(super) struct Spool {
    folder: Root,
    file: Option<File>,
}

/// The bytes of the statuses of a domain, and those of its captures.
pub(super) type SpooledEntries = [Range<u64>; 2];

impl Spool {
    /// A spool for the ledger in this folder.
    pub(super) fn new(folder: &Root) -> Self {
        Self {
            folder: folder.clone(),
            file: None,
        }
    }

    /// Adds the entries of a domain.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub(super) fn add(&mut self, entries: &Entries) -> anyhow::Result<SpooledEntries> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.folder.unnamed_file()?),
        };
        let start = file.seek(SeekFrom::End(0))?;
        entries.write(EntryFile::Statuses, file)?;
        let middle = file.stream_position()?;
        entries.write(EntryFile::Captures, file)?;
        Ok([start..middle, middle..file.stream_position()?])
    }

    /// The entries of a domain.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub(super) fn read(&self, domain: &str, parts: &SpooledEntries) -> anyhow::Result<Entries> {
        let mut entries = Entries::new(domain);
        let [statuses, contents] = parts;
        let mut read = || {
            entries.read_statuses(documents_in(self.part(statuses)?))?;
            entries.read_contents(documents_in(self.part(contents)?))
        };
        read().context("cannot read the ledger's temporary file")?;
        Ok(entries)
    }

    /// The text of a part.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn part(&self, part: &Range<u64>) -> io::Result<impl Read> {
        let mut file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?;
        file.seek(SeekFrom::Start(part.start))?;
        Ok(file.take(part.end - part.start))
    }
}
