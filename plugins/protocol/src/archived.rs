//! The captures of a URL in the archive, and the copies of their files.

use serde::{Deserialize, Serialize};

/// A capture in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CaptureInfo {
    /// `WARC-Date`.
    pub date: String,
    /// `WARC-Record-ID`, without brackets; absent where only the index knows the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The name of the WARC file.
    pub file: String,
    /// The place of the record in the file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The digest of the content, as `sha256:` and lower-case hex.
    pub digest: String,
    /// Whether the record only refers to the content of an earlier one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_revisit: bool,
    /// The status of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// The copies of a file in the places of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct StoredCopies {
    /// Number of places that have the file.
    pub copies: u64,
    /// Number of places.
    pub places: u64,
    /// The first place that lacks the file, or has other bytes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// The day (UTC) since which every copy was read and compared, such as `2026-08-06`; absent if a copy was not
    /// read yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_since: Option<String>,
}
