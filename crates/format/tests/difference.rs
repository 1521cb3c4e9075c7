//! The difference of two versions of a file: by example, and properties that hold for any two versions.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;
use urldb_format::{
    DifferenceKind, DomainFile, KeyChange, Record, RecordEntry, RecordIdentity, Value, difference,
};

fn parse(text: &str) -> DomainFile {
    DomainFile::parse("example.org.yaml", text.as_bytes()).file
}

/// Each difference as a line: `changed /a content-length 1 -> 2 (promise)`.
fn lines(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (parse(before), parse(after));
    let difference = difference(&before, &after);
    let value = |value: &Option<Value>| match value {
        Some(Value::Int(number)) => number.to_string(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Text(text)) => text.clone(),
        Some(Value::List(items)) => format!("{} items", items.len()),
        Some(_) => "other".to_owned(),
        None => "-".to_owned(),
    };
    let key = |change: &KeyChange| {
        let (old, new) = (value(&change.before), value(&change.after));
        let promise = if change.is_promise { " (promise)" } else { "" };
        format!("{} {old} -> {new}{promise}", change.key)
    };
    let metadata = difference
        .metadata
        .iter()
        .map(|change| format!("metadata {}", key(change)));
    let records = difference.records.iter().map(|record| {
        let keys: Vec<String> = record.keys.iter().map(key).collect();
        let path = &record.entry().unwrap().record().path;
        let kind = format!("{:?}", record.kind).to_lowercase();
        if record.kind == DifferenceKind::Changed {
            assert_eq!(
                record.changes_promise(),
                keys.iter().any(|key| key.ends_with(')'))
            );
            format!("{kind} {path} {}", keys.join(", "))
        } else {
            assert!(!record.changes_promise());
            format!("{kind} {path}")
        }
    });
    metadata.chain(records).collect()
}

const BASE: &str = "---\nhttps: true\n---\n_path: /a\ncategories:\n- x\ncontent-length: 1\n---\n_path: /m\n---\n_path: /z\n";

#[test]
fn additions_removals_and_keys_are_named_in_order() {
    let after = BASE
        .replace("https: true", "cnames:\n- www.example.org\nhttps: true")
        .replace("- x\ncontent-length: 1", "- y\ncontent-length: 2\nname: n")
        .replace("_path: /m", "_path: /b");
    assert_eq!(
        lines(BASE, &after),
        [
            "metadata cnames - -> 1 items (promise)",
            "changed /a categories 1 items -> 1 items, content-length 1 -> 2 (promise), name - -> n",
            "added /b",
            "removed /m",
        ]
    );
    assert_eq!(
        lines("", BASE),
        [
            "metadata https - -> true (promise)",
            "added /a",
            "added /m",
            "added /z"
        ]
    );
    assert_eq!(lines(BASE, "").len(), 4);
}

#[test]
fn form_order_and_comments_make_no_difference() {
    let after = "# top\n---\nhttps: yes\n---\n_path: '/z'\n---\n# why\n_path: /m\n---\ncontent-length: 1\ncategories: [x, x]\n_path: /a\n";
    assert_eq!(lines(BASE, after), Vec::<String>::new());
    let nested = "---\n---\n_path: /\ncatalogue:\n  a: '1'\n  b: '2'\n";
    let swapped = "---\n---\n_path: /\ncatalogue:\n  b: '2'\n  a: '1'\n";
    assert_eq!(lines(nested, swapped), Vec::<String>::new());
}

#[test]
fn only_categories_that_urldb_acts_on_are_promises() {
    let with = |category: &str| format!("---\n---\n_path: /\ncategories:\n- {category}\n");
    assert_eq!(
        lines(&with("a"), &with("b")),
        ["changed / categories 1 items -> 1 items"]
    );
    for category in ["content-type-change-ok", "deprecated", "redirect-ok"] {
        assert_eq!(
            lines(&with("a"), &with(category)),
            ["changed / categories 1 items -> 1 items (promise)"]
        );
    }
}

#[test]
fn requests_of_one_path_are_different_records() {
    let post = |body: &str| {
        format!("---\n---\n_path: /a\n---\n_path: /a\nmethod: POST\nrequest-body: {body}\n")
    };
    assert_eq!(
        lines(&post("x=1"), &post("x=2")),
        ["removed /a", "added /a"]
    );
}

#[test]
fn case_makes_no_difference_where_the_file_says_so() {
    let file = |metadata: &str, path: &str| format!("---\n{metadata}---\n_path: {path}\n");
    let insensitive = "case-sensitive-paths: false\n";
    assert_eq!(
        lines(&file("", "/A"), &file("", "/a")),
        ["removed /A", "added /a"]
    );
    assert_eq!(
        lines(&file(insensitive, "/A"), &file(insensitive, "/a")),
        ["changed /a _path /A -> /a (promise)"]
    );
}

#[test]
fn what_was_not_understood_is_neither_added_nor_removed() {
    let broken = BASE.replace("_path: /m", "_path: [");
    assert_eq!(lines(BASE, &broken), ["unknown /m"]);
    assert_eq!(lines(&broken, BASE), ["unknown /m"]);
    assert_eq!(lines(&broken, &broken), Vec::<String>::new());
    // The other records are compared.
    let changed = broken.replace("content-length: 1", "content-length: 2") + "---\n_path: /zz\n";
    assert_eq!(
        lines(BASE, &changed),
        [
            "changed /a content-length 1 -> 2 (promise)",
            "unknown /m",
            "added /zz"
        ]
    );
    // A key that is there twice has no certain value.
    let twice = BASE.replace("content-length: 1", "content-length: 1\ncontent-length: 2");
    assert_eq!(lines(BASE, &twice), ["unknown /a"]);
    let conflict = BASE.replace(
        "---\n_path: /m\n",
        "<<<<<<< a\n---\n_path: /m\nname: x\n=======\n---\n_path: /m\n>>>>>>> b\n",
    );
    let found = lines(BASE, &conflict);
    assert!(
        found.iter().all(|line| line.starts_with("unknown /")),
        "{found:?}"
    );
    let metadata = BASE.replace("https: true", "https: true\nhttps: false");
    assert_eq!(lines(BASE, &metadata), Vec::<String>::new());
}

#[test]
fn records_that_a_version_has_twice_are_matched_by_content() {
    let twice = "---\n---\n_path: /a\nname: one\n---\n_path: /a\nname: two\n";
    let once = "---\n---\n_path: /a\nname: two\n";
    assert_eq!(lines(twice, once), ["removed /a"]);
    assert_eq!(lines(once, twice), ["added /a"]);
}

/// Documents in any order, some of them broken, repeated or with comments.
fn wild() -> impl Strategy<Value = String> {
    let line = prop::sample::select(
        &[
            "---\n",
            "---\n_path: /a\n",
            "---\n_path: /b\n",
            "---\n_path: /A\n",
            "name: n\n",
            "name: m\n",
            "content-length: 1\n",
            "categories: [b, a]\n",
            "categories: [redirect-ok]\n",
            "# comment\n",
            "method: POST\n",
            "https: true\n",
            "case-sensitive-paths: false\n",
            "own: [1, x]\n",
            "_path: [\n",
            "<<<<<<< a\n",
            ">>>>>>> b\n",
            "\u{fffd}:\n",
            "\t\n",
        ][..],
    );
    prop::collection::vec(line, 0..14).prop_map(|lines| lines.concat())
}

/// Canonical records without comments, with their metadata.
fn tame() -> impl Strategy<Value = String> {
    let fields = prop::collection::btree_map(
        prop::sample::select(&["content-length", "description", "name", "own"][..]),
        0..3_u8,
        0..3,
    );
    let records = prop::collection::btree_map("/[a-f]", fields, 0..6);
    let metadata = prop::sample::select(&["", "https: true\n", "cnames:\n- a.test\n"][..]);
    (metadata, records).prop_map(|(metadata, records)| {
        let mut text = format!("---\n{metadata}");
        for (path, fields) in records {
            let _ = writeln!(text, "---\n_path: {path}");
            for (key, value) in fields {
                let value = match key {
                    "content-length" | "own" => value.to_string(),
                    _ => format!("text {value}"),
                };
                let _ = writeln!(text, "{key}: {value}");
            }
        }
        text
    })
}

/// The earlier version with the differences applied.
fn applied(before: &str, after: &str) -> String {
    let (mut file, after) = (parse(before), parse(after));
    let before = parse(before);
    let difference = difference(&before, &after);
    for record in &difference.records {
        let identity = |entry: &urldb_format::RecordEntry| entry.record().identity();
        match (record.kind, record.before, record.after) {
            (DifferenceKind::Added, None, Some(new)) => file.insert(new.record().clone()).unwrap(),
            (DifferenceKind::Removed, Some(old), None) => {
                file.remove(&identity(old)).unwrap();
            }
            (DifferenceKind::Changed, Some(old), Some(_)) => {
                let mut mapping = old.record().to_mapping();
                for change in &record.keys {
                    match &change.after {
                        Some(value) => mapping.insert(change.key.clone(), value.clone()),
                        None => mapping.remove(&change.key),
                    };
                }
                let new = Record::from_mapping(mapping).unwrap();
                file.update(&identity(old), |record| *record = new).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    file.update_metadata(|metadata| {
        let mut mapping = metadata.to_mapping();
        for change in &difference.metadata {
            match &change.after {
                Some(value) => mapping.insert(change.key.clone(), value.clone()),
                None => mapping.remove(&change.key),
            };
        }
        *metadata = urldb_format::Metadata::from_mapping(mapping);
    })
    .unwrap();
    file.canonical().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_version_does_not_differ_from_itself(text in wild()) {
        prop_assert_eq!(lines(&text, &text), Vec::<String>::new());
    }

    #[test]
    fn the_differences_make_the_later_version_of_the_earlier_one(before in tame(), after in tame()) {
        prop_assert_eq!(applied(&before, &after), parse(&after).canonical().unwrap());
    }

    #[test]
    fn each_record_is_counted_once(before in wild(), after in wild()) {
        let (before, after) = (parse(&before), parse(&after));
        let difference = difference(&before, &after);
        let mut counted: BTreeMap<(bool, usize), usize> = BTreeMap::new();
        let (mut of_before, mut of_after) = (0, 0);
        for record in &difference.records {
            prop_assert!(record.entry().is_some());
            for (is_before, entry) in [(true, record.before), (false, record.after)] {
                if let Some(entry) = entry {
                    *counted.entry((is_before, entry.line())).or_default() += 1;
                }
            }
            of_before += usize::from(record.before.is_some());
            of_after += usize::from(record.after.is_some());
        }
        prop_assert!(counted.values().all(|times| *times == 1));
        prop_assert_eq!(of_before + difference.unchanged, before.records().count());
        prop_assert_eq!(of_after + difference.unchanged, after.records().count());
    }

    #[test]
    fn the_way_back_is_the_reverse(before in wild(), after in wild()) {
        let (before, after) = (parse(&before), parse(&after));
        let (there, back) = (difference(&before, &after), difference(&after, &before));
        prop_assert_eq!(there.unchanged, back.unchanged);
        prop_assert_eq!(there.metadata.len(), back.metadata.len());
        let kinds = |records: &[urldb_format::RecordDifference<'_>], swap: bool| {
            let mut kinds: Vec<(DifferenceKind, RecordIdentity, usize)> = records
                .iter()
                .map(|record| {
                    let kind = match record.kind {
                        DifferenceKind::Added if swap => DifferenceKind::Removed,
                        DifferenceKind::Removed if swap => DifferenceKind::Added,
                        kind => kind,
                    };
                    let entry = if swap { record.before.or(record.after) } else { record.entry() };
                    (kind, entry.unwrap().record().identity(), record.keys.len())
                })
                .collect();
            kinds.sort();
            kinds
        };
        // Records that a version has twice may pair up in another way.
        let is_repeated = |file: &DomainFile| {
            let mut seen = std::collections::BTreeSet::new();
            file.records().any(|entry| !seen.insert(file.identity_of(entry.record())))
        };
        if !is_repeated(&before) && !is_repeated(&after) {
            prop_assert_eq!(kinds(&there.records, false), kinds(&back.records, true));
        }
    }

    #[test]
    fn bytes_never_panic(before in any::<Vec<u8>>(), after in wild()) {
        let before = DomainFile::parse("example.org.yaml", &before).file;
        let _ = difference(&before, &parse(&after));
        let _ = difference(&parse(&after), &before);
    }

    #[test]
    fn removing_many_records_is_removing_each(text in tame(), named in prop::collection::btree_set("/[a-f]", 0..4)) {
        let identities = named.iter().map(RecordIdentity::get).collect();
        let (mut at_once, mut each) = (parse(&text), parse(&text));
        let mut removed = 0;
        for identity in &identities {
            removed += usize::from(each.remove(identity).is_ok());
        }
        prop_assert_eq!(at_once.remove_all(&identities).unwrap(), removed);
        prop_assert_eq!(at_once.text(), each.text());
        let lines = |file: &DomainFile| file.records().map(RecordEntry::line).collect::<Vec<_>>();
        prop_assert_eq!(lines(&at_once), lines(&each));
    }
}
