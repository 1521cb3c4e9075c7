//! The difference between two versions of a domain file, by record and by key.
//!
//! Records are matched as [`crate::merge()`] matches them: by path and request. Formatting and comments
//! make no difference.

use std::collections::BTreeSet;

use crate::domain_file::DomainFile;
use crate::entry::RecordEntry;
use crate::keys;
use crate::merge::{match_pairs, text, union_of_vary};
use crate::value::{Mapping, Value};

/// The difference between two versions of a domain file.
#[derive(Debug, Clone)]
pub struct FileDifference<'a> {
    /// The keys of the metadata that have two values, sorted. Empty if the metadata of a version were
    /// not understood.
    pub metadata: Vec<KeyChange>,
    /// The records that differ or could not be compared, in the order of their identities.
    pub records: Vec<RecordDifference<'a>>,
    /// The number of records that both versions have, with the same keys and values.
    pub unchanged: usize,
}

/// A record that differs between two versions of its file. Each record of a version is in one of these,
/// or counts as unchanged.
#[derive(Debug, Clone)]
pub struct RecordDifference<'a> {
    /// The record in the earlier version.
    pub before: Option<&'a RecordEntry>,
    /// The record in the later version.
    pub after: Option<&'a RecordEntry>,
    /// The kind of the difference.
    pub kind: DifferenceKind,
    /// The keys that have two values, sorted: all keys of an added or removed record, none of an unknown
    /// difference.
    pub keys: Vec<KeyChange>,
}

/// The kind of a record's difference between two versions of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// Only the later version has the record.
    Added,
    /// Only the earlier version has the record.
    Removed,
    /// Both versions have the record, with different keys or values.
    Changed,
    /// The record could not be compared, because some of a version was not understood: the record
    /// itself, or a document that may be this record.
    Unknown,
}

/// A key with different values in two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    /// The key.
    pub key: String,
    /// The value in the earlier version; `None` if that version lacks the key.
    pub before: Option<Value>,
    /// The value in the later version; `None` if that version lacks the key.
    pub after: Option<Value>,
    /// Whether the promise is made of this key: the change concerns what is requested, or what must
    /// come back.
    pub is_promise: bool,
}

impl RecordDifference<'_> {
    /// Whether the promise of the record changed.
    pub fn changes_promise(&self) -> bool {
        self.kind == DifferenceKind::Changed && self.keys.iter().any(|key| key.is_promise)
    }

    /// The record in the later version, else in the earlier one.
    pub fn entry(&self) -> Option<&RecordEntry> {
        self.after.or(self.before)
    }
}

/// Compares two versions of a domain file. A version without the file is an empty file.
pub fn difference<'a>(before: &'a DomainFile, after: &'a DomainFile) -> FileDifference<'a> {
    let fold = before.metadata.ignores_case() && after.metadata.ignores_case();
    let vary = union_of_vary([&before.metadata, &after.metadata]);
    let mut difference = FileDifference {
        metadata: vec![],
        records: vec![],
        unchanged: 0,
    };
    if has_known_metadata(before) && has_known_metadata(after) {
        let (before, after) = (before.metadata.to_mapping(), after.metadata.to_mapping());
        difference.metadata = key_changes(&before, &after, |change| {
            keys::METADATA.contains(&change.key.as_str())
        });
    }
    let is_complete = [before, after].map(|file| file.blocking.is_empty());
    for versions in match_pairs([before, after], fold, &vary) {
        match record_difference(versions, is_complete) {
            Some(record) => difference.records.push(record),
            None => difference.unchanged += 1,
        }
    }
    difference
}

/// Whether the metadata document was understood, or does not exist.
fn has_known_metadata(file: &DomainFile) -> bool {
    match &file.head {
        Some(head) => file.blocking_in(head).is_none(),
        None => file.blocking.is_empty(),
    }
}

/// The difference of one record; `None` if there is none. `is_complete` tells for each version whether
/// the whole file was understood.
fn record_difference(
    [before, after]: [Option<&RecordEntry>; 2],
    is_complete: [bool; 2],
) -> Option<RecordDifference<'_>> {
    let mapping = |entry: Option<&RecordEntry>| {
        entry.map_or_else(Mapping::new, |entry| entry.record.to_mapping())
    };
    let kind = match (before, after) {
        (Some(one), Some(other)) if one.layout.source == other.layout.source => return None,
        (Some(one), Some(other)) if one.intact && other.intact => DifferenceKind::Changed,
        (None, Some(new)) if new.intact && is_complete[0] => DifferenceKind::Added,
        (Some(old), None) if old.intact && is_complete[1] => DifferenceKind::Removed,
        _ => DifferenceKind::Unknown,
    };
    let keys = match kind {
        DifferenceKind::Unknown => vec![],
        _ => key_changes(&mapping(before), &mapping(after), is_of_promise),
    };
    (kind == DifferenceKind::Unknown || !keys.is_empty()).then_some(RecordDifference {
        before,
        after,
        kind,
        keys,
    })
}

/// The keys with different values, sorted.
fn key_changes(
    before: &Mapping,
    after: &Mapping,
    is_promise: impl Fn(&KeyChange) -> bool,
) -> Vec<KeyChange> {
    let keys: BTreeSet<&str> = before.iter().chain(after.iter()).map(|it| it.0).collect();
    keys.into_iter()
        .filter_map(|key| {
            let (before, after) = (before.get(key), after.get(key));
            let is_same = before == after || before.map(text) == after.map(text);
            let mut change = KeyChange {
                key: key.to_owned(),
                before: before.cloned(),
                after: after.cloned(),
                is_promise: false,
            };
            change.is_promise = is_promise(&change);
            (!is_same).then_some(change)
        })
        .collect()
}

/// Whether the change of a record's key changes the promise.
fn is_of_promise(change: &KeyChange) -> bool {
    if change.key != "categories" {
        return keys::PROMISE.contains(&change.key.as_str());
    }
    let has = |value: &Option<Value>, category: &str| match value {
        Some(Value::List(items)) => items.iter().any(|item| item.as_text() == Some(category)),
        _ => false,
    };
    keys::CATEGORIES
        .iter()
        .any(|category| has(&change.before, category) != has(&change.after, category))
}
