//! What a run does not ask for, so that its coverage can be told.

use urldb_format::DomainFile;

use super::Selection;

/// What is not asked for, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Records that are selected, but of category `deprecated` and not named.
    pub deprecated: u64,
    /// Records that are not selected.
    pub not_selected: u64,
}

impl LeftOut {
    /// Counts the records of a file that `selection` leaves out.
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
