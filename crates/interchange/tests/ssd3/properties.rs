//! Whatever a catalogue or a database can hold goes there and back.

use std::collections::HashSet;

use proptest::prelude::*;
use urldb_canon::Identity;
use urldb_format::{Mapping, Metadata, Record, Value};
use urldb_interchange::ssd3::{CatalogueRecord, format_date, parse_date};

use crate::database::{Domain, exported, imported, items, text};
use crate::{parse, write};

/// Values that a catalogue can hold.
fn value() -> impl Strategy<Value = String> {
    "[ -~]{1,20}"
}

/// URIs that runs can check, and others, which are held.
fn uri() -> impl Strategy<Value = String> {
    let path = "(/[a-z.~%]{0,3}|/%7E|/%c3|\\?[a-z=&']{0,4}|#f){0,3}";
    let checked = ("(http|HTTP|https)", "[a-c]{1,2}\\.(test|TEST)(:80)?", path)
        .prop_map(|(scheme, host, path)| format!("{scheme}://{host}{path}"));
    let held = "(ftp|FTP|gopher)://[a-c]{1,2}\\.test(:[0-9]{1,5})?(/[a-z~%=]{0,3}){0,2}|(urn|doi|tel):[a-z0-9.]{1,6}|\
        https?://([a-c]\\.test:8[0-9]{1,3}|\\[[0-9a-f:]{2,6}\\](:80)?)(/[a-z]?)?(\\?q)?(#f)?";
    prop_oneof![3 => checked, 2 => held]
}

prop_compose! {
    fn catalogue_record()(
        uri in uri(),
        name in value(),
        seconds in 0i64..200_000_000,
        optional in proptest::collection::btree_map("CATEGORY|DESCRIPTION|X-[A-Za-z0-9_-]{1,5}", value(), 0..4),
        rating in proptest::option::of(1u8..=5),
        id in proptest::option::of("0{0,2}[1-9][0-9]{0,25}"),
        typed in any::<(bool, bool)>(),
    ) -> CatalogueRecord {
        let mut record = CatalogueRecord::default();
        let date = parse_date("01/01/2001 00:00:00").unwrap().checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap();
        let fields = [("URI", uri), ("NAME", name), ("DATE", format_date(date))];
        let rating = rating.map(|rating| ("RATING", rating.to_string()));
        let id = id.map(|id| ("ID", id));
        let typed = [("LANGUAGE", "en-gb", typed.0), ("TYPE", "text/html", typed.1)];
        for (name, value) in fields.into_iter().chain(rating).chain(id) {
            // Not every generated URI is one.
            let _ = record.push(name, &value);
        }
        for (name, value, _) in typed.iter().filter(|(.., is_wanted)| *is_wanted) {
            record.push(name, value).unwrap();
        }
        for (name, value) in &optional {
            record.push(name, value).unwrap();
        }
        record
    }
}

/// Records of different URLs and IDs.
fn catalogue() -> impl Strategy<Value = Vec<CatalogueRecord>> {
    proptest::collection::vec(catalogue_record(), 0..12).prop_map(|records| {
        let (mut urls, mut ids) = (HashSet::new(), HashSet::new());
        let is_new = |record: &CatalogueRecord| {
            let uri = record.get("URI").unwrap_or_default();
            let (host, path) = match urldb_canon::identify(uri) {
                Ok(Identity { host, path, .. }) => (host, path),
                Err(_) if urldb_canon::kind_of_held(uri).is_some() => {
                    (String::new(), uri.to_owned())
                }
                Err(_) => return false,
            };
            let id = record
                .get("ID")
                .map(|id| id.trim_start_matches('0').to_owned());
            let is_known = id.as_ref().is_some_and(|id| ids.contains(id));
            if is_known || !urls.insert((host, path)) {
                return false;
            }
            ids.extend(id);
            true
        };
        let mut is_new = is_new;
        records
            .into_iter()
            .filter(|record| is_new(record))
            .collect()
    })
}

/// A value; `scalar` makes text at a key that the database knows, and `Value::quoted` at others.
fn value_of(scalar: fn(&str) -> Value) -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,6}",
        "\\PC{0,4}",
        Just("\u{1F600}\t\n\u{7f}".to_owned())
    ];
    let leaf = text.prop_map(move |text| scalar(&text));
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::List),
            mapping("[a-z-]{1,4}", inner).prop_map(Value::Map),
        ]
    })
}

fn mapping(
    keys: &'static str,
    values: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Mapping> {
    proptest::collection::btree_map(keys, values, 0..4)
        .prop_map(|pairs| pairs.into_iter().collect())
}

fn promise_path() -> impl Strategy<Value = String> {
    prop_oneof!["/[a-z]{0,3}(\\?[a-z=]{1,3})?", "/[ -~]{0,5}", "/\\PC{0,3}"]
}

prop_compose! {
    fn promise()(
        path in promise_path(),
        name in proptest::option::of(prop_oneof![value(), Just(String::new()), "\\PC{1,4}"]),
        length in proptest::option::of(any::<u64>()),
        digest in proptest::option::of(prop_oneof!["[0-9a-f]{64}", "[0-9A-F]{3}"]),
        content_type in proptest::option::of(prop_oneof!["text/html", "X-301-Redirect"]),
        categories in proptest::collection::btree_set("[a-zé-]{1,4}", 0..3),
        catalogue in proptest::option::of(mapping("date|uri|id|rating|x|position|type|category|[a-z]{1,4}", value_of(|text| text.into()))),
        own in proptest::option::of(prop_oneof![
            Just(("date", "31/10/2007 19:03:34")), Just(("uri", "http://a.test/B")), Just(("position", "3")), Just(("id", "7")),
        ]),
        x in mapping("X-[A-Z]{1,2}|X-DB-Extra|[a-z]{1,3}", value_of(|text| text.into())),
        extra in mapping("[a-z-]{1,6}", value_of(Value::quoted)),
        post in any::<bool>(),
        schemes in prop_oneof![Just(""), Just("http"), Just("https"), Just("http https")],
    ) -> Record {
        let mut mapping: Mapping = extra;
        mapping.insert("_path", path);
        let mut record = Record::from_mapping(mapping).unwrap();
        (record.name, record.content_length, record.content_sha256, record.content_type) = (name, length, digest, content_type);
        record.categories = categories.into_iter().collect();
        record.method = post.then(|| "POST".to_owned());
        record.schemes = schemes.split_whitespace().map(str::to_owned).collect();
        record.catalogue = catalogue;
        if let (Some(catalogue), Some((key, value))) = (&mut record.catalogue, own) {
            catalogue.insert(key, value);
            catalogue.insert("x", x);
        }
        record
    }
}

prop_compose! {
    fn metadata()(
        (http, https) in prop_oneof![Just((true, false)), Just((false, true)), Just((true, true))],
        cnames in proptest::collection::btree_set("[a-z]{1,3}\\.test|, é", 0..3),
        extra in mapping("[b-g]{1,4}", value_of(Value::quoted)),
    ) -> Metadata {
        Metadata { http, https, cnames: cnames.into_iter().collect(), extra, ..Metadata::default() }
    }
}

fn database() -> impl Strategy<Value = Vec<Domain>> {
    let domain = (metadata(), proptest::collection::vec(promise(), 1..5));
    proptest::collection::btree_map("[a-c]{1,2}\\.test", domain, 0..4).prop_map(|domains| {
        let unique = |records: Vec<Record>| {
            let mut seen = HashSet::new();
            records
                .into_iter()
                .filter(|record| seen.insert(record.identity()))
                .collect()
        };
        let domains = domains.into_iter().map(|(host, (metadata, mut records))| {
            // Schemes that repeat those of the domain are no part of a record.
            for record in &mut records {
                metadata.set_schemes(record, &metadata.schemes_of(record));
            }
            (host, metadata, unique(records))
        });
        domains.collect()
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_again(catalogue in catalogue()) {
        let bytes = write(catalogue.clone()).unwrap();
        let (records, told, fatal) = parse(&bytes);
        prop_assert!(!fatal && told.iter().all(|code| code == "recommended-missing:DESCRIPTION"));
        prop_assert_eq!(records, catalogue);
    }

    #[test]
    fn a_catalogue_goes_through_the_database_unchanged(catalogue in catalogue()) {
        let domains = imported(items(&write(catalogue.clone()).unwrap()));
        let again = exported(&domains);
        prop_assert_eq!(&again, &catalogue);
        prop_assert_eq!(write(again).unwrap(), write(catalogue).unwrap());
    }

    #[test]
    fn a_database_goes_through_a_catalogue_unchanged(domains in database()) {
        let catalogue = write(exported(&domains)).unwrap();
        let again = imported(items(&catalogue));
        prop_assert_eq!(text(&again), text(&domains), "{}", String::from_utf8_lossy(&catalogue));
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        "((URI|NAME|DATE|ID|X-A|x)(: |:)?[ -~]{0,5}|\r\n|\n|\r){0,30}".prop_map(String::into_bytes),
    ]) {
        let (records, ..) = parse(&bytes);
        let again = write(records.clone()).unwrap();
        prop_assert_eq!(parse(&again).0, records);
    }
}
