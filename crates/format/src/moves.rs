//! Domains that moved: files of two hosts, one of which is gone and the other new, with mostly the same records.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain_file::DomainFile;
use crate::entry::RecordEntry;
use crate::record::{Record, RecordIdentity};

/// The records of a domain file, to be compared with those of another host. Its size is eight bytes a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSet(BTreeSet<u64>);

impl RecordSet {
    /// The records of a file; none if some of the file was not understood.
    pub fn of(file: &DomainFile) -> Self {
        if !file.blocking_findings().is_empty() {
            return Self::default();
        }
        // Many hosts have a record of their root without a promise: it says nothing of a move.
        let is_bare_root = |record: &&Record| record.path == "/" && record.to_mapping().len() == 1;
        Self(
            file.records()
                .map(RecordEntry::record)
                .filter(|record| !is_bare_root(record))
                .map(|record| hash_of(&format!("{:?}", record.to_mapping())))
                .collect(),
        )
    }

    /// Records of which only the identities are known.
    pub fn of_identities(identities: impl IntoIterator<Item = RecordIdentity>) -> Self {
        Self(
            identities
                .into_iter()
                .filter(|it| it.path != "/")
                .map(|it| hash_of(&it))
                .collect(),
        )
    }
}

fn hash_of(known: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    known.hash(&mut hasher);
    hasher.finish()
}

/// The moves between files that are gone and new files: pairs of an index of `gone` and one of `new`, in the order of
/// `new`. A domain has moved if both files have at least half of the records of the larger one in common. Each
/// file is in one pair at most; files that have more in common are paired first.
pub fn moves(gone: &[RecordSet], new: &[RecordSet]) -> Vec<(usize, usize)> {
    let mut owners: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, RecordSet(records)) in gone.iter().enumerate() {
        for record in records {
            owners.entry(*record).or_default().push(index);
        }
    }
    let mut candidates = vec![];
    for (to, RecordSet(records)) in new.iter().enumerate() {
        let mut common: BTreeMap<usize, usize> = BTreeMap::new();
        for from in records.iter().filter_map(|it| owners.get(it)).flatten() {
            *common.entry(*from).or_default() += 1;
        }
        let is_move = |(from, common): &(usize, usize)| {
            let larger = gone
                .get(*from)
                .map_or(0, |set| set.0.len())
                .max(records.len());
            common * 2 >= larger
        };
        let found = common.into_iter().filter(is_move);
        candidates.extend(found.map(|(from, common)| (common, from, to)));
    }
    candidates.sort_by_key(|(common, from, to)| (std::cmp::Reverse(*common), *from, *to));
    let (mut left, mut taken) = (BTreeSet::new(), BTreeMap::new());
    for (_, from, to) in candidates {
        if !taken.contains_key(&to) && left.insert(from) {
            taken.insert(to, from);
        }
    }
    taken.into_iter().map(|(to, from)| (from, to)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(records: &[u64]) -> RecordSet {
        RecordSet(records.iter().copied().collect())
    }

    #[test]
    fn files_that_share_most_are_paired_and_none_twice() {
        let gone = [set(&[1, 2, 3, 4]), set(&[5, 6]), set(&[])];
        let new = [set(&[1, 2]), set(&[1, 2, 3, 9]), set(&[7]), set(&[])];
        assert_eq!(moves(&gone, &new), [(0, 1)]);
        assert_eq!(moves(&gone[1..2], &[set(&[6, 8])]), [(0, 0)]);
        assert_eq!(moves(&gone[1..2], &[set(&[6, 8, 9])]), []);
    }
}
