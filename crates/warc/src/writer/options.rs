//! Options of the writers of archive files.

use crate::header::Version;

/// Options for the records of an archive file. Default: WARC/1.1 without skip lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// The version. Only WARC/1.1, WARC/1.0 and WARC/0.9 are written.
    pub version: Version,
    /// Whether each gzip member states its length: see
    /// [`Writer::with_skip_lengths`](crate::Writer::with_skip_lengths).
    pub skip_lengths: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            version: Version::Warc11,
            skip_lengths: false,
        }
    }
}
