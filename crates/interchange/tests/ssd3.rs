//! Catalogues: the vectors, what the specification shows, and the way there and back.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Cursor;

use jiff::civil::DateTime;
use proptest::prelude::*;
use serde_json::Value as Json;
use urldb_canon::Scheme;
use urldb_format::{Mapping, Metadata, Record as Promise, Value};
use urldb_interchange::item::implied_metadata;
use urldb_interchange::ssd3::{
    Error, Reader, Record, WriteError, Writer, format_date, from_database, parse_date, read,
    sort_key,
};
use urldb_interchange::{Found, Item, Listed, Weight};

fn vectors() -> Vec<Json> {
    let file: Json = serde_json::from_str(include_str!("ssd3.json")).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

/// The records of a document, the codes of what was told, and whether it was refused as a whole.
fn parse(text: &[u8]) -> (Vec<Record>, Vec<String>, bool) {
    let mut told = Vec::new();
    let mut reader = match Reader::new(Cursor::new(text)) {
        Ok(reader) => reader,
        Err(Error::Forbidden { .. }) => {
            return (vec![], vec!["forbidden-character".to_owned()], true);
        }
        Err(error) => panic!("{error}"),
    };
    let mut records = Vec::new();
    while let Some((_, record)) = reader
        .next_record(&mut |diagnostic| {
            assert!(diagnostic.line > 0 && diagnostic.fault.section().contains('.'));
            told.push(diagnostic.fault.to_string());
        })
        .unwrap()
    {
        records.push(record);
    }
    (records, told, false)
}

fn as_json(record: &Record) -> BTreeMap<&str, &str> {
    record.fields().collect()
}

#[test]
fn every_vector_holds() {
    let vectors = vectors();
    assert!(vectors.len() > 50);
    for vector in &vectors {
        let (records, told, fatal) = parse(vector["input"].as_str().unwrap().as_bytes());
        let expect = &vector["expect"];
        let records: Vec<_> = records.iter().map(as_json).collect();
        assert_eq!(
            serde_json::to_value(&records).unwrap(),
            expect["records"],
            "{vector:#}"
        );
        assert_eq!(
            serde_json::to_value(&told).unwrap(),
            expect["diagnostics"],
            "{vector:#}"
        );
        assert_eq!(
            fatal,
            expect["fatal"].as_bool().unwrap_or(false),
            "{vector:#}"
        );
    }
}

#[test]
fn the_lines_of_what_is_discarded_are_told() {
    let text = "URI: http://a.test/\r\nNAME: a\r\nFOO: x\r\nDATE: 31/10/2007 19:03:34\r\n\r\n\r\nNAME: b\r\n";
    let mut told = Vec::new();
    let mut reader = Reader::new(Cursor::new(text)).unwrap();
    while reader
        .next_record(&mut |diagnostic| told.push(diagnostic))
        .unwrap()
        .is_some()
    {}
    let told: Vec<_> = told
        .iter()
        .map(|it| {
            (
                it.line,
                it.fault.to_string(),
                it.fault.section(),
                it.message.as_str(),
            )
        })
        .collect();
    let code = str::to_owned;
    assert_eq!(
        told,
        [
            (
                3,
                code("unrecognised-field"),
                "2.2",
                "the field is discarded: there is no field FOO; extensions begin with X-"
            ),
            (
                1,
                code("recommended-missing:DESCRIPTION"),
                "3.5",
                "a description is recommended"
            ),
            (
                7,
                code("record-discarded"),
                "2.2",
                "the record is discarded: it has no good URI"
            ),
        ]
    );
}

#[test]
fn an_id_is_a_number_of_any_size_and_only_the_first_keeps_it() {
    let record = |id: &str| {
        format!(
            "URI: http://a.test/\r\nNAME: {id}\r\nDATE: 31/10/2007 19:03:34\r\nDESCRIPTION: d\r\nID: {id}\r\n\r\n"
        )
    };
    let long = "9".repeat(500);
    let (records, told, _) = parse(
        [record("7"), record("007"), record(&long), record(&long)]
            .concat()
            .as_bytes(),
    );
    let ids: Vec<_> = records.iter().map(|record| record.get("ID")).collect();
    assert_eq!(ids, [Some("7"), None, Some(long.as_str()), None]);
    assert_eq!(told, ["duplicate-id", "duplicate-id"]);
}

#[test]
fn an_endless_line_is_discarded_without_being_held() {
    let long = "x".repeat(3 << 20);
    let text = format!(
        "URI: http://a.test/\r\nNAME: a\r\nCATEGORY: {long}\r\nDATE: 31/10/2007 19:03:34\r\nDESCRIPTION: d\r\n"
    );
    let (records, told, _) = parse(text.as_bytes());
    assert_eq!(
        (records.len(), told),
        (1, vec!["invalid-field:too-long".to_owned()])
    );
}

#[test]
fn values_are_checked_as_their_sections_say() {
    let mut record = Record::default();
    let mut good = |name, value| {
        let good = record.push(name, value).is_ok();
        record.remove(name);
        good
    };
    for uri in [
        "urn:isbn:1",
        "mailto:a@b.test",
        "http://[::1]:80/?a#b",
        "http://u:p@a.test/",
        "http:",
        "ftp://a/",
    ] {
        assert!(good("URI", uri), "{uri}");
    }
    for uri in [
        "//a.test/",
        "1http://a",
        "http://a b/",
        "http://a/#a#b",
        "http://[::1/",
        "http://a/%2",
        "http://a:b/",
        "a",
    ] {
        assert!(!good("URI", uri), "{uri}");
    }
    for language in ["de", "i-klingon", "EN-gb", "sgn-DE"] {
        assert!(good("LANGUAGE", language), "{language}");
    }
    for language in ["x", "german", "de--AT", "de-123456789", "-", "1e"] {
        assert!(!good("LANGUAGE", language), "{language}");
    }
    for kind in [
        "text/html; charset=utf-8",
        "a/b;c=\"d e\"",
        "application/vnd.si+xml",
    ] {
        assert!(good("TYPE", kind), "{kind}");
    }
    for kind in [
        "text/html;",
        "text html",
        "/",
        "a/b/c",
        "text/html; charset",
    ] {
        assert!(!good("TYPE", kind), "{kind}");
    }
    assert!(good("DATE", "01/01/0000 00:00:00") && !good("DATE", "31/04/2007 00:00:00"));
    assert!(!good("DATE", "+1/01/2000 00:00:00") && !good("DATE", "01-01-2000 00:00:00"));
}

fn write(records: impl IntoIterator<Item = Record>) -> Result<Vec<u8>, WriteError> {
    let mut writer = Writer::new(Vec::new());
    records
        .into_iter()
        .try_for_each(|record| writer.write(&record))?;
    Ok(writer.finish().unwrap())
}

#[test]
fn the_writer_refuses_what_a_reader_would_discard() {
    let mut record = Record::default();
    record.push("URI", "http://a.test/").unwrap();
    assert!(matches!(
        write([record.clone()]),
        Err(WriteError::Missing { field: "NAME" })
    ));
    record.push("NAME", "a").unwrap();
    record.push("DATE", "31/10/2007 19:03:34").unwrap();
    record.push("ID", "1").unwrap();
    assert!(matches!(
        write([record.clone(), record.clone()]),
        Err(WriteError::DuplicateId { .. })
    ));
    assert!(record.push("CATEGORY", "a\r\nb").is_err() && record.push("CATEGORY", "").is_err());
}

const AMENDED: &str = "21/11/2026 10:30:00";

fn amended() -> DateTime {
    parse_date(AMENDED).unwrap()
}

/// One domain of a database.
type Domain = (String, Metadata, Vec<Promise>);

/// The database as a catalogue.
fn exported(domains: &[Domain]) -> Vec<Record> {
    let records = domains.iter().flat_map(|(domain, metadata, records)| {
        records.iter().map(move |record| Listed {
            domain,
            metadata,
            record,
        })
    });
    let mut placed: Vec<_> = records
        .map(|listed| from_database(&listed, amended()))
        .collect();
    placed.sort_by_key(sort_key);
    let mut ids = HashSet::new();
    placed
        .into_iter()
        .zip(1..)
        .map(|(placed, index)| placed.finish(index, &mut ids))
        .collect()
}

fn items(catalogue: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    read(Cursor::new(catalogue), &"a.uric".into(), &mut |found| {
        match found {
            Found::Item(item) => items.push(*item),
            Found::Notice(notice) => assert_eq!(notice.weight, Weight::Remark, "{notice}"),
        }
        Ok(())
    })
    .unwrap();
    items
}

/// The items as an empty database would have them.
fn imported(items: Vec<Item>) -> Vec<Domain> {
    let mut hosts: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for item in items {
        hosts.entry(item.host.clone()).or_default().push(item);
    }
    let domain = |(host, items): (String, Vec<Item>)| {
        let stated = items.iter().find_map(|item| item.metadata.clone());
        let metadata = stated.unwrap_or_else(|| implied_metadata(items[0].scheme));
        let records = items.into_iter().map(|mut item| {
            let listed = Listed {
                domain: &host,
                metadata: &metadata,
                record: &item.record,
            };
            if let Some(uri) = item.spelling.take().filter(|uri| *uri != listed.url()) {
                item.record
                    .catalogue
                    .get_or_insert_default()
                    .insert("uri", uri);
            }
            item.record
        });
        let mut records: Vec<_> = records.collect();
        records.sort_by_key(Promise::identity);
        (host, metadata, records)
    };
    hosts.into_iter().map(domain).collect()
}

/// The text of a database: what it says, whatever the order in memory.
fn text(domains: &[Domain]) -> String {
    let mut text = String::new();
    for (domain, metadata, records) in domains {
        let mut records: Vec<_> = records.iter().collect();
        records.sort_by_key(|record| record.identity());
        let documents: Vec<_> = records.iter().map(|record| record.to_mapping()).collect();
        writeln!(text, "{domain} {:?}", metadata.to_mapping().sorted()).unwrap();
        text.push_str(&urldb_format::write_documents(&documents));
    }
    text
}

#[test]
fn the_examples_of_the_specification_come_out_as_they_went_in() {
    for id in ["seed-4.1-full", "seed-4.2-minimum"] {
        let vectors = vectors();
        let vector = vectors.iter().find(|vector| vector["id"] == id).unwrap();
        let input = vector["input"].as_str().unwrap();
        let domains = imported(items(input.as_bytes()));
        let output = String::from_utf8(write(exported(&domains)).unwrap()).unwrap();
        // The writer ends the last line too.
        assert_eq!(output.trim_end(), input.trim_end(), "{}", text(&domains));
    }
}

#[test]
fn what_only_the_format_wants_is_marked_and_dropped() {
    let mut record = Promise::new("/caf%C3%A9?x=1");
    record.name = Some("Café".to_owned());
    record.content_length = Some(3);
    record.content_type = Some("text/html".to_owned());
    record.categories = vec!["core".to_owned(), "redirect-ok".to_owned()];
    let domains = [("a.test".to_owned(), Metadata::default(), vec![record])];
    let output = String::from_utf8(write(exported(&domains)).unwrap()).unwrap();
    assert_eq!(
        output,
        "URI: http://a.test/caf%C3%A9?x=1\r\nNAME: Caf?\r\nDATE: 21/11/2026 10:30:00\r\n\
         CATEGORY: core, redirect-ok\r\nTYPE: text/html\r\nX-Content-Length: 3\r\n\
         X-DB-Extra: {\"categories\":[\"core\",\"redirect-ok\"],\"content-type\":\"text/html\",\"name\":\"Caf\\u00e9\"}\r\n\
         X-DB-Synthesized: NAME, DATE, TYPE, CATEGORY, POSITION\r\n"
    );
    assert_eq!(text(&imported(items(output.as_bytes()))), text(&domains));
}

/// Values that a catalogue can hold.
fn value() -> impl Strategy<Value = String> {
    "[ -~]{1,20}"
}

fn uri() -> impl Strategy<Value = String> {
    let path = "(/[a-z.~%]{0,3}|/%7E|/%c3|\\?[a-z=&']{0,4}|#f){0,3}";
    ("(http|HTTP|https)", "[a-c]{1,2}\\.(test|TEST)(:80)?", path)
        .prop_map(|(scheme, host, path)| format!("{scheme}://{host}{path}"))
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
    ) -> Record {
        let mut record = Record::default();
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

/// Records of different URLs and IDs, each host with one scheme.
fn catalogue() -> impl Strategy<Value = Vec<Record>> {
    proptest::collection::vec(catalogue_record(), 0..12).prop_map(|records| {
        let (mut urls, mut ids, mut schemes) = (HashSet::new(), HashSet::new(), BTreeMap::new());
        let is_new = |record: &Record| {
            let Some(identity) = record
                .get("URI")
                .and_then(|uri| urldb_canon::identify(uri).ok())
            else {
                return false;
            };
            let scheme = *schemes
                .entry(identity.host.clone())
                .or_insert(identity.scheme);
            let id = record
                .get("ID")
                .map(|id| id.trim_start_matches('0').to_owned());
            let is_known =
                scheme != identity.scheme || id.as_ref().is_some_and(|id| ids.contains(id));
            if is_known || !urls.insert((identity.host, identity.path)) {
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

fn extra_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,6}",
        "\\PC{0,4}",
        Just("\u{1F600}\t\n\u{7f}".to_owned())
    ];
    let leaf = text.prop_map(Value::from);
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
        catalogue in proptest::option::of(mapping("date|uri|id|rating|x|position|type|category|[a-z]{1,4}", extra_value())),
        own in proptest::option::of(prop_oneof![
            Just(("date", "31/10/2007 19:03:34")), Just(("uri", "http://a.test/B")), Just(("position", "3")), Just(("id", "7")),
        ]),
        x in mapping("X-[A-Z]{1,2}|X-DB-Extra|[a-z]{1,3}", extra_value()),
        extra in mapping("[a-z-]{1,6}", extra_value()),
        post in any::<bool>(),
    ) -> Promise {
        let mut mapping: Mapping = extra;
        mapping.insert("_path", path);
        let mut record = Promise::from_mapping(mapping).unwrap();
        (record.name, record.content_length, record.content_sha256, record.content_type) = (name, length, digest, content_type);
        record.categories = categories.into_iter().collect();
        record.method = post.then(|| "POST".to_owned());
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
        extra in mapping("[b-g]{1,4}", extra_value()),
    ) -> Metadata {
        Metadata { http, https, cnames: cnames.into_iter().collect(), extra, ..Metadata::default() }
    }
}

fn database() -> impl Strategy<Value = Vec<Domain>> {
    let domain = (metadata(), proptest::collection::vec(promise(), 1..5));
    proptest::collection::btree_map("[a-c]{1,2}\\.test", domain, 0..4).prop_map(|domains| {
        let unique = |records: Vec<Promise>| {
            let mut seen = HashSet::new();
            records
                .into_iter()
                .filter(|record| seen.insert(record.identity()))
                .collect()
        };
        domains
            .into_iter()
            .map(|(host, (metadata, records))| (host, metadata, unique(records)))
            .collect()
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
        prop_assert_eq!(exported(&domains), catalogue);
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

#[test]
fn a_scheme_alone_implies_the_metadata() {
    assert_eq!(implied_metadata(Scheme::Http), Metadata::default());
}
