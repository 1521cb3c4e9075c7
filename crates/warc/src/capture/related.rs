//! Records of a file that belong together: one names the other, and they stand near each other.

use std::collections::VecDeque;

use crate::header::id::strip_brackets;
use crate::header::{Header, RecordType};

/// Limit of the number of records between two that belong together.
pub const MAX_DISTANCE: usize = 64;

/// The id of a record, and the ids of the records that it names.
#[derive(Debug)]
pub struct RecordNames {
    id: String,
    named: Vec<String>,
}

impl RecordNames {
    /// The names in the header of a record. The original of a revisit is a record on its own.
    pub fn of(header: &Header) -> Self {
        let is_revisit = header.record_type() == Some(RecordType::Revisit);
        let is_name = |name: &str| {
            name.eq_ignore_ascii_case("WARC-Concurrent-To")
                || !is_revisit && name.eq_ignore_ascii_case("WARC-Refers-To")
        };
        let named = header.iter().filter(|(name, _)| is_name(name));
        Self {
            id: strip_brackets(header.get("WARC-Record-ID").unwrap_or_default()).to_owned(),
            named: named.map(|(_, id)| strip_brackets(id).to_owned()).collect(),
        }
    }

    /// Whether one of the records names the other.
    pub fn are_related(&self, other: &Self) -> bool {
        self.name(other) || other.name(self)
    }

    fn name(&self, other: &Self) -> bool {
        !other.id.is_empty() && self.named.contains(&other.id)
    }
}

/// The last records of a file, which later ones may belong to. `T` is what the caller knows of a record.
#[derive(Debug)]
pub struct RelatedRecords<T>(VecDeque<(RecordNames, T)>);

impl<T> Default for RelatedRecords<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> RelatedRecords<T> {
    /// Adds the next record, and calls `relate` with each earlier record that it belongs to and with itself.
    /// Returns a record that no later one can belong to.
    pub fn add(
        &mut self,
        header: &Header,
        mut record: T,
        mut relate: impl FnMut(&mut T, &mut T),
    ) -> Option<T> {
        let names = RecordNames::of(header);
        for (_, earlier) in self.0.iter_mut().filter(|(it, _)| it.are_related(&names)) {
            relate(earlier, &mut record);
        }
        self.0.push_back((names, record));
        if self.0.len() <= MAX_DISTANCE {
            return None;
        }
        self.0.pop_front().map(|(_, record)| record)
    }

    /// The last record, and those before it, to which it may belong although none names the other.
    pub(super) fn last(&mut self) -> Option<(&mut T, impl Iterator<Item = &mut T>)> {
        let mut records = self.0.iter_mut().map(|(_, record)| record);
        Some((records.next_back()?, records))
    }

    /// Ends the file, and returns its last records.
    pub fn end_file(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.0)
            .into_iter()
            .map(|(_, record)| record)
    }
}
