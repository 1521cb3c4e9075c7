//! Merges the items of lists into the records of one domain. Pure.

use std::collections::BTreeMap;

use urldb_format::{Metadata, Record, RecordIdentity};
use urldb_interchange::ListItem;

use super::claim::{Claim, Items, schemes_of};
use super::fill;
use super::follow::{self, SourceRule};
use super::outcome::{DomainChanges, KnownRecord, Outcome};
use crate::database::schemes;

/// All that differs between `sync` and `import`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MergePolicy<'a> {
    /// `sync`: the lists decide about their records.
    Follow {
        /// The rules of each source.
        rules: &'a BTreeMap<String, SourceRule>,
        /// Whether lists own the records without `source` that agree with them.
        adopt: bool,
    },
    /// `import`: records get what they lack, and keep what they have.
    Fill,
}

impl MergePolicy<'_> {
    /// Whether the lists decide.
    pub(super) fn is_follow(self) -> bool {
        matches!(self, Self::Follow { .. })
    }

    /// The metadata for a new domain file.
    pub(super) fn metadata_for(self, items: &[ListItem]) -> Metadata {
        let stated = items.iter().find_map(|item| item.metadata.clone());
        let stated = stated.filter(|_| !self.is_follow());
        stated.unwrap_or_else(|| {
            let urls = items.iter().flat_map(|item| {
                let schemes = schemes_of(item).into_iter();
                schemes.map(|scheme| (item.record.path.as_str(), scheme))
            });
            schemes::metadata_for(urls)
        })
    }

    /// The record of a URL that the database does not know.
    fn new_record(self, claim: Claim, metadata: &Metadata) -> Record {
        let mut record = claim.item.record;
        match self {
            Self::Follow { .. } => metadata.set_schemes(&mut record, &claim.schemes),
            Self::Fill => schemes::add(metadata, &mut record, false, &claim.schemes),
        }
        record
    }
}

/// Merges the items of the domain file of a host. `known` has the records that the items are about, and those that a
/// source claims or claimed.
pub(crate) fn merge(
    host: &str,
    metadata: &Metadata,
    known: Vec<KnownRecord>,
    mut items: Vec<ListItem>,
    policy: MergePolicy<'_>,
) -> DomainChanges {
    if policy.is_follow() {
        // The order of sources and files has no effect.
        items.sort_by(|one, other| {
            let locations = one.location.cmp(&other.location);
            locations.then_with(|| one.record.source.cmp(&other.record.source))
        });
    }
    let mut changes = DomainChanges::default();
    let mut groups: BTreeMap<RecordIdentity, Items> = BTreeMap::new();
    for item in items {
        let identity = metadata.identity_of(&item.record);
        match groups.get_mut(&identity) {
            Some(group) => group.more.push(item),
            None => drop(groups.insert(identity, Items::of(item))),
        }
    }
    for known in known {
        for name in &known.record.source {
            let counts = changes.of_sources.entry(name.clone()).or_default();
            counts.before += 1;
        }
        let identity = metadata.identity_of(&known.record);
        let claim = groups.remove(&identity);
        let claim = claim.map(|items| Claim::of(items, host, metadata, &mut changes.left_out));
        match (claim, policy) {
            (Some(Err(dispute)), _) => changes.contradict(identity, dispute),
            (Some(Ok(claim)), MergePolicy::Follow { adopt, .. }) => {
                follow::update(&mut changes, metadata, &known, &claim, adopt);
            }
            (Some(Ok(claim)), MergePolicy::Fill) => {
                fill::update(&mut changes, metadata, &known, claim);
            }
            (None, MergePolicy::Follow { rules, .. }) => {
                follow::leave(&mut changes, metadata, known.record, rules);
            }
            (None, MergePolicy::Fill) => {}
        }
    }
    for (identity, items) in groups {
        match Claim::of(items, host, metadata, &mut changes.left_out) {
            Err(dispute) => changes.contradict(identity, dispute),
            Ok(claim) => {
                let record = policy.new_record(claim, metadata);
                changes.records.push((record, Outcome::Added));
            }
        }
    }
    changes
}
