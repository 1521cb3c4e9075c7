//! The domain file that lists say something about, record by record.

use std::path::Path;
use std::sync::Arc;

use urldb_format::{DocumentRef, DomainReader, Metadata};
use urldb_interchange::{ListItem, Location};
use urldb_text::{Code, Finding};

use super::merge::{Merge, MergePolicy};
use super::outcome::KnownRecord;
use super::variants::with_vary;

/// The metadata for a merge.
pub(super) struct KnownMetadata {
    pub(super) metadata: Metadata,
    /// Whether the metadata name headers in `vary` that the file lacks.
    pub(super) has_new_vary: bool,
}

/// The metadata of a domain file, or of a new one. In a file whose records are all of sources, `vary` names the headers
/// by which the items differ.
pub(super) fn metadata_of(
    path: &Path,
    items: &[Box<ListItem>],
    policy: MergePolicy<'_>,
) -> anyhow::Result<KnownMetadata> {
    if !urldb_files::is_there(path) {
        return Ok(KnownMetadata {
            metadata: with_vary(&policy.metadata_for(items), items),
            has_new_vary: false,
        });
    }
    let metadata = DomainReader::open(path)?.metadata().clone();
    let varied = with_vary(&metadata, items);
    // An import changes no metadata.
    let has_new_vary = policy.is_follow() && varied != metadata && is_of_lists(path)?;
    Ok(KnownMetadata {
        metadata: if has_new_vary { varied } else { metadata },
        has_new_vary,
    })
}

/// Whether every record of a domain file is of a source.
fn is_of_lists(path: &Path) -> anyhow::Result<bool> {
    let mut file = DomainReader::open(path)?;
    while let Some(document) = file.next()? {
        if document.path().is_some() && !document.has_source() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Merges the records of a domain file. `name` is that of the file, as messages show it.
pub(super) fn merge_file(
    merge: &mut Merge<'_>,
    path: &Path,
    name: &Arc<str>,
    policy: MergePolicy<'_>,
) -> anyhow::Result<()> {
    if !urldb_files::is_there(path) {
        return Ok(());
    }
    let mut file = DomainReader::open(path)?;
    while let Some(document) = file.next()? {
        refuse_hidden_records(&document, name, policy)?;
        if !document.has_source() && !document.path().is_some_and(|it| merge.may_have(it)) {
            continue;
        }
        if let Some(entry) = document.to_entry() {
            merge.add(KnownRecord {
                location: Location::line(name, entry.line() as u64),
                record: entry.into_owned().into_record(),
            });
        }
    }
    Ok(())
}

fn refuse_hidden_records(
    document: &DocumentRef<'_>,
    name: &str,
    policy: MergePolicy<'_>,
) -> anyhow::Result<()> {
    let blocked = document.findings().iter().find(|it| hides_records(it));
    let Some(Finding {
        code,
        line,
        message,
        ..
    }) = blocked
    else {
        return Ok(());
    };
    anyhow::ensure!(
        *code != Code::ConflictMarker,
        "{name}:{line} has conflict markers: {}run `urldb resolve`",
        if policy.is_follow() {
            "mend the list, then "
        } else {
            ""
        }
    );
    anyhow::bail!("{name}:{line}: {message}; mend it first")
}

/// Whether a record may be unknown because of the finding.
fn hides_records(finding: &Finding) -> bool {
    finding.is_error() && finding.code != Code::DuplicateRecord
}
