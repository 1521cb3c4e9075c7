//! The ledger of one domain in memory.

use std::path::Path;

use urldb_files::{Root, RootFile};
use urldb_format::Mapping;
use urldb_protocol::CertificateDates;

use super::entry;
use super::origins::KnownOrigins;
use super::pages::Pages;

/// The name of the file with the checks of the archive's places, which the archive reads and writes.
pub(crate) const ARCHIVE_FILE: &str = "archive.yaml";

#[derive(Debug, Default)]
pub(super) struct Domain {
    /// The dates of the certificate that the host showed last.
    pub(super) certificate: Option<CertificateDates>,
    /// The entries; `None` while only the files of the ledger have them.
    pub(super) pages: Option<Pages>,
    /// Whether the file of captures differs from the entries.
    pub(super) is_content_changed: bool,
    /// The last records about the hosts of its URLs, if they differ from their file.
    pub(super) changed_origins: Option<KnownOrigins>,
}

impl Domain {
    /// Whether nothing is known of the domain besides its entries.
    pub(super) fn is_empty(&self) -> bool {
        self.certificate.is_none() && self.changed_origins.is_none()
    }

    /// The first document of the file of statuses.
    pub(super) fn head(&self) -> Mapping {
        let mut metadata = Mapping::new();
        if let Some(certificate) = &self.certificate {
            metadata.insert("certificate", entry::certificate_mapping(certificate));
        }
        metadata
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
