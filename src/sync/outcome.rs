//! The records of one domain before and after a merge with the items of lists.

use std::collections::{BTreeMap, BTreeSet};

use urldb_format::{Record, RecordIdentity, differing_headers};
use urldb_interchange::{Location, Notice};
use urldb_render::numbers::counted;

/// A record of the database, as the merge finds it.
#[derive(Debug, Clone)]
pub(crate) struct KnownRecord {
    pub(crate) record: Record,
    pub(crate) location: Location,
}

/// The effect of a merge on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Added,
    Updated,
    Unchanged,
}

/// The remedy for two records of one URL that differ in a request header.
pub(super) fn vary_help(one: &Record, other: &Record) -> Option<Box<str>> {
    let names = differing_headers(one, other)?.join(", ");
    Some(format!("add `vary: [{names}]` to the metadata").into())
}

/// The records of one source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SourceCounts {
    pub(crate) before: u64,
    pub(crate) removed: u64,
}

impl SourceCounts {
    /// Why the records of the source are not removed.
    pub(super) fn refusal(self, name: &str) -> String {
        let (removed, records) = (self.removed, counted(self.before, "record"));
        format!(
            "{name}: {removed} of {records} are gone from the list; `urldb sync --force` removes them"
        )
    }
}

/// The changes of one domain, and what was counted.
#[derive(Debug, Default)]
pub(crate) struct DomainChanges {
    /// The records of items and of sources, as they should be; the unchanged ones only of an import.
    pub(crate) records: Vec<(Box<Record>, Outcome)>,
    /// The number of records that stay as they are.
    pub(crate) unchanged: u64,
    pub(crate) remove: BTreeSet<RecordIdentity>,
    /// Records without `source` that say what a list says.
    pub(crate) agreeing: u64,
    /// Records with promises that no list states.
    pub(crate) with_own_promise: u64,
    /// For each source the records that had its name, and those of them that are removed.
    pub(crate) of_sources: BTreeMap<String, SourceCounts>,
    /// Promises that no record can hold beside another one.
    pub(crate) contradictions: Vec<Notice>,
    /// URLs of which no record holds what one list says.
    pub(crate) contradicted: BTreeSet<RecordIdentity>,
    /// Items of which a value was left out that is no promise.
    pub(crate) left_out: Vec<Notice>,
}

impl DomainChanges {
    /// The number of records with this outcome.
    pub(crate) fn count(&self, what: Outcome) -> u64 {
        self.records
            .iter()
            .filter(|(_, outcome)| *outcome == what)
            .count() as u64
    }

    /// The records to write.
    pub(crate) fn into_put(self) -> impl Iterator<Item = Box<Record>> {
        self.records
            .into_iter()
            .filter(|(_, outcome)| *outcome != Outcome::Unchanged)
            .map(|(record, _)| record)
    }

    /// Whether the domain file stays as it is.
    pub(crate) fn is_empty(&self) -> bool {
        let mut records = self.records.iter();
        self.remove.is_empty() && records.all(|(_, outcome)| *outcome == Outcome::Unchanged)
    }

    /// A known record, before and after.
    pub(super) fn keep(&mut self, before: &Record, after: Record) {
        if *before == after {
            self.unchanged += 1;
        } else {
            self.records.push((Box::new(after), Outcome::Updated));
        }
    }

    pub(super) fn contradict(&mut self, identity: RecordIdentity, contradiction: Notice) {
        self.contradictions.push(contradiction);
        self.contradicted.insert(identity);
    }
}
