//! Reasons for which contents are not compared.

use std::io;

/// Reason for which two contents are not compared.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A content cannot be read, or its compressed data is damaged.
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    /// A content is neither an archive nor compressed.
    #[error("it is no archive")]
    NoArchive,
    /// An archive has no files.
    #[error("it has no files")]
    Empty,
    /// An archive is cut or contradicts itself.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// An archive has a feature that this crate does not know.
    #[error("it has an unknown feature: {0}")]
    Unsupported(&'static str),
    /// The result of unpacking an archive depends on the program and on the order of its members.
    #[error("it is ambiguous: {0}")]
    Ambiguous(&'static str),
    /// An archive exceeds one of the [`Bounds`](crate::Bounds).
    #[error("it exceeds a limit: {0}")]
    TooLarge(&'static str),
    /// Two contents have nothing to compare, such as an archive and a single compressed file.
    #[error("one cannot be compared with the other: {0}")]
    Unlike(&'static str),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Unreadable)
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unreadable(error) => error,
            refusal => Self::other(refusal),
        }
    }
}

impl From<rawzip::Error> for Refusal {
    fn from(_: rawzip::Error) -> Self {
        Self::Damaged("zip")
    }
}
