//! The ledger of one domain in memory.

#[cfg(test)]
mod order_tests;

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use urldb_files::{Root, RootFile};
use urldb_format::{Mapping, write_documents};
use urldb_protocol::CertificateDates;

use super::captures;
use super::documents::{documents, parse_head};
use super::entries::{Entries, EntryFile};
use super::entry;
use super::origins::KnownOrigins;
use super::spool::{Spool, SpooledEntries};

/// The name of the file with the checks of the archive's places, which the archive reads and writes.
pub(crate) const ARCHIVE_FILE: &str = "archive.yaml";

#[derive(Debug, Default)]
pub(super) struct Domain {
    /// The dates of the certificate that the host showed last.
    pub(super) certificate: Option<CertificateDates>,
    /// The entries in memory.
    pub(super) entries: Option<Entries>,
    /// The same entries in the temporary file, if they differ from the files of the ledger.
    pub(super) aside: Option<SpooledEntries>,
    /// Whether the file of captures differs from the entries.
    pub(super) is_content_changed: bool,
    /// The last records about the hosts of its URLs, if they differ from their file.
    pub(super) changed_origins: Option<KnownOrigins>,
}

impl Domain {
    /// The entries and the certificate in the files of a domain.
    ///
    /// # Errors
    /// When a file cannot be read, or has another form than this program writes.
    pub(super) fn read(folder: &Root, domain: &str) -> anyhow::Result<Self> {
        let (file, captures) = (file_of(folder, domain), captures::file_of(folder, domain));
        let mut entries = Entries::new(domain);
        let mut read = || {
            let mut statuses = documents(&file)?;
            let head = statuses.next().transpose()?;
            entries.read_statuses(statuses)?;
            head.map_or(Ok(None), |head| parse_head(&head.mapping))
        };
        let certificate = read().with_context(|| format!("cannot use {file}"))?;
        documents(&captures)
            .and_then(|contents| entries.read_contents(contents.skip(1)))
            .with_context(|| format!("cannot use {captures}"))?;
        Ok(Self {
            certificate,
            entries: Some(entries),
            ..Self::default()
        })
    }

    /// Whether nothing is known of the domain besides its entries.
    pub(super) fn is_empty(&self) -> bool {
        self.certificate.is_none() && self.changed_origins.is_none()
    }

    /// Writes the file of statuses of a domain whose entries are open or put aside.
    ///
    /// # Errors
    /// When the temporary file cannot be read, or the file cannot be written.
    pub(super) fn save_statuses(&self, file: &RootFile, spool: &Spool) -> anyhow::Result<()> {
        let mut metadata = Mapping::new();
        if let Some(certificate) = &self.certificate {
            metadata.insert("certificate", entry::certificate_mapping(certificate));
        }
        self.write(EntryFile::Statuses, file, &metadata, spool)
    }

    /// As [`Self::save_statuses`] for the file of captures, which is removed if there is no content.
    ///
    /// # Errors
    /// As [`Self::save_statuses`], and when the file cannot be removed.
    pub(super) fn save_captures(&self, file: &RootFile, spool: &Spool) -> anyhow::Result<()> {
        let has_content = match (&self.entries, &self.aside) {
            (Some(entries), _) => entries.have_content(),
            (None, aside) => aside
                .as_ref()
                .is_some_and(|[_, contents]| !contents.is_empty()),
        };
        if has_content {
            return self.write(EntryFile::Captures, file, &Mapping::new(), spool);
        }
        let removed = file.remove();
        removed
            .with_context(|| format!("cannot remove {file}"))
            .map(drop)
    }

    fn write(
        &self,
        which: EntryFile,
        file: &RootFile,
        first: &Mapping,
        spool: &Spool,
    ) -> anyhow::Result<()> {
        file.replace_with(|out| -> anyhow::Result<()> {
            out.write_all(write_documents([first]).as_bytes())?;
            if let Some(entries) = &self.entries {
                entries.write(which, out)?;
            } else if let Some(aside) = &self.aside {
                io::copy(&mut spool.part(&aside[which as usize])?, out)?;
            }
            Ok(())
        })
        .with_context(|| format!("cannot write {file}"))
    }
}

/// The file of the statuses of a domain. The name of the host `archive` would be that of the checks of the
/// archive, so its file has a name that no host has.
pub(super) fn file_of(ledger: &Root, domain: &str) -> RootFile {
    let name = format!("{domain}.yaml");
    if name == ARCHIVE_FILE {
        return ledger.file(format!("+{name}"));
    }
    ledger.file(name)
}

/// The domain whose statuses are in a file of this name.
pub(super) fn domain_of(name: &Path) -> Option<String> {
    let domain = name.to_str()?.strip_suffix(".yaml")?;
    let is_moved = domain
        .strip_prefix('+')
        .filter(|name| ARCHIVE_FILE.starts_with(name));
    Some(is_moved.unwrap_or(domain).to_owned())
}
