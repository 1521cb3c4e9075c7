//! Counts the records that a run does not check, for the coverage in its report.

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Number of records that a run does not check, by cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedRecords {
    /// Selected records of category `deprecated` that are not named.
    pub deprecated: u64,
    /// Records that are not selected.
    pub not_selected: u64,
    /// Number of URLs of those that are not selected and not deprecated, by host.
    pub urls_not_selected: BTreeMap<String, u64>,
}

impl AddAssign for SkippedRecords {
    fn add_assign(&mut self, other: Self) {
        self.deprecated += other.deprecated;
        self.not_selected += other.not_selected;
        for (host, urls) in other.urls_not_selected {
            *self.urls_not_selected.entry(host).or_default() += urls;
        }
    }
}
