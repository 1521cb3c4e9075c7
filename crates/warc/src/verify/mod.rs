//! Verifies an archive: reads every byte, computes every digest, follows every reference, and compares
//! the index with the records.
//!
//! Findings are reported as they occur. The verifier keeps a few hashes of each record until the end,
//! of small and fixed size, to check references between records.

mod block;
mod captures;
mod fields;
mod references;
mod report;
mod segments;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

pub use self::block::{CopiedPayload, CopyError, copy_payload};
use self::captures::ExpectedCaptures;
use self::references::References;
pub use self::report::{ArchiveFinding, VerifySummary};
use self::report::{FindingLocation, LateFinding, RecordFindings, Reporter};
use self::segments::{SegmentedRecord, SegmentedRecords};
use crate::cdxj::SortKeys;
use crate::extent::Extent;
use crate::files::{FileSource, is_archive_name, is_unread_name, open_at};
use crate::finding::FindingCode;
use crate::fs::{self, FileError};
use crate::header::Header;
use crate::header::id::strip_brackets;
use crate::http::StoredRequest;
use crate::index::{CdxjIndex, INDEX_DIRECTORY, IndexError};
use crate::parallel::{MemorySize, ScanEvent, read_records};
use crate::reader::{Deviation, ReadError, Record, SkippedRange};

/// Verifies the finished files in an archive's directory, sorted by name, and the index if it exists.
/// `keys` makes the keys that the index should have.
pub fn verify_archive(
    dir: &Path,
    keys: &dyn SortKeys,
    report: &mut dyn FnMut(ArchiveFinding),
) -> io::Result<VerifySummary> {
    let names = dir.names()?;
    let mut verifier = Verifier::new(&dir, keys, report);
    for name in names.iter().filter(|name| is_archive_name(name)) {
        verifier.file(name, &dir.join(name));
    }
    for name in names.iter().filter(|name| is_unread_name(name)) {
        verifier.unread_file(name);
    }
    if CdxjIndex::exists(&dir)? {
        verifier.index();
    }
    Ok(verifier.finish())
}

/// Verifies files one after another, then the references between them.
pub struct Verifier<'r> {
    source: &'r dyn FileSource,
    keys: &'r dyn SortKeys,
    reporter: Reporter<'r>,
    /// The names of the files so far.
    files: Vec<String>,
    references: References,
    segments: SegmentedRecords,
    /// `None` if there is no index to compare.
    captures: Option<ExpectedCaptures>,
    /// Whether the current record has not been read completely yet.
    is_within_record: bool,
}

impl<'r> Verifier<'r> {
    /// A verifier of the files in `source` that passes findings to `report` as they occur. `keys` makes
    /// the keys that an index should have.
    pub fn new(
        source: &'r dyn FileSource,
        keys: &'r dyn SortKeys,
        report: &'r mut dyn FnMut(ArchiveFinding),
    ) -> Self {
        Self {
            source,
            keys,
            reporter: Reporter {
                report,
                location: FindingLocation::default(),
                summary: VerifySummary::default(),
            },
            files: Vec::new(),
            references: References::default(),
            segments: SegmentedRecords::default(),
            captures: Some(ExpectedCaptures::default()),
            is_within_record: false,
        }
    }

    /// Keeps nothing for [`Verifier::index`], which then does nothing.
    #[must_use]
    pub fn without_index(mut self) -> Self {
        self.captures = None;
        self
    }

    /// Verifies a file, whose bytes are at `content`. An unreadable file is a finding.
    pub fn file(&mut self, name: &str, content: &Path) {
        self.reporter.enter(&self.source.path_of(name));
        self.files.push(name.to_owned());
        self.reporter.summary.files += 1;
        if let Err(error) = self.read(content) {
            self.reporter.location.offset = None;
            self.reporter
                .add(FindingCode::Unreadable, error.to_string());
        }
        if let Some(captures) = &mut self.captures {
            captures.end_file();
        }
    }

    /// Reports what the caller has found about a file.
    pub fn add_finding(&mut self, name: &str, code: FindingCode, message: String) {
        self.reporter.enter(&self.source.path_of(name));
        self.reporter.add(code, message);
    }

    /// Reports a file of a kind that is not read ([`is_unread_name`]).
    pub fn unread_file(&mut self, name: &str) {
        self.reporter.enter(&self.source.path_of(name));
        let meaning = FindingCode::FileKind.meaning();
        self.reporter.add(FindingCode::FileKind, meaning.to_owned());
    }

    /// Compares the index with the files verified before. A line about another file is a finding.
    pub fn index(&mut self) {
        let Some(mut captures) = self.captures.take() else {
            return;
        };
        let numbers: HashMap<String, u32> = self
            .files
            .iter()
            .zip(0..)
            .map(|(file, n)| (file.clone(), n))
            .collect();
        let names = self.source.names().unwrap_or_default();
        captures.hide(self.source.hidden().unwrap_or_default());
        let faults = captures.compare_segments(
            (self.source, &names),
            &numbers,
            self.keys,
            &mut self.reporter,
        );
        for fault in faults {
            let (path, message) = match fault {
                IndexError::Io(FileError { path, source }) => (path, source.to_string()),
                other => (self.source.path_of(INDEX_DIRECTORY), other.to_string()),
            };
            self.reporter.enter(&path);
            self.reporter.add(FindingCode::IndexUnreadable, message);
        }
        let missing = captures.take_missing();
        self.add_late_findings(missing.map(|(file, offset)| LateFinding {
            file,
            offset,
            code: FindingCode::IndexMissing,
        }));
    }

    /// Checks the references between records and returns the counts.
    pub fn finish(mut self) -> VerifySummary {
        let segmented = std::mem::take(&mut self.segments).into_sorted();
        let faults = segmented.iter().filter_map(SegmentedRecord::fault);
        let findings: Vec<LateFinding> = self.references.unresolved().chain(faults).collect();
        self.add_late_findings(findings.into_iter());
        for record in segmented.iter().filter(|record| record.can_be_checked()) {
            self.reporter.location = self.location_of(record.start());
            let Self {
                source,
                files,
                reporter,
                ..
            } = &mut self;
            let checked = record.check_whole(
                *source,
                files,
                &mut RecordFindings(&mut |code, text| reporter.add(code, text)),
            );
            if let Err(error) = checked {
                self.reporter
                    .add(FindingCode::Unreadable, error.to_string());
            }
        }
        self.reporter.summary
    }

    fn read(&mut self, path: &Path) -> io::Result<()> {
        let length = fs::file(path).metadata()?.len();
        self.reporter.summary.bytes += length;
        let before = self.reporter.summary;
        let mut has_shared_member = false;
        read_records(path, &check_record, &mut |event| {
            match event {
                ScanEvent::Item(event) => self.add_record_event(event),
                ScanEvent::Deviation(deviation) => {
                    self.add_deviation(deviation, &mut has_shared_member);
                }
                ScanEvent::Fault(error) => self.add_fault(&error),
                ScanEvent::Skipped(range) => self.add_skipped_range(range, length),
            }
            ControlFlow::Continue(())
        })
        .map_err(io::Error::other)?;
        if before.records == self.reporter.summary.records
            && before.errors == self.reporter.summary.errors
        {
            self.reporter.location.offset = None;
            let meaning = FindingCode::EmptyFile.meaning();
            self.reporter
                .add(FindingCode::EmptyFile, meaning.to_owned());
        }
        Ok(())
    }

    fn add_record_event(&mut self, event: RecordEvent) {
        match event {
            RecordEvent::Begin { offset, id } => {
                self.reporter.location.offset = Some(offset);
                self.reporter.location.id = id;
                self.is_within_record = true;
            }
            RecordEvent::Finding(code, message) => self.reporter.add(code, message),
            RecordEvent::End(record) => {
                self.add_record(*record);
                self.reporter.summary.records += 1;
                self.is_within_record = false;
            }
        }
    }

    /// Reports a deviation. Shared gzip members are reported once per file.
    fn add_deviation(&mut self, deviation: Deviation, has_shared_member: &mut bool) {
        let is_shared = deviation.code == FindingCode::SharedMember;
        if is_shared && std::mem::replace(has_shared_member, true) {
            return;
        }
        self.set_offset(deviation.offset);
        self.reporter
            .add(deviation.code, deviation.code.meaning().to_owned());
    }

    /// Reports why a record cannot be read.
    fn add_fault(&mut self, error: &ReadError) {
        self.set_offset(error.offset);
        if !std::mem::take(&mut self.is_within_record) {
            self.reporter.location.id = None;
        }
        self.reporter.add(error.kind.code(), error.kind.to_string());
    }

    /// Sets the offset of the next finding. The id stays only if the offset is that of the current
    /// record.
    fn set_offset(&mut self, offset: u64) {
        let location = &mut self.reporter.location;
        if location.offset.replace(offset) != Some(offset) {
            location.id = None;
        }
    }

    /// Reports a skipped range, unless the range is the whole rest of the file.
    fn add_skipped_range(&mut self, range: SkippedRange, length: u64) {
        if range.offset + range.length < length {
            let message = format!(
                "the reader skipped {} bytes to find the next record",
                range.length
            );
            self.reporter.add(FindingCode::PassedOver, message);
        }
    }

    /// Adds a completely read record to the checks of references, segments and index.
    fn add_record(&mut self, record: VerifiedRecord) {
        let VerifiedRecord {
            header,
            extent,
            has_own_offset,
            request,
        } = record;
        let file = u32::try_from(self.files.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let at = (file, extent.offset);
        self.references.add(at, &header, &mut self.reporter);
        self.segments.add(at, has_own_offset, &header);
        let position = has_own_offset.then_some((at, extent.length));
        if let Some(captures) = &mut self.captures {
            captures.add(position, &header, request, self.keys);
        }
    }

    /// Reports findings about records read earlier. Their ids are read again from the files.
    fn add_late_findings(&mut self, findings: impl Iterator<Item = LateFinding>) {
        for LateFinding { file, offset, code } in findings {
            self.reporter.location = self.location_of((file, offset));
            self.reporter.add(code, code.meaning().to_owned());
        }
    }

    fn location_of(&self, (file, offset): (u32, u64)) -> FindingLocation {
        let name = self.files.get(file as usize).map_or("", String::as_str);
        FindingLocation {
            id: id_at(self.source, name, offset),
            file: self.source.path_of(name),
            offset: Some(offset),
        }
    }
}

/// An event while a record is checked.
enum RecordEvent {
    /// The record begins.
    Begin { offset: u64, id: Option<String> },
    /// A finding about the record.
    Finding(FindingCode, String),
    /// The record has been read completely.
    End(Box<VerifiedRecord>),
}

/// A completely read record.
struct VerifiedRecord {
    header: Header,
    extent: Extent,
    /// Whether the record can be read from its offset; false if it shares its gzip member.
    has_own_offset: bool,
    /// The request, if the record is one and its method is not GET.
    request: Option<StoredRequest>,
}

impl MemorySize for RecordEvent {
    fn memory_size(&self) -> usize {
        match self {
            Self::Begin { id, .. } => id.as_ref().map_or(0, String::len),
            Self::Finding(_, message) => message.len(),
            Self::End(record) => {
                let fields = record
                    .header
                    .iter()
                    .map(|(name, value)| name.len() + value.len());
                let request = record.request.as_ref().map_or(0, |it| it.body.len());
                size_of::<VerifiedRecord>() + fields.sum::<usize>() + request
            }
        }
    }
}

/// Checks everything about a record that needs no other record.
fn check_record(
    mut record: Record<'_, File>,
    add: &mut dyn FnMut(RecordEvent),
) -> Result<(), ReadError> {
    let header = record.take_header();
    add(RecordEvent::Begin {
        offset: record.offset(),
        id: id_of(&header),
    });
    let mut add_finding = |code, message| add(RecordEvent::Finding(code, message));
    let mut findings = RecordFindings(&mut add_finding);
    fields::check(record.version(), &header, &mut findings);
    let request = block::check(&header, &mut record, &mut findings)?;
    let has_own_offset = record.within_member() == 0;
    let extent = record.finish()?;
    add(RecordEvent::End(Box::new(VerifiedRecord {
        header,
        extent,
        has_own_offset,
        request,
    })));
    Ok(())
}

fn id_of(header: &Header) -> Option<String> {
    header
        .get("WARC-Record-ID")
        .map(|id| strip_brackets(id).to_owned())
}

fn id_at(source: &dyn FileSource, name: &str, offset: u64) -> Option<String> {
    let mut reader = open_at(source, name, offset).ok()?;
    id_of(reader.next_record().ok()??.header())
}
