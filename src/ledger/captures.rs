//! The archived content of each job: a file for each domain, beside the file with the statuses.
//!
//! Statuses change often, content seldom, and digests and record ids take most of the room. In one file,
//! each news about one URL would make git store those of all URLs of the domain again, unless git happens
//! to compare the file with its own earlier version. Git compares files of similar names, and among
//! them files of similar sizes. Of a name, it looks at the last sixteen characters, above all at the
//! last ones. So the name of the file ends with a part that depends on the domain.

use urldb_files::{Root, RootFile};

use super::documents::has_contents;
use super::entry::Entry;
use super::names::name_of;
use super::origins::KnownOrigin;

/// The folder of the files.
pub fn folder(ledger: &Root) -> Root {
    ledger.folder("captures")
}

pub(super) fn file_of(ledger: &Root, domain: &str) -> RootFile {
    folder(ledger).file(name_of(domain))
}

/// Whether [`Ledger::save`](super::Ledger::save) wrote this file.
pub(super) fn is_ours(file: &RootFile) -> bool {
    let is_named = file.name().extension().is_some_and(|it| it == "yaml");
    is_named && has_contents(file).unwrap_or(false)
}

/// A capture that an entry of the ledger refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerCapture {
    /// The name of the archive file.
    pub file: String,
    /// The `WARC-Date` and `WARC-Target-URI` of its record, and the digest of its payload. They are empty for
    /// an error page or an incomplete body, of which the ledger knows the file alone.
    pub date: String,
    /// See `date`.
    pub uri: String,
    /// See `date`.
    pub digest: String,
}

impl LedgerCapture {
    /// The record about a host.
    pub(super) fn of_origin(uri: String, known: KnownOrigin) -> Self {
        Self {
            file: known.file,
            date: known.since.to_string(),
            uri,
            digest: known.digest,
        }
    }

    /// The captures of an entry.
    pub(super) fn of(entry: &Entry) -> impl Iterator<Item = Self> {
        let content = entry.content.as_ref();
        let content = content.and_then(|content| {
            let capture = content.capture.as_ref()?;
            Some(Self {
                file: capture.file.clone(),
                date: capture.date.clone(),
                uri: capture.uri.clone(),
                digest: capture
                    .digest
                    .clone()
                    .unwrap_or_else(|| content.digest.clone()),
            })
        });
        let bad = entry.bad_response.as_ref().map(|bad| Self {
            file: bad.file.clone(),
            date: String::new(),
            uri: String::new(),
            digest: String::new(),
        });
        content.into_iter().chain(bad)
    }
}
