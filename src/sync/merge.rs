//! Merges the items of lists into the records of one domain. Pure.

use std::collections::BTreeMap;

use urldb_format::{Metadata, Record, RecordIdentity};
use urldb_interchange::ListItem;

use super::claim::{Claim, schemes_of};
use super::fill;
use super::follow::{self, SourceRule};
use super::outcome::{DomainChanges, KnownRecord, Outcome};
use super::spool::Items;

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
    pub(super) fn metadata_for(self, items: &[Box<ListItem>]) -> Metadata {
        items
            .iter()
            .find_map(|item| item.metadata.clone())
            .filter(|_| !self.is_follow())
            .unwrap_or_else(|| {
                let urls = items.iter().flat_map(|item| {
                    schemes_of(item)
                        .into_iter()
                        .map(|scheme| (item.record.path.as_str(), scheme))
                });
                Metadata::of_urls(urls)
            })
    }

    /// The record of a URL that the database does not know.
    fn new_record(self, claim: Claim, metadata: &Metadata) -> Record {
        let mut record = claim.item.record;
        match self {
            Self::Fill if claim.has_own_schemes => {
                metadata.set_schemes(&mut record, &claim.schemes);
            }
            Self::Follow { .. } => metadata.set_schemes(&mut record, &claim.schemes),
            Self::Fill => metadata.add_schemes(&mut record, false, &claim.schemes),
        }
        record
    }
}

/// The items of the domain file of a host, as they are merged into its records one by one.
pub(super) struct Merge<'a> {
    host: &'a str,
    metadata: &'a Metadata,
    policy: MergePolicy<'a>,
    urls: BTreeMap<RecordIdentity, Items>,
    changes: DomainChanges,
}

impl<'a> Merge<'a> {
    pub(super) fn new(
        host: &'a str,
        metadata: &'a Metadata,
        mut items: Items,
        policy: MergePolicy<'a>,
    ) -> Self {
        if policy.is_follow() {
            // The order of sources and files has no effect.
            items.sort_by(|one, other| {
                one.location
                    .cmp(&other.location)
                    .then_with(|| one.record.source.cmp(&other.record.source))
            });
        }
        let mut urls: BTreeMap<RecordIdentity, Items> = BTreeMap::new();
        for item in items {
            let identity = metadata.identity_of(&item.record);
            urls.entry(identity).or_default().push(item);
        }
        Self {
            host,
            metadata,
            policy,
            urls,
            changes: DomainChanges::default(),
        }
    }

    /// Whether an item may be about a record with this path.
    pub(super) fn may_have(&self, path: &str) -> bool {
        // The first identity with the path.
        let start = RecordIdentity::get(path);
        self.metadata.case_sensitive_paths == Some(false)
            || self
                .urls
                .range(start..)
                .next()
                .is_some_and(|(identity, _)| identity.path == path)
    }

    /// Merges a record of the domain file.
    pub(super) fn add(&mut self, known: KnownRecord) {
        let identity = self.metadata.identity_of(&known.record);
        let items = self.urls.remove(&identity);
        if items.is_none() && known.record.source.is_empty() {
            return;
        }
        let (changes, metadata) = (&mut self.changes, self.metadata);
        for name in &known.record.source {
            changes.of_sources.entry(name.clone()).or_default().before += 1;
        }
        let claim =
            items.and_then(|items| Claim::of(items, self.host, metadata, &mut changes.left_out));
        match (claim, self.policy) {
            (Some(Err(contradiction)), _) => changes.contradict(identity, contradiction),
            (Some(Ok(claim)), MergePolicy::Follow { adopt, .. }) => {
                follow::update(changes, metadata, &known, &claim, adopt);
            }
            (Some(Ok(claim)), MergePolicy::Fill) => {
                fill::update(changes, metadata, &known, claim);
            }
            (None, MergePolicy::Follow { rules, .. }) => {
                follow::leave(changes, metadata, known.record, rules);
            }
            (None, MergePolicy::Fill) => {}
        }
    }

    /// Adds what the domain file lacks.
    pub(super) fn finish(self) -> DomainChanges {
        let Self {
            host,
            metadata,
            policy,
            urls,
            mut changes,
        } = self;
        for (identity, items) in urls {
            match Claim::of(items, host, metadata, &mut changes.left_out) {
                None => {}
                Some(Err(contradiction)) => changes.contradict(identity, contradiction),
                Some(Ok(claim)) => {
                    let record = policy.new_record(claim, metadata);
                    changes.records.push((Box::new(record), Outcome::Added));
                }
            }
        }
        changes
    }
}
