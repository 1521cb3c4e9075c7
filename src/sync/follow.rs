//! Makes the records of one domain follow the items of its lists. Pure.
//!
//! A source that states a key of a group owns the group in that record. All other keys are people's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use urldb_canon::Scheme;
use urldb_format::{Mapping, Metadata, Record, RecordIdentity, differing_headers};
use urldb_interchange::{ListItem, Location};
use urldb_render::numbers::counted;
use urldb_text::{Code, Finding};

use super::groups::{Group, group_of};

/// Options of following.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FollowOptions {
    /// Records that no list made, and that say what a list says, get its name.
    pub(crate) adopt: bool,
    /// Records are removed even if most of a list is gone.
    pub(crate) force: bool,
}

/// The rules of a source about its records.
#[derive(Debug, Clone)]
pub(crate) struct SourceRule {
    /// Whether records stay when the list has them no more.
    pub(crate) keeps: bool,
    /// Whether some of the list was not taken: then none of its records is removed.
    pub(crate) is_incomplete: bool,
    /// The groups of keys that items of the format can state.
    pub(crate) states: &'static [Group],
}

/// A record of the database, as `follow` finds it.
#[derive(Debug, Clone)]
pub(crate) struct KnownRecord {
    pub(crate) record: Record,
    pub(crate) location: Location,
}

/// The changes of one domain, and what was counted.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// Records to write, new ones among them.
    pub(crate) put: Vec<Record>,
    pub(crate) remove: BTreeSet<RecordIdentity>,
    pub(crate) added: u64,
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    /// Records without `source` that say what a list says.
    pub(crate) agreeing: u64,
    /// Records with promises that no list states.
    pub(crate) with_own_promise: u64,
    /// For each source the records that had its name, and those of them that are removed.
    pub(crate) of_sources: BTreeMap<String, SourceCounts>,
    pub(crate) mistakes: Vec<Finding>,
    /// URLs of which no record holds what one list says.
    pub(crate) contradicted: BTreeSet<RecordIdentity>,
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

/// Follows the items of one domain. `known` has the records that a source claims or claimed. With `adopt`, lists own the
/// records without `source` that agree with them.
pub(crate) fn follow(
    metadata: &Metadata,
    known: Vec<KnownRecord>,
    items: Vec<ListItem>,
    rules: &BTreeMap<String, SourceRule>,
    adopt: bool,
) -> Followed {
    let mut followed = Followed::default();
    let mut claims = claims(metadata, items);
    for known in known {
        let identity = metadata.identity_of(&known.record);
        for name in &known.record.source {
            let counts = followed.of_sources.entry(name.clone()).or_default();
            counts.before += 1;
        }
        match claims.remove(&identity) {
            Some(items) => followed.update(metadata, identity, &known, &items, adopt),
            None => followed.leave(metadata, known.record, rules),
        }
    }
    for (identity, items) in claims {
        match combined(metadata, &items) {
            Ok(record) => {
                followed.added += 1;
                followed.put.push(record);
            }
            Err(mistake) => followed.contradict(identity, *mistake),
        }
    }
    followed
}

/// The items of each record, in the order of their locations, so that the order of sources and files has no effect.
fn claims(metadata: &Metadata, items: Vec<ListItem>) -> BTreeMap<RecordIdentity, Vec<ListItem>> {
    let mut claims: BTreeMap<RecordIdentity, Vec<ListItem>> = BTreeMap::new();
    for item in items {
        let identity = metadata.identity_of(&item.record);
        claims.entry(identity).or_default().push(item);
    }
    for items in claims.values_mut() {
        items.sort_by(|one, other| {
            let key = |item: &ListItem| (item.location.clone(), item.record.source.clone());
            key(one).cmp(&key(other))
        });
    }
    claims
}

/// The record that all items together state.
fn combined(metadata: &Metadata, items: &[ListItem]) -> Result<Record, Box<Finding>> {
    let mut stated = Mapping::new();
    let mut first_of: BTreeMap<String, &ListItem> = BTreeMap::new();
    let (mut schemes, mut sources, mut categories) = (vec![], vec![], vec![]);
    for item in items {
        let mut record = item.record.clone();
        schemes.extend(schemes_of(item));
        sources.append(&mut record.source);
        categories.append(&mut record.categories);
        record.schemes = vec![];
        for (key, value) in record.to_mapping() {
            match stated.get(&key) {
                None => {
                    stated.insert(&*key, value);
                    first_of.insert(key, item);
                }
                // One of several paths that differ in case, or of several names, is as good as the other.
                Some(known) if *known == value || !is_promise(&key) => {}
                Some(_) => return Err(Box::new(contradiction(first_of[&key], item, &key))),
            }
        }
    }
    let mut record = Record::from_mapping(stated).unwrap_or_default();
    for (list, all) in [
        (&mut record.source, sources),
        (&mut record.categories, categories),
    ] {
        list.extend(all);
        list.sort();
        list.dedup();
    }
    metadata.set_schemes(&mut record, &schemes);
    Ok(record)
}

/// The schemes of the URLs of an item.
pub(crate) fn schemes_of(item: &ListItem) -> Vec<Scheme> {
    let implied = || Metadata::for_schemes(&[item.scheme]);
    let metadata = item.metadata.clone().unwrap_or_else(implied);
    metadata.schemes_of(&item.record)
}

/// Whether two items cannot both be right if they differ in this key.
pub(super) fn is_promise(key: &str) -> bool {
    group_of(key).is_some_and(Group::is_promise)
        || matches!(key, "method" | "request-body" | "request-headers")
}

fn contradiction(first: &ListItem, item: &ListItem, key: &str) -> Finding {
    let path = &item.record.path;
    let message = if first.scheme == item.scheme {
        let url = item.url().map_or_else(|| path.clone(), String::from);
        format!(
            "{url} is promised otherwise in {}: `{key}` differs",
            first.location
        )
    } else {
        format!(
            "http and https of {path} are promised differently in {}; one record holds one promise",
            first.location
        )
    };
    with_vary_help(
        finding(Code::ListContradiction, &item.location, message),
        (&first.record, &item.record),
    )
}

/// The mistake about two records, with the way to tell them apart if they differ in a request header.
fn with_vary_help(mistake: Finding, (one, other): (&Record, &Record)) -> Finding {
    match differing_headers(one, other) {
        Some(names) => {
            let names = names.join(", ");
            mistake.with_help(format!("add `vary: [{names}]` to the metadata"))
        }
        None => mistake,
    }
}

impl Followed {
    /// A record that lists claim.
    fn update(
        &mut self,
        metadata: &Metadata,
        identity: RecordIdentity,
        known: &KnownRecord,
        items: &[ListItem],
        adopt: bool,
    ) {
        let claim = match combined(metadata, items) {
            Ok(claim) => claim,
            Err(mistake) => return self.contradict(identity, *mistake),
        };
        let mut record = known.record.clone();
        if record.source.is_empty() {
            if let Some(what) = difference(metadata, &record, &claim) {
                let mistake = hand_written(&items[0], known, &what);
                return self.contradict(identity, mistake);
            }
            self.agreeing += 1;
            if adopt {
                record = owned(metadata, &record, &claim);
            }
        } else {
            self.with_own_promise += u64::from(has_own_promise(&record, &claim));
            record = owned(metadata, &record, &claim);
        }
        if record == known.record {
            self.unchanged += 1;
        } else {
            self.updated += 1;
            self.put.push(record);
        }
    }

    /// A record that no list has.
    fn leave(
        &mut self,
        metadata: &Metadata,
        mut record: Record,
        rules: &BTreeMap<String, SourceRule>,
    ) {
        if record.source.is_empty() {
            return;
        }
        let is_incomplete = |name: &String| rules.get(name).is_some_and(|it| it.is_incomplete);
        if record.source.iter().any(is_incomplete) {
            self.unchanged += 1;
            return;
        }
        let names = std::mem::take(&mut record.source);
        let rules: Vec<_> = names.iter().map(|name| rules.get(name)).collect();
        let is_own = |group: &Group| {
            // A source that urldb.toml has no more may have stated everything.
            let states =
                |rule: Option<&SourceRule>| rule.is_none_or(|it| it.states.contains(group));
            group.is_promise() && !rules.iter().copied().any(states)
        };
        let stays =
            rules.iter().flatten().any(|rule| rule.keeps) || groups_of(&record).iter().any(is_own);
        if stays {
            self.updated += 1;
            self.put.push(record);
            return;
        }
        for name in names {
            self.of_sources.entry(name).or_default().removed += 1;
        }
        self.remove.insert(metadata.exact_identity_of(&record));
    }

    fn contradict(&mut self, identity: RecordIdentity, mistake: Finding) {
        self.mistakes.push(mistake);
        self.contradicted.insert(identity);
    }
}

/// The groups of which the record has a key.
fn groups_of(record: &Record) -> Vec<Group> {
    let mapping = record.to_mapping();
    let mut groups: Vec<Group> = mapping
        .iter()
        .filter_map(|(key, _)| group_of(key))
        .collect();
    groups.dedup();
    groups
}

/// Whether the record promises what no list states.
fn has_own_promise(record: &Record, claim: &Record) -> bool {
    let stated = groups_of(claim);
    let own = groups_of(record).into_iter();
    own.filter(|group| group.is_promise())
        .any(|group| !stated.contains(&group))
}

/// The record with the keys that the lists own.
fn owned(metadata: &Metadata, record: &Record, claim: &Record) -> Record {
    let stated = groups_of(claim);
    let is_owned = |key: &str| group_of(key).is_some_and(|group| stated.contains(&group));
    let (schemes, source) = (metadata.schemes_of(claim), claim.source.clone());
    let mut categories = record.categories.clone();
    categories.extend(claim.categories.iter().cloned());
    let kept = record
        .to_mapping()
        .into_iter()
        .filter(|(key, _)| !is_owned(key));
    let new = claim
        .to_mapping()
        .into_iter()
        .filter(|(key, _)| is_owned(key));
    let mapping: Mapping = kept.chain(new).collect();
    let mut record = Record::from_mapping(mapping).unwrap_or_default();
    categories.sort();
    categories.dedup();
    record.categories = categories;
    record.source = source;
    if metadata.schemes_of(&record) != schemes {
        metadata.set_schemes(&mut record, &schemes);
    }
    record
}

/// The first difference between a record that people wrote and the lists; absent keys are none.
fn difference(metadata: &Metadata, record: &Record, claim: &Record) -> Option<String> {
    let asked = metadata.schemes_of(record);
    let missing = metadata
        .schemes_of(claim)
        .into_iter()
        .find(|it| !asked.contains(it));
    if let Some(scheme) = missing {
        return Some(format!("it is not asked over {scheme}"));
    }
    let known = record.to_mapping();
    let claim = claim.to_mapping();
    let mut keys = claim.iter().filter(|(key, _)| is_promise(key));
    let other = keys.find(|(key, value)| known.get(key).is_some_and(|known| known != *value));
    other.map(|(key, _)| format!("`{key}` differs"))
}

fn hand_written(item: &ListItem, known: &KnownRecord, what: &str) -> Finding {
    let url = item
        .url()
        .map_or_else(|| item.record.path.clone(), String::from);
    let message = format!(
        "{url} has a record that no list made in {}, and {what}; change one of the two",
        known.location
    );
    with_vary_help(
        finding(Code::ListContradiction, &item.location, message),
        (&known.record, &item.record),
    )
}

/// A mistake at a place in a list.
pub(crate) fn finding(code: Code, location: &Location, message: impl Into<String>) -> Finding {
    Finding::new(code, location.line_number(), message).in_file(Path::new(&*location.file))
}
