//! Properties of `follow`, for all lists and databases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proptest::prelude::*;
use urldb_canon::Scheme;
use urldb_format::{
    Algorithm, DomainFile, MarkerStyle, Merged, Metadata, Record, RecordIdentity, Versions, merge,
};
use urldb_interchange::{ListItem, Location};

use super::follow::SourceRule;
use super::groups::Group;
use super::merge::{Merge, MergePolicy};
use super::outcome::{DomainChanges, KnownRecord};

const SOURCES: [&str; 4] = ["four", "one", "three", "two"];

/// `one` states bytes, `two` and `four` state all, `three` states nothing; only `two` keeps records.
fn rules() -> BTreeMap<String, SourceRule> {
    let rule = |keeps, states| SourceRule {
        keeps,
        is_incomplete: false,
        states,
    };
    let rules = [
        ("one", rule(false, &[Group::Bytes][..])),
        ("two", rule(true, Group::ALL)),
        ("three", rule(false, &[])),
        ("four", rule(false, Group::ALL)),
    ];
    rules.map(|(name, rule)| (name.to_owned(), rule)).into()
}

fn digest(number: u8) -> String {
    format!("{number:064x}")
}

pub(super) fn record() -> impl Strategy<Value = Record> {
    let path = (0..4_u8).prop_map(|number| format!("/{number}"));
    let length = prop::option::of(0..3_u64);
    let sha256 = prop::option::of((0..2_u8).prop_map(digest));
    let sha512 = prop::option::weighted(0.2, (0..2_u8).prop_map(|number| digest(number).repeat(2)));
    let status = prop::option::weighted(0.2, 300..302_u16);
    (path, length, sha256, sha512, status).prop_map(
        |(path, content_length, content_sha256, sha512, status)| Record {
            content_length,
            content_sha256,
            further_digests: sha512
                .map(|it| (Algorithm::Sha512, it))
                .into_iter()
                .collect(),
            status,
            ..Record::new(path)
        },
    )
}

/// The promised length and digests.
fn bytes(record: &Record) -> (Option<u64>, Vec<(Algorithm, &str)>) {
    let digests = Algorithm::ALL.into_iter();
    let digests = digests.filter_map(|it| Some((it, record.digest(it)?)));
    (record.content_length, digests.collect())
}

pub(super) fn scheme() -> impl Strategy<Value = Scheme> {
    prop_oneof![Just(Scheme::Http), Just(Scheme::Https)]
}

/// Gives a record the redirect that site rules promise.
fn redirect(record: &mut Record) {
    (record.status, record.redirects_to) = (Some(301), Some("/".to_owned()));
}

/// Items of the three sources; each states only what its format can, and some have a retired option.
fn items() -> impl Strategy<Value = Vec<ListItem>> {
    let item = (
        record(),
        scheme(),
        0..4_usize,
        1..9_u64,
        prop::bool::weighted(0.2),
    );
    let item = item.prop_map(|(mut record, scheme, source, line, is_retired)| {
        if !matches!(SOURCES[source], "two" | "four") {
            record.status = None;
        }
        if SOURCES[source] == "three" {
            (record.content_length, record.content_sha256) = (None, None);
            record.further_digests.clear();
        }
        if is_retired {
            redirect(&mut record);
        }
        record.source = vec![SOURCES[source].to_owned()];
        ListItem {
            location: Location::line(&format!("{}.txt", SOURCES[source]).into(), line),
            scheme,
            host: "example.test".to_owned(),
            record,
            ..ListItem::new(Location::line(&"x".into(), 1), "http://example.test/").unwrap()
        }
    });
    prop::collection::vec(item, 0..6)
}

/// The records of a file: some of people, some of sources, some with keys that only people write.
pub(super) fn file() -> impl Strategy<Value = BTreeMap<RecordIdentity, Record>> {
    let sources = prop::sample::subsequence(SOURCES.to_vec(), 0..=2);
    let retired = prop::bool::weighted(0.2);
    let record = (record(), sources, prop::bool::ANY, retired);
    let record = record.prop_map(|(mut record, sources, is_muted, is_retired)| {
        record.source = sources.iter().map(|name| (*name).to_owned()).collect();
        if is_muted {
            record.mute_until = Some("2030-01-01".to_owned());
        }
        if is_retired {
            redirect(&mut record);
        }
        (record.identity(), record)
    });
    prop::collection::vec(record, 0..4).prop_map(|records| records.into_iter().collect())
}

pub(super) type Records = BTreeMap<RecordIdentity, Record>;

pub(super) fn merged(
    metadata: &Metadata,
    file: &Records,
    items: &[ListItem],
    policy: MergePolicy<'_>,
) -> DomainChanges {
    let known = file.values().map(|record| KnownRecord {
        record: record.clone(),
        location: Location::line(&"urldb/example.test.yaml".into(), 1),
    });
    let items = items.iter().cloned().map(Box::new).collect();
    let mut merge = Merge::new("example.test", metadata, items, policy);
    for record in known {
        merge.add(record);
    }
    merge.finish()
}

fn followed(metadata: &Metadata, file: &Records, items: &[ListItem], adopt: bool) -> DomainChanges {
    let rules = &rules();
    let policy = MergePolicy::Follow { rules, adopt };
    merged(metadata, file, items, policy)
}

pub(super) fn applied(mut file: Records, changes: DomainChanges) -> Records {
    for identity in &changes.remove {
        file.remove(identity).unwrap();
    }
    for record in changes.into_put() {
        file.insert(record.identity(), *record);
    }
    file
}

fn urls(metadata: &Metadata, file: &Records) -> BTreeSet<(String, &'static str)> {
    let urls = file.values().flat_map(|record| {
        let schemes = metadata.schemes_of(record).into_iter();
        schemes.map(|scheme| (record.path.clone(), scheme.as_str()))
    });
    urls.collect()
}

/// A list with one row for each of some paths; the value is a length.
type Rows = BTreeMap<u8, u64>;

/// One edit of a list: a row gets this length, or goes.
fn edit() -> impl Strategy<Value = (u8, Option<u64>)> {
    (0..6_u8, prop::option::of(0..9_u64))
}

fn edited(rows: &Rows, edits: &[(u8, Option<u64>)]) -> Rows {
    let mut rows = rows.clone();
    for (row, length) in edits {
        match length {
            Some(length) => rows.insert(*row, *length),
            None => rows.remove(row),
        };
    }
    rows
}

/// The text of the domain file after it has followed the rows.
fn synced(before: &Records, rows: &Rows) -> (Records, Vec<u8>) {
    let items = rows.iter().map(|(row, length)| {
        let location = Location::line(&"one.txt".into(), u64::from(*row) + 1);
        let mut item = ListItem::new(location, &format!("http://example.test/{row}")).unwrap();
        item.record.content_length = Some(*length);
        item.record.source = vec!["one".to_owned()];
        item
    });
    let metadata = Metadata::default();
    let items: Vec<_> = items.collect();
    let after = applied(before.clone(), followed(&metadata, before, &items, false));
    let mut file = DomainFile::create(Path::new("example.test.yaml"), metadata).unwrap();
    file.put_all(after.values().cloned()).unwrap();
    let text = file.canonical().unwrap();
    (after, text.into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn to_follow_twice_is_to_follow_once(file in file(), items in items(), adopt: bool, https: bool) {
        let metadata = Metadata::for_schemes(&[if https { Scheme::Https } else { Scheme::Http }]);
        let once = applied(file.clone(), followed(&metadata, &file, &items, adopt));
        let again = followed(&metadata, &once, &items, adopt);
        prop_assert!(again.is_empty());
    }

    #[test]
    fn the_order_of_items_has_no_effect(file in file(), items in items(), seed: u64) {
        let metadata = Metadata::default();
        let mut other = items.clone();
        other.sort_by_key(|item| {
            use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            hasher.hash_one((seed, item.location.to_string(), &item.record.path))
        });
        let one = followed(&metadata, &file, &items, false);
        let two = followed(&metadata, &file, &other, false);
        prop_assert_eq!(one.contradictions.len(), two.contradictions.len());
        prop_assert_eq!(applied(file.clone(), one), applied(file, two));
    }

    /// The database says what the lists say, and keeps what people said.
    #[test]
    fn records_say_what_lists_say_and_people_keep_theirs(file in file(), items in items()) {
        let metadata = Metadata::default();
        let result = followed(&metadata, &file, &items, false);
        let contradicted = result.contradicted.clone();
        prop_assert_eq!(contradicted.len(), result.contradictions.len());
        let after = applied(file.clone(), result);
        let mut of_lists = BTreeSet::new();
        for item in &items {
            let identity = item.record.identity();
            if contradicted.contains(&identity) {
                // What was there stays, and nothing is added.
                prop_assert_eq!(after.get(&identity), file.get(&identity));
                continue;
            }
            of_lists.insert((item.record.path.clone(), item.scheme.as_str()));
            let record = &after[&identity];
            let others = items.iter().filter(|it| it.record.identity() == identity);
            if others.count() == 1 && !record.source.is_empty() && bytes(&item.record) != bytes(&Record::default()) {
                // No digest of former bytes stays.
                prop_assert_eq!(bytes(record), bytes(&item.record));
            }
            let was_by_people = file.get(&identity).is_some_and(|it| it.source.is_empty());
            prop_assert!(was_by_people || record.source.contains(&item.record.source[0]));
            let says = |stated: bool, is_same: bool| !stated || is_same || was_by_people;
            prop_assert!(says(item.record.content_length.is_some(), record.content_length == item.record.content_length));
            prop_assert!(says(item.record.content_sha256.is_some(), record.content_sha256 == item.record.content_sha256));
            prop_assert!(says(item.record.status.is_some(), record.status == item.record.status));
        }
        for (identity, record) in &file {
            let now = after.get(identity);
            if record.source.is_empty() {
                prop_assert_eq!(now, Some(record));
            }
            if let Some(now) = now {
                prop_assert_eq!(&now.mute_until, &record.mute_until);
            }
        }
        // A record of lists is asked over the schemes of the lists, and no other.
        let is_of_lists = |record: &Record| {
            let is_claimed = items.iter().any(|item| item.record.path == record.path);
            is_claimed && !record.source.is_empty() && !contradicted.contains(&record.identity())
        };
        let listed: Records = after.into_iter().filter(|(_, record)| is_of_lists(record)).collect();
        let of_records: BTreeSet<_> = of_lists
            .into_iter()
            .filter(|(path, _)| listed.keys().any(|identity| identity.path == *path))
            .collect();
        prop_assert_eq!(urls(&metadata, &listed), of_records);
    }

    /// The redirect of a retired option is in a record of lists if, and only if, one of them has the option.
    #[test]
    fn the_redirect_of_a_retired_option_comes_and_goes(file in file(), items in items()) {
        let metadata = Metadata::default();
        let result = followed(&metadata, &file, &items, false);
        let contradicted = result.contradicted.clone();
        for (identity, record) in applied(file, result) {
            let of_record = || items.iter().filter(|item| item.record.identity() == identity);
            if record.source.is_empty() || contradicted.contains(&identity) || of_record().next().is_none() {
                continue;
            }
            let is_retired = of_record().any(|item| item.record.redirects_to.is_some());
            prop_assert_eq!(record.redirects_to.is_some(), is_retired);
        }
    }

    /// What no list has any more goes, but for what people own and what a source keeps.
    #[test]
    fn records_without_items_go_or_become_ordinary(file in file()) {
        let metadata = Metadata::default();
        let after = applied(file.clone(), followed(&metadata, &file, &[], false));
        for (identity, record) in &file {
            let has = |name: &str| record.source.iter().any(|source| source == name);
            let own_bytes = record.is_static() && !has("one") && !has("two") && !has("four");
            let is_own_status = record.status.is_some() && record.redirects_to.is_none();
            let own_status = is_own_status && !has("two") && !has("four");
            let stays = record.source.is_empty() || has("two") || own_bytes || own_status;
            prop_assert_eq!(after.contains_key(identity), stays, "{:?}", record);
        }
        prop_assert!(after.values().all(|record| record.source.is_empty()));
    }

    /// Branches that edit different rows of a list, and sync, merge to what a sync of the merged list gives.
    #[test]
    fn branches_that_edit_different_rows_merge(
        rows in prop::collection::btree_map(0..6_u8, 0..9_u64, 0..6),
        ours in prop::collection::vec(edit(), 0..3),
        theirs in prop::collection::vec(edit(), 0..3),
    ) {
        let is_ours = |row: u8| ours.iter().any(|edit| edit.0 == row);
        let theirs: Vec<_> = theirs.iter().copied().filter(|edit| !is_ours(edit.0)).collect();
        let (base, base_text) = synced(&Records::new(), &rows);
        let (_, ours_text) = synced(&base, &edited(&rows, &ours));
        let (_, theirs_text) = synced(&base, &edited(&rows, &theirs));
        let (_, wanted) = synced(&base, &edited(&edited(&rows, &ours), &theirs));
        let versions = Versions {
            base: Some(&base_text),
            ours: Some(&ours_text),
            theirs: Some(&theirs_text),
        };
        let merged = merge(versions, &MarkerStyle::default()).unwrap();
        prop_assert_eq!(merged, Merged::File { bytes: wanted, conflicts: vec![] });
    }
}
