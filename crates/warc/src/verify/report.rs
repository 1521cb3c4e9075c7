//! Findings of the verifier, and where they are reported.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::finding::{FindingCode, Severity};

/// A fault of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveFinding {
    /// The kind of fault.
    pub code: FindingCode,
    /// The archive file, or the index.
    pub file: PathBuf,
    /// The offset in the file of the record, or of the line of the index, in bytes.
    pub offset: Option<u64>,
    /// The record's id, if known.
    pub record_id: Option<String>,
    /// The fault, in words.
    pub message: String,
}

impl fmt::Display for ArchiveFinding {
    /// `FILE:OFFSET: SEVERITY: MESSAGE [CODE]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, ":{offset}")?;
        }
        let Self { code, message, .. } = self;
        write!(f, ": {}: {message} [{code}]", code.severity())
    }
}

/// The counts of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifySummary {
    /// Archive files.
    pub files: u64,
    /// Records that could be read completely.
    pub records: u64,
    /// Bytes of the files, as stored.
    pub bytes: u64,
    /// Findings that are errors.
    pub errors: u64,
    /// Findings that are warnings.
    pub warnings: u64,
}

#[derive(Default)]
pub(super) struct FindingLocation {
    pub(super) file: PathBuf,
    pub(super) offset: Option<u64>,
    pub(super) id: Option<String>,
}

/// Passes findings to the caller, and counts them.
pub(super) struct Reporter<'r> {
    pub(super) report: &'r mut dyn FnMut(ArchiveFinding),
    pub(super) location: FindingLocation,
    pub(super) summary: VerifySummary,
}

impl Reporter<'_> {
    /// Begins the findings of a file.
    pub(super) fn enter(&mut self, file: &Path) {
        self.location = FindingLocation {
            file: file.to_owned(),
            ..FindingLocation::default()
        };
    }

    pub(super) fn add(&mut self, code: FindingCode, message: String) {
        match code.severity() {
            Severity::Error => self.summary.errors += 1,
            Severity::Warning => self.summary.warnings += 1,
        }
        (self.report)(ArchiveFinding {
            code,
            file: self.location.file.clone(),
            offset: self.location.offset,
            record_id: self.location.id.clone(),
            message,
        });
    }
}

/// Receives the findings about one record.
pub(super) struct RecordFindings<'a>(pub(super) &'a mut dyn FnMut(FindingCode, String));

impl RecordFindings<'_> {
    pub(super) fn add(&mut self, code: FindingCode, message: String) {
        (self.0)(code, message);
    }
}

/// A finding about a record that was read earlier. `file` is the number of the file.
pub(super) struct LateFinding {
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) code: FindingCode,
}
