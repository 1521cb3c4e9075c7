//! The errors of the crate.

use std::io;
use std::path::PathBuf;

use urldb_text::Finding;

/// The reason why a file or directory could not be read, changed or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A new file would replace an existing one.
    #[error("{} exists already", path.display())]
    FileExists {
        /// The file.
        path: PathBuf,
    },
    /// The file already has a record for the same request.
    #[error("{}:{line}: there is a record for {record} already", path.display())]
    RecordExists {
        /// The file.
        path: PathBuf,
        /// The line of that record.
        line: usize,
        /// The path of the record.
        record: String,
    },
    /// The file has no record for the request.
    #[error("{}: there is no record for {record}", path.display())]
    NoSuchRecord {
        /// The file.
        path: PathBuf,
        /// The requested path.
        record: String,
    },
    /// The record to change occurs twice, or has mistakes whose text a change would delete.
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
        /// The findings that prevent it, at least one.
        findings: Vec<Finding>,
    },
}

fn first_line(findings: &[Finding]) -> usize {
    findings.first().map_or(1, |finding| finding.line)
}

fn first_message(findings: &[Finding]) -> &str {
    findings.first().map_or("", |finding| &finding.message)
}
