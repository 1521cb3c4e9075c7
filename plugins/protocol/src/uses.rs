//! The places in lists that use a URL.

use serde::{Deserialize, Serialize};

/// The places in lists that use a URL. Empty for a URL that no list has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UrlUses {
    /// Number of lines in lists that use the URL; absent for a URL that no list has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub used: u64,
    /// Number of files with these lines.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub used_files: u64,
    /// Whether `urldb accept` can edit none of the values in one of these files: people change the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// The first ten of these lines by file and line, and after them the record in its domain file. Of a change, its
    /// new lines come first. The first element is `file` and `line` of the finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
}

impl UrlUses {
    /// Most lines of lists that are named.
    pub const MOST: usize = 10;

    /// Whether no list has the URL.
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The named lines of lists, and the record after them: of a list that is checked without a database, there is
    /// none.
    pub fn split(&self) -> (&[Location], Option<&Location>) {
        let lines = usize::try_from(self.used)
            .unwrap_or(usize::MAX)
            .min(Self::MOST)
            .min(self.locations.len());
        let (lines, record) = self.locations.split_at(lines);
        (lines, record.first())
    }
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Location {
    /// The file, relative to the root of the repository, with `/`.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The URL of the line, if it is another one, which the site rules take to the page of the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_as: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
