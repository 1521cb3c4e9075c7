//! Positions of records in archive files.

/// The position of a record in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Of the first byte, from the beginning of the file.
    pub offset: u64,
    /// In bytes as stored, compressed or not.
    pub length: u64,
}
