//! Entries that are not in memory, in a temporary file beside the ledger.
//!
//! The file has no name, so that it ends with the process, and a killed run leaves nothing.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use anyhow::Context;
use urldb_files::Root;

/// Texts of pages, one after another.
#[derive(Debug)]
pub(super) struct Spool {
    folder: Root,
    file: SpoolFile,
}

#[derive(Debug)]
enum SpoolFile {
    New,
    Open { file: File, end: u64 },
    Unusable,
}

/// The offset and the lengths of the texts of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpooledPage {
    offset: u64,
    /// Length of the text of statuses, in bytes.
    statuses: usize,
    /// Length of the text of captures.
    contents: usize,
}

impl SpooledPage {
    /// Whether an entry of the page has content.
    pub(super) fn has_content(self) -> bool {
        self.contents > 0
    }
}

impl Spool {
    /// A spool for the ledger in this folder.
    pub(super) fn new(folder: &Root) -> Self {
        Self {
            folder: folder.clone(),
            file: SpoolFile::New,
        }
    }

    /// Adds the texts of a page; `None` if they cannot be written.
    pub(super) fn add(&mut self, statuses: &str, contents: &str) -> Option<SpooledPage> {
        let added = self.try_add(statuses, contents);
        if added.is_err() && matches!(self.file, SpoolFile::New) {
            self.file = SpoolFile::Unusable;
        }
        added.ok()
    }

    fn try_add(&mut self, statuses: &str, contents: &str) -> io::Result<SpooledPage> {
        if matches!(self.file, SpoolFile::New) {
            let file = self.folder.unnamed_file()?;
            self.file = SpoolFile::Open { file, end: 0 };
        }
        let SpoolFile::Open { file, end } = &mut self.file else {
            return Err(io::ErrorKind::Other.into());
        };
        let offset = *end;
        // After a failure, the next texts come in the place of these.
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(statuses.as_bytes())?;
        file.write_all(contents.as_bytes())?;
        *end = file.stream_position()?;
        Ok(SpooledPage {
            offset,
            statuses: statuses.len(),
            contents: contents.len(),
        })
    }

    /// The text of statuses, and that of captures.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub(super) fn read(&mut self, of: SpooledPage) -> anyhow::Result<[String; 2]> {
        let SpoolFile::Open { file, .. } = &mut self.file else {
            anyhow::bail!("the ledger has no temporary file");
        };
        let mut read = || -> io::Result<[String; 2]> {
            file.seek(SeekFrom::Start(of.offset))?;
            Ok([read_text(file, of.statuses)?, read_text(file, of.contents)?])
        };
        read().context("cannot read the ledger's temporary file")
    }
}

fn read_text(file: &mut File, length: usize) -> io::Result<String> {
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
