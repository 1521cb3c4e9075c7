//! Differences between two contents: of texts, and of the files in archives.

use serde::{Deserialize, Serialize};
use urldb_text::Shown;

/// A difference between two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TextDifference {
    /// Number of lines that are only in the observed text.
    pub added: u64,
    /// Number of lines that are only in the promised text.
    pub removed: u64,
    /// The number of lines that both texts begin with, if nothing was removed and all new lines are
    /// at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appended_after: Option<u64>,
    /// At most twenty lines, each beginning with `+`, `-` or a space.
    pub lines: Vec<Shown>,
}

/// Comparison of the files in two archives, the promised and the observed one: by name, type, mode, link target, size and
/// SHA-256. The order of the files, their times and owners, and the compression do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Contents {
    /// Number of files in either archive; folders are no files.
    pub files: u64,
    /// Both are a single compressed file, without a name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub single: bool,
    /// Number of files that differ, or that only one archive has.
    #[serde(default)]
    pub differing: u64,
    /// Number of folders that differ, or that only one archive has.
    #[serde(default)]
    pub folders: u64,
    /// At most ten of them, files first, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberDifference>,
}

/// A file or folder that is not the same in both archives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MemberDifference {
    /// The name, with `/` at the end of a folder; empty for a single compressed file.
    #[serde(default)]
    pub name: Shown,
    /// The archives that have it.
    pub change: MemberChange,
    /// The difference between its texts; absent unless both are small texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<TextDifference>,
}

/// Change of a file in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MemberChange {
    /// Both archives have it.
    Changed,
    /// Only the observed archive has it.
    Added,
    /// Only the promised archive has it.
    Removed,
}
