//! Records that a killed command has written and not committed: the same command with `--commit` finds its
//! work done, and commits it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use urldb_canon::Scheme;
use urldb_format::{DomainFile, Record, RecordEntry, RecordIdentity};

use super::{PlannedCommit, domain_file_name};
use crate::cli::Context;
use crate::git::FileVersion;

/// A record that differs between the last commit and the disk.
#[derive(Debug)]
pub(crate) struct UncommittedRecord {
    /// The domain file.
    pub(crate) file: PathBuf,
    /// The scheme of URLs in the file on disk.
    pub(crate) scheme: Scheme,
    /// The record in the last commit, if it has one.
    pub(crate) before: Option<Record>,
    /// The record on disk, if there is one.
    pub(crate) now: Option<Record>,
}

impl UncommittedRecord {
    /// Whether a list owns the record, or owned it.
    pub(crate) fn is_listed(&self) -> bool {
        let mut records = [&self.before, &self.now].into_iter().flatten();
        records.any(|record| !record.source.is_empty())
    }
}

/// The records that differ, each with the host of its domain file.
pub(crate) type UncommittedRecords = BTreeMap<(String, RecordIdentity), UncommittedRecord>;

/// Compares the records of all domain files on disk with the last commit. A file that cannot be read has no
/// records here: the command that wants the file says so. Without a commit to make, there are none.
///
/// # Errors
/// When git fails.
pub(crate) fn uncommitted_records(
    commit: Option<&PlannedCommit>,
    context: &Context,
) -> anyhow::Result<UncommittedRecords> {
    let mut records = UncommittedRecords::new();
    let Some(PlannedCommit { repository, .. }) = commit else {
        return Ok(records);
    };
    let folder = repository.relative(&context.database())?;
    let comparison = repository.comparison(None, false)?;
    for changed in repository.changed_files(&comparison, &folder)? {
        let Some(name) = domain_file_name(&changed.path, &folder) else {
            continue;
        };
        if changed.after == FileVersion::Absent {
            continue;
        }
        let host = urldb_format::host_of(name);
        let file = context.domain_file(&host);
        let before = match &changed.before {
            FileVersion::Blob(id) => repository.read_blob(id)?,
            _ => vec![],
        };
        let before = DomainFile::parse(&file, &before).file;
        let now = DomainFile::read_or_report(&file).file;
        for (version, is_before) in [(&before, true), (&now, false)] {
            for record in version.records().map(RecordEntry::record) {
                let identity = now.metadata().exact_identity_of(record);
                let of_file = records.entry((host.clone(), identity));
                let found = of_file.or_insert_with(|| UncommittedRecord {
                    file: file.clone(),
                    scheme: now.metadata().scheme(),
                    before: None,
                    now: None,
                });
                let side = if is_before {
                    &mut found.before
                } else {
                    &mut found.now
                };
                *side = Some(record.clone());
            }
        }
    }
    records.retain(|_, record| record.before != record.now);
    Ok(records)
}
