//! The two versions of a domain file, and their difference.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use urldb_format::{
    DifferenceKind, DomainFile, FileDifference, KeyChange, RecordDifference, RecordEntry,
    difference,
};
use urldb_text::{Code, Finding, variant_suffix};

use crate::database::lookup::url_text;
use crate::git::{ChangedFile, FileVersion, Repository};

/// Two versions of a domain file, read.
pub(super) struct Versions {
    pub(super) before: DomainFile,
    pub(super) after: DomainFile,
    pub(super) status: FileStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileStatus {
    Added,
    Removed,
    Changed,
    /// Its records were in the file of another host.
    Moved,
}

/// One of the two versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl Versions {
    /// Reads both versions; `None` if they have the same bytes.
    pub(super) fn read(
        repository: &Repository,
        file: &ChangedFile,
        path: &Path,
    ) -> anyhow::Result<Option<Self>> {
        let is_link = urldb_files::is_link(path);
        let read = |version: &FileVersion| {
            Ok::<_, anyhow::Error>(match version {
                FileVersion::Absent => VersionBytes::Bytes(vec![]),
                FileVersion::Blob(id) => VersionBytes::Bytes(repository.read_blob(id)?),
                // A link is read where the database allows it.
                FileVersion::OnDisk if is_link => VersionBytes::OnDisk,
                FileVersion::OnDisk => match DomainFile::read_bytes(path) {
                    Ok(bytes) => VersionBytes::Bytes(bytes),
                    Err(_) => VersionBytes::OnDisk,
                },
                FileVersion::Link(_) | FileVersion::Submodule => {
                    let message = "a symbolic link or a submodule is no domain file";
                    VersionBytes::Mistake(Finding::new(Code::UnreadableFile, 1, message))
                }
                FileVersion::Unmerged => {
                    let message = "the file has an unresolved conflict in the index";
                    let finding = Finding::new(Code::UnmergedFile, 1, message);
                    VersionBytes::Mistake(finding.with_help("`urldb resolve` merges the file"))
                }
            })
        };
        let (before, after) = (read(&file.before)?, read(&file.after)?);
        let status = match (&file.before, &file.after) {
            (FileVersion::Absent, _) => FileStatus::Added,
            (_, FileVersion::Absent) => FileStatus::Removed,
            _ => FileStatus::Changed,
        };
        if let (VersionBytes::Bytes(before), VersionBytes::Bytes(after)) = (&before, &after)
            && before == after
            && status == FileStatus::Changed
        {
            return Ok(None);
        }
        Ok(Some(Self {
            before: before.parse(path),
            after: after.parse(path),
            status,
        }))
    }

    /// The difference. `name` is the file for people.
    pub(super) fn compare(&self, name: String) -> ComparedFile<'_> {
        ComparedFile {
            name,
            before: &self.before,
            after: &self.after,
            status: self.status,
            difference: difference(&self.before, &self.after),
        }
    }
}

enum VersionBytes {
    Bytes(Vec<u8>),
    OnDisk,
    Mistake(Finding),
}

impl VersionBytes {
    fn parse(self, path: &Path) -> DomainFile {
        match self {
            Self::Bytes(bytes) => DomainFile::parse(path, &bytes).file,
            Self::OnDisk => DomainFile::read_or_report(path).file,
            Self::Mistake(finding) => DomainFile::unreadable(path, finding),
        }
    }
}

/// A domain file and its difference.
pub(super) struct ComparedFile<'a> {
    /// The path relative to the root, sanitized.
    pub(super) name: String,
    before: &'a DomainFile,
    after: &'a DomainFile,
    pub(super) status: FileStatus,
    pub(super) difference: FileDifference<'a>,
}

impl<'a> ComparedFile<'a> {
    /// Whether records or metadata differ, or could not be compared.
    pub(super) fn differs(&self) -> bool {
        let FileDifference {
            metadata, records, ..
        } = &self.difference;
        let is_new_or_gone = self.status != FileStatus::Changed;
        let mut mistakes = self.mistakes();
        is_new_or_gone || !metadata.is_empty() || !records.is_empty() || mistakes.next().is_some()
    }

    pub(super) fn host(&self) -> &'a str {
        self.after.host()
    }

    /// The host that the records were of before, if they moved.
    pub(super) fn former_host(&self) -> Option<&'a str> {
        (self.status == FileStatus::Moved).then(|| self.before.host())
    }

    /// The metadata that changed between two versions.
    pub(super) fn changed_metadata(&self) -> &[KeyChange] {
        match self.status {
            FileStatus::Changed | FileStatus::Moved => &self.difference.metadata,
            FileStatus::Added | FileStatus::Removed => &[],
        }
    }

    /// The first mistake of each version because of which some of it was not understood.
    pub(super) fn mistakes(&self) -> impl Iterator<Item = (Side, &'a Finding)> + use<'a> {
        let first = |file: &'a DomainFile| file.blocking_findings().first();
        let before = first(self.before).map(|finding| (Side::Before, finding));
        let after = first(self.after).map(|finding| (Side::After, finding));
        before.into_iter().chain(after)
    }

    /// Whether the changed metadata change the requests.
    pub(super) fn changes_metadata_promise(&self) -> bool {
        self.changed_metadata().iter().any(|key| key.is_promise)
    }

    /// The URL of a record, over the first scheme that runs use; host and path, if they make no URL.
    pub(super) fn url(&self, record: &RecordDifference<'_>) -> String {
        let (file, entry) = self.version_of(record);
        let metadata = file.metadata();
        let record = entry.map(RecordEntry::record);
        let path = record.map_or("", |record| record.path.as_str());
        let scheme = record.map_or_else(|| metadata.scheme(), |it| metadata.scheme_of(it));
        url_text(scheme, file.host(), path)
    }

    /// The request headers that tell the record from others of its URL, one a line.
    pub(super) fn variant(&self, record: &RecordDifference<'_>) -> Option<String> {
        let (file, entry) = self.version_of(record);
        file.metadata().variant_of(entry?.record())
    }

    /// The URL of a record, and its variant.
    pub(super) fn name(&self, record: &RecordDifference<'_>) -> String {
        let variant = self.variant(record);
        self.url(record) + &variant_suffix(variant.as_deref())
    }

    /// The last version that has the record.
    fn version_of<'r>(
        &self,
        record: &RecordDifference<'r>,
    ) -> (&'a DomainFile, Option<&'r RecordEntry>) {
        match (record.after, record.before) {
            (Some(entry), _) => (self.after, Some(entry)),
            (None, entry) => (self.before, entry),
        }
    }

    /// The number of records that could not be compared.
    pub(super) fn unknown(&self) -> u64 {
        self.difference
            .records
            .iter()
            .filter(|record| record.kind == DifferenceKind::Unknown)
            .count() as u64
    }
}

/// The method of a record's request, unless that is GET.
pub(super) fn method(entry: &RecordEntry) -> Option<&str> {
    entry
        .record()
        .method
        .as_deref()
        .filter(|method| *method != "GET")
}

/// Numbers of records and files.
#[derive(Debug, Default, Serialize)]
pub(super) struct Totals {
    pub(super) added: u64,
    pub(super) removed: u64,
    pub(super) changed: u64,
    /// Of the changed records, those whose promise changed.
    pub(super) promises_changed: u64,
    /// Domains whose records are in the file of another host now.
    pub(super) domains_moved: u64,
    /// Records that could not be compared.
    pub(super) not_compared: u64,
    /// Files whose metadata changed.
    pub(super) metadata_changed: u64,
    /// Files of which some was not understood.
    pub(super) files_with_mistakes: u64,
    /// Files that differ in formatting and comments only.
    pub(super) files_with_other_form: u64,
}

impl Totals {
    pub(super) fn add(&mut self, file: &ComparedFile<'_>) {
        for record in &file.difference.records {
            match record.kind {
                DifferenceKind::Added => self.added += 1,
                DifferenceKind::Removed => self.removed += 1,
                DifferenceKind::Changed => self.changed += 1,
                DifferenceKind::Unknown => self.not_compared += 1,
            }
            self.promises_changed += u64::from(record.changes_promise());
        }
        self.domains_moved += u64::from(file.status == FileStatus::Moved);
        self.metadata_changed += u64::from(!file.changed_metadata().is_empty());
        self.files_with_mistakes += u64::from(file.mistakes().next().is_some());
        self.files_with_other_form += u64::from(!file.differs());
    }

    /// `2 records added, 1 removed, 3 changed (1 promise changed), 1 domain moved`.
    pub(super) fn sentence(&self) -> String {
        let numbers = [
            (self.added, "added"),
            (self.removed, "removed"),
            (self.changed, "changed"),
        ];
        let mut parts: Vec<String> = vec![];
        for (number, what) in numbers.into_iter().filter(|(number, _)| *number > 0) {
            let number = if parts.is_empty() {
                count(number, "record")
            } else {
                urldb_render::numbers::number(number)
            };
            parts.push(format!("{number} {what}"));
        }
        if parts.is_empty() {
            parts.push("no record differs".to_owned());
        }
        let mut sentence = parts.join(", ");
        if self.promises_changed > 0 {
            let promises = count(self.promises_changed, "promise");
            let _ = write!(sentence, " ({promises} changed)");
        }
        if self.domains_moved > 0 {
            let _ = write!(sentence, ", {} moved", count(self.domains_moved, "domain"));
        }
        if self.metadata_changed > 0 {
            let files = count(self.metadata_changed, "file");
            let _ = write!(sentence, ", metadata of {files} changed");
        }
        sentence
    }

    /// The sentence about a single file, whose line says that it moved.
    pub(super) fn of_file(&self) -> String {
        let totals = Self {
            domains_moved: 0,
            metadata_changed: 0,
            ..*self
        };
        let metadata = if self.metadata_changed > 0 {
            ", metadata changed"
        } else {
            ""
        };
        totals.sentence() + metadata
    }

    /// Notes on files and records that were not compared, and on files that differ in form only.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = vec![];
        if self.files_with_mistakes > 0 {
            let files = count(self.files_with_mistakes, "file");
            let records = count(self.not_compared, "record");
            notes.push(format!(
                "mistakes in {files}: {records} could not be compared"
            ));
        }
        if self.files_with_other_form > 0 {
            let files = count(self.files_with_other_form, "file");
            notes.push(format!("{files} with other formatting or comments only"));
        }
        notes
    }
}

/// `1 record`, `1,024 records`.
pub(super) fn count(number: u64, noun: &str) -> String {
    urldb_render::numbers::count(number, noun).replace(urldb_render::numbers::NO_BREAK, " ")
}
