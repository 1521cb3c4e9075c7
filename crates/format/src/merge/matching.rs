//! Finds which records of several versions are one record.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain_file::DomainFile;
use crate::entry::RecordEntry;
use crate::metadata::Metadata;
use crate::record::RecordIdentity;

/// The header names that any of these metadata name in `vary`: a record keeps its identity in a version that
/// lacks the key.
pub(crate) fn union_of_vary<'a>(metadata: impl IntoIterator<Item = &'a Metadata>) -> Vec<String> {
    let names: BTreeSet<&String> = metadata.into_iter().flat_map(|it| &it.vary).collect();
    names.into_iter().cloned().collect()
}

/// One record in the three versions: base, ours, theirs.
pub(super) type RecordVersions<'a> = [Option<&'a RecordEntry>; 3];

/// The records of the three versions, by identity; `fold` makes the case of paths irrelevant.
pub(super) fn match_records<'a>(
    files: [&'a DomainFile; 3],
    fold: bool,
    vary: &[String],
) -> Vec<RecordVersions<'a>> {
    match_all(files, (fold, vary), match_repeated)
}

/// The records of two versions, by identity; `fold` makes the case of paths irrelevant.
pub(crate) fn match_pairs<'a>(
    files: [&'a DomainFile; 2],
    fold: bool,
    vary: &[String],
) -> Vec<[Option<&'a RecordEntry>; 2]> {
    match_all(files, (fold, vary), |[before, after]| {
        let (partners, new) = pair(&before, &after);
        before
            .into_iter()
            .zip(partners)
            .map(|(before, after)| [Some(before), after])
            .chain(new.into_iter().map(|after| [None, Some(after)]))
            .collect()
    })
}

/// The records of all versions, by identity. `match_repeated` matches the records of an identity that a
/// version has more than once.
fn match_all<'a, const N: usize>(
    files: [&'a DomainFile; N],
    (fold, vary): (bool, &[String]),
    match_repeated: impl Fn([Vec<&'a RecordEntry>; N]) -> Vec<[Option<&'a RecordEntry>; N]>,
) -> Vec<[Option<&'a RecordEntry>; N]> {
    let mut by_identity: BTreeMap<RecordIdentity, [Vec<&RecordEntry>; N]> = BTreeMap::new();
    for (version, file) in files.into_iter().enumerate() {
        for entry in file.records() {
            let identity = entry.record.identity_with(fold, vary);
            by_identity
                .entry(identity)
                .or_insert_with(|| std::array::from_fn(|_| vec![]))[version]
                .push(entry);
        }
    }
    let mut matched = Vec::with_capacity(by_identity.len());
    for (_, entries) in by_identity {
        if entries.iter().all(|entries| entries.len() <= 1) {
            matched.push(entries.map(|entries| entries.first().copied()));
        } else {
            matched.extend(match_repeated(entries));
        }
    }
    matched
}

/// Matches records of one identity, which a version has more than once: records of equal content
/// first, the others in the order of the file. A record that one side adds to others of this identity,
/// all of which the other side removed, is a change of the last of them, and so is not revived.
fn match_repeated([base, ours, theirs]: [Vec<&RecordEntry>; 3]) -> Vec<RecordVersions<'_>> {
    let (of_ours, new_ours) = pair(&base, &ours);
    let (of_theirs, new_theirs) = pair(&base, &theirs);
    let known = base
        .iter()
        .zip(of_ours.into_iter().zip(of_theirs))
        .map(|(base, (ours, theirs))| [Some(*base), ours, theirs]);
    let (partners, others) = pair(&new_ours, &new_theirs);
    let new = new_ours.iter().zip(partners);
    let removed_by = |side: &[&RecordEntry]| base.last().copied().filter(|_| side.is_empty());
    let new = new.map(|(mine, other)| [removed_by(&theirs), Some(*mine), other]);
    let others = others
        .into_iter()
        .map(|other| [removed_by(&ours), None, Some(other)]);
    known.chain(new).chain(others).collect()
}

/// The partner of each of `from` among `to`, and those of `to` that are left.
fn pair<'a>(
    from: &[&RecordEntry],
    to: &[&'a RecordEntry],
) -> (Vec<Option<&'a RecordEntry>>, Vec<&'a RecordEntry>) {
    let mut by_content: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, entry) in to.iter().enumerate().rev() {
        let content = entry.canonical_without_comments();
        by_content.entry(content).or_default().push(index);
    }
    let mut is_free = vec![true; to.len()];
    let mut partners: Vec<Option<&RecordEntry>> = Vec::with_capacity(from.len());
    for entry in from {
        let index = by_content
            .get_mut(&entry.canonical_without_comments())
            .and_then(Vec::pop);
        partners.push(index.map(|index| to[index]));
        if let Some(index) = index {
            is_free[index] = false;
        }
    }
    let mut free = to.iter().zip(is_free).filter(|(_, is_free)| *is_free);
    for partner in partners.iter_mut().filter(|partner| partner.is_none()) {
        *partner = free.next().map(|(entry, _)| *entry);
    }
    let rest = free.map(|(entry, _)| *entry).collect();
    (partners, rest)
}
