//! The records of a domain file about which lists say something.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use urldb_format::{DomainReader, Metadata, RecordIdentity};
use urldb_interchange::{ListItem, Location};
use urldb_text::{Code, Finding};

use super::follow::KnownRecord;

/// The metadata of a domain file, and the records that a source has, or that the items are about.
pub(super) fn known_records(
    path: &Path,
    name: &Arc<str>,
    items: &[ListItem],
) -> anyhow::Result<(Metadata, Vec<KnownRecord>)> {
    let mut file = DomainReader::open(path)?;
    let metadata = file.metadata().clone();
    let wanted = items.iter().map(|item| metadata.identity_of(&item.record));
    let wanted: BTreeSet<RecordIdentity> = wanted.collect();
    let paths: HashSet<&str> = items.iter().map(|item| &*item.record.path).collect();
    let mut known = vec![];
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
                "{name}:{line} has conflict markers: mend the list, then run `urldb resolve`"
            );
            anyhow::bail!("{name}:{line}: {message}; mend it first");
        }
        let may_be_wanted = metadata.case_sensitive_paths == Some(false)
            || document.path().is_some_and(|path| paths.contains(path));
        if !may_be_wanted && document.sources().is_empty() {
            continue;
        }
        let Some(entry) = document.to_entry() else {
            continue;
        };
        let record = entry.record();
        if !record.source.is_empty() || wanted.contains(&metadata.identity_of(record)) {
            known.push(KnownRecord {
                record: record.clone(),
                location: Location::line(name, entry.line() as u64),
            });
        }
    }
    Ok((metadata, known))
}

/// Whether a record may be unknown because of the finding.
fn hides_records(finding: &Finding) -> bool {
    finding.is_error() && finding.code != Code::DuplicateRecord
}
