//! Counts the records that a run does not check, for the coverage in its report.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use urldb_format::DomainFile;

use super::selection::Selection;

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

impl SkippedRecords {
    /// Adds the records of `file` that `selection` leaves out, those that reading left out included.
    pub fn count(&mut self, file: &DomainFile, selection: &Selection) {
        let host = file.host();
        let wants_domain = selection.wants_domain(host);
        let schemes = file.metadata().schemes().len() as u64;
        let left_out = file.left_out();
        self.not_selected += left_out.records;
        let mut urls = schemes * (left_out.records - left_out.deprecated);
        for entry in file.records() {
            let record = entry.record();
            if !wants_domain || !selection.wants_record(host, record) {
                self.not_selected += 1;
                if !record.has_category("deprecated") {
                    urls += schemes;
                }
            } else if !selection.asks_for(host, record) {
                self.deprecated += 1;
            }
        }
        if urls > 0 {
            *self.urls_not_selected.entry(host.to_owned()).or_default() += urls;
        }
    }
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
