//! Properties of every import.

use proptest::prelude::*;
use urldb_canon::Scheme;
use urldb_format::{Algorithm, Mapping, Metadata, Record};
use urldb_interchange::{ListItem, Location};

use super::follow_tests::{Records, applied, file, merged, record, scheme};
use super::merge::MergePolicy;
use super::outcome::DomainChanges;

fn filled(metadata: &Metadata, file: &Records, items: &[ListItem]) -> DomainChanges {
    merged(metadata, file, items, MergePolicy::Fill)
}

fn few_words() -> impl Strategy<Value = Option<String>> {
    let words = prop_oneof![Just("a".to_owned()), Just("b".to_owned())];
    prop::option::weighted(0.3, words)
}

fn mapping(key: &str, value: Option<String>) -> Mapping {
    let pairs = value.map(|value| (key.to_owned(), value.into()));
    pairs.into_iter().collect()
}

/// Records with every kind of key.
fn rich_record() -> impl Strategy<Value = Record> {
    let words = [(); 6].map(|()| few_words());
    (record(), words).prop_map(|(record, words)| {
        let [name, kind, sha512, header, position, extra] = words;
        let digest = sha512.map(|text| (Algorithm::Sha512, text.repeat(128)));
        Record {
            categories: name.clone().into_iter().collect(),
            name,
            content_type: kind,
            further_digests: digest.into_iter().collect(),
            request_headers: mapping("Accept", header),
            catalogue: position.map(|text| mapping("position", Some(text))),
            extra: mapping("team", extra),
            ..record
        }
    })
}

fn items() -> impl Strategy<Value = Vec<ListItem>> {
    let item = (rich_record(), scheme(), 1..9_u64).prop_map(|(record, scheme, line)| ListItem {
        scheme,
        host: "example.test".to_owned(),
        record,
        ..ListItem::new(
            Location::line(&"a.csv".into(), line),
            "http://example.test/",
        )
        .unwrap()
    });
    prop::collection::vec(item, 0..6)
}

/// The records of people and of sources, with every kind of key.
fn rich_file() -> impl Strategy<Value = Records> {
    let rich = prop::collection::vec(rich_record(), 0..4);
    (file(), rich).prop_map(|(mut file, rich)| {
        file.extend(rich.into_iter().map(|record| (record.identity(), record)));
        file
    })
}

/// The keys with one value, which must not change once they are there.
fn fixed(record: &Record) -> Mapping {
    let keys = record.to_mapping().into_iter();
    keys.filter(|(key, _)| !matches!(&**key, "categories" | "catalogue" | "schemes"))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A record keeps all that it says, and runs ask for it as before.
    #[test]
    fn fill_changes_no_promise(file in rich_file(), items in items(), https: bool) {
        let metadata = Metadata::for_schemes(&[if https { Scheme::Https } else { Scheme::Http }]);
        let changes = filled(&metadata, &file, &items);
        prop_assert!(changes.remove.is_empty());
        let after = applied(file.clone(), changes);
        for (identity, before) in &file {
            let after = &after[identity];
            let now = fixed(after);
            for (key, value) in fixed(before).iter() {
                prop_assert_eq!(now.get(key), Some(value), "{}", key);
            }
            prop_assert_eq!(&after.request_headers, &before.request_headers);
            prop_assert!(before.categories.iter().all(|it| after.has_category(it)));
            let asked = metadata.schemes_of(after);
            prop_assert!(metadata.schemes_of(before).iter().all(|it| asked.contains(it)));
        }
    }

    #[test]
    fn to_fill_twice_is_to_fill_once(file in rich_file(), items in items()) {
        let metadata = Metadata::default();
        let first = filled(&metadata, &file, &items);
        let contradictions = first.contradictions.clone();
        let once = applied(file, first);
        let again = filled(&metadata, &once, &items);
        prop_assert!(again.is_empty());
        prop_assert_eq!(again.contradictions, contradictions);
    }

    /// A promise of the list is in its record, or it contradicts another one.
    #[test]
    fn records_get_what_they_lack(file in rich_file(), items in items()) {
        let metadata = Metadata::default();
        let changes = filled(&metadata, &file, &items);
        let contradicted = changes.contradicted.clone();
        let after = applied(file, changes);
        for item in items {
            let identity = item.record.identity();
            if contradicted.contains(&identity) {
                continue;
            }
            let record = &after[&identity];
            let has = record.to_mapping();
            prop_assert!(metadata.schemes_of(record).contains(&item.scheme));
            for (key, value) in item.record.to_mapping().iter() {
                let is_promise = !matches!(key, "categories" | "catalogue" | "name" | "team");
                prop_assert!(has.get(key).is_some(), "{}", key);
                prop_assert!(!is_promise || has.get(key) == Some(value), "{}", key);
            }
        }
    }
}

#[test]
fn of_several_captures_the_latest_counts() {
    let capture = |moment: &str, length, sha256: Option<char>| {
        let mut item = ListItem::new(
            Location::line(&"index.cdxj".into(), 1),
            "http://example.test/",
        )
        .unwrap();
        item.moment = Some(moment.to_owned());
        item.record.content_length = length;
        item.record.content_sha256 = sha256.map(|digit| digit.to_string().repeat(64));
        item
    };
    for (captures, length, sha256) in [
        (
            vec![
                capture("1", Some(1), Some('a')),
                capture("2", Some(2), Some('b')),
            ],
            Some(2),
            Some('b'),
        ),
        (
            vec![
                capture("2", Some(2), Some('b')),
                capture("1", Some(1), Some('a')),
            ],
            Some(2),
            Some('b'),
        ),
        // The same bytes as before have the same length.
        (
            vec![
                capture("1", Some(1), Some('a')),
                capture("2", None, Some('a')),
            ],
            Some(1),
            Some('a'),
        ),
        (
            vec![
                capture("1", Some(1), Some('a')),
                capture("2", None, Some('b')),
            ],
            None,
            Some('b'),
        ),
        (
            vec![capture("1", Some(1), Some('a')), capture("2", None, None)],
            None,
            None,
        ),
    ] {
        let changes = filled(&Metadata::default(), &Records::new(), &captures);
        assert_eq!(changes.contradictions, []);
        let records: Vec<Box<Record>> = changes.into_put().collect();
        let digest = sha256.map(|digit| digit.to_string().repeat(64));
        assert_eq!(
            (records[0].content_length, &records[0].content_sha256),
            (length, &digest),
            "{captures:?}"
        );
    }
}
