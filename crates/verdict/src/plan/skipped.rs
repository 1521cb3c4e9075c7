//! Counts the records that a run does not check, for the coverage in its report.

use std::ops::AddAssign;

use urldb_format::DomainFile;

use super::selection::Selection;

/// Number of records that a run does not check, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedRecords {
    /// Selected records of category `deprecated` that are not named.
    pub deprecated: u64,
    /// Records that are not selected.
    pub not_selected: u64,
}

impl SkippedRecords {
    /// Adds the records of `file` that `selection` leaves out.
    pub fn count(&mut self, file: &DomainFile, selection: &Selection) {
        let host = file.host();
        let wants_domain = selection.wants_domain(host);
        for entry in file.records() {
            let record = entry.record();
            if !wants_domain || !selection.wants_record(host, record) {
                self.not_selected += 1;
            } else if !selection.asks_for(host, record) {
                self.deprecated += 1;
            }
        }
    }
}

impl AddAssign for SkippedRecords {
    fn add_assign(&mut self, other: Self) {
        self.deprecated += other.deprecated;
        self.not_selected += other.not_selected;
    }
}
