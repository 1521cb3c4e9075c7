//! The records of a domain file about which lists say something.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use urldb_format::{DomainReader, Metadata, RecordIdentity};
use urldb_interchange::{ListItem, Location};
use urldb_text::{Code, Finding};

use super::merge::MergePolicy;
use super::outcome::KnownRecord;
use super::variants::with_vary;

/// A domain file, as far as lists say something about it.
pub(super) struct KnownFile {
    pub(super) metadata: Metadata,
    /// The records that a source has, or that the items are about.
    pub(super) records: Vec<KnownRecord>,
    /// Whether the metadata name headers in `vary` that the file lacks.
    pub(super) has_new_vary: bool,
}

/// Reads a domain file, or makes the metadata of a new one. In a file whose records are all of sources, `vary` names
/// the headers by which the items differ.
pub(super) fn known_file(
    path: &Path,
    name: &Arc<str>,
    items: &[ListItem],
    policy: MergePolicy<'_>,
) -> anyhow::Result<KnownFile> {
    if !urldb_files::is_there(path) {
        return Ok(KnownFile {
            metadata: with_vary(&policy.metadata_for(items), items),
            records: vec![],
            has_new_vary: false,
        });
    }
    let (mut metadata, records, is_of_lists) = read(path, name, items, policy)?;
    let stated = metadata.vary.len();
    if is_of_lists {
        metadata = with_vary(&metadata, items);
    }
    Ok(KnownFile {
        has_new_vary: metadata.vary.len() > stated,
        metadata,
        records,
    })
}

/// The metadata of a domain file, its records about which lists say something, and whether a source has every record.
fn read(
    path: &Path,
    name: &Arc<str>,
    items: &[ListItem],
    policy: MergePolicy<'_>,
) -> anyhow::Result<(Metadata, Vec<KnownRecord>, bool)> {
    let mut file = DomainReader::open(path)?;
    let metadata = file.metadata().clone();
    let wanted = items.iter().map(|item| metadata.identity_of(&item.record));
    let wanted: BTreeSet<RecordIdentity> = wanted.collect();
    let paths: HashSet<&str> = items.iter().map(|item| &*item.record.path).collect();
    // An import changes no metadata.
    let (mut records, mut is_of_lists) = (vec![], policy.is_follow());
    while let Some(document) = file.next()? {
        let blocked = document.findings().iter().find(|it| hides_records(it));
        if let Some(Finding {
            code,
            line,
            message,
            ..
        }) = blocked
        {
            anyhow::ensure!(
                *code != Code::ConflictMarker,
                "{name}:{line} has conflict markers: {}run `urldb resolve`",
                if policy.is_follow() {
                    "mend the list, then "
                } else {
                    ""
                }
            );
            anyhow::bail!("{name}:{line}: {message}; mend it first");
        }
        is_of_lists &= document.path().is_none() || document.has_source();
        let may_be_wanted = metadata.case_sensitive_paths == Some(false)
            || document.path().is_some_and(|path| paths.contains(path));
        if !may_be_wanted && !document.has_source() {
            continue;
        }
        let Some(entry) = document.to_entry() else {
            continue;
        };
        let record = entry.record();
        if !record.source.is_empty() || wanted.contains(&metadata.identity_of(record)) {
            records.push(KnownRecord {
                record: record.clone(),
                location: Location::line(name, entry.line() as u64),
            });
        }
    }
    Ok((metadata, records, is_of_lists))
}

/// Whether a record may be unknown because of the finding.
fn hides_records(finding: &Finding) -> bool {
    finding.is_error() && finding.code != Code::DuplicateRecord
}
