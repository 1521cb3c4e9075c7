//! Errors: why the crate could not do its work.

use std::io;
use std::path::PathBuf;

use crate::finding::Finding;

/// Why a file or directory could not be read, changed or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A new file would replace one.
    #[error("{} exists already", path.display())]
    FileExists {
        /// The file.
        path: PathBuf,
    },
    /// There is a record for the same request.
    #[error("{}:{line}: there is a record for {record} already", path.display())]
    RecordExists {
        /// The file.
        path: PathBuf,
        /// The line of that record.
        line: usize,
        /// The path of the record.
        record: String,
    },
    /// There is no record for the request.
    #[error("{}: there is no record for {record}", path.display())]
    NoSuchRecord {
        /// The file.
        path: PathBuf,
        /// The path that was asked for.
        record: String,
    },
    /// The record to change occurs twice, or holds mistakes that a change would wipe out.
    #[error("{}:{line}: the record for {record} has mistakes that a change would wipe out; fix them by hand first", path.display())]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// The line of the record.
        line: usize,
        /// The path of the record.
        record: String,
    },
    /// The canonical form would lose what the file says.
    #[error("{}:{}: {}; fix this by hand first", path.display(), first_line(findings), first_message(findings))]
    NotNormalizable {
        /// The file.
        path: PathBuf,
        /// What stands in the way, at least one.
        findings: Vec<Finding>,
    },
}

fn first_line(findings: &[Finding]) -> usize {
    findings.first().map_or(1, |finding| finding.line)
}

fn first_message(findings: &[Finding]) -> &str {
    findings.first().map_or("", |finding| &finding.message)
}
