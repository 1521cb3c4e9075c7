//! Positions of records in archive files.

/// The position of a record in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Of the first byte, from the beginning of the file.
    pub offset: u64,
    /// In bytes as stored, compressed or not.
    pub length: u64,
}

/// The position of a record in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLocation<'a> {
    /// The file, relative to the directory of the archive.
    pub filename: &'a str,
    /// The position in the file.
    pub extent: Extent,
}
