//! Errors of making and reading an index.

use std::io;
use std::path::{Path, PathBuf};

use crate::cdxj::InvalidCdxjLine;
use crate::reader::ReadError;

/// Why an index could not be read, made or changed. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line is not valid.
    #[error("{}: {source}", path.display())]
    Line {
        /// The index.
        path: PathBuf,
        /// The line and its error.
        source: InvalidCdxjLine,
    },
    /// An archive file is damaged.
    #[error("{}: {source}", path.display())]
    Read {
        /// The archive file.
        path: PathBuf,
        /// The record and its error.
        source: ReadError,
    },
}

impl IndexError {
    /// Whether an archive file is damaged, rather than its storage.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.is_damage())
    }
}

/// Makes an I/O error of this path an [`IndexError`].
pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> IndexError + use<> {
    let path = path.to_owned();
    move |source| IndexError::Io {
        path: path.clone(),
        source,
    }
}
