//! Records of one URL that differ in a request header: `vary` of the metadata.

use proptest::prelude::*;
use urldb_format::{
    DifferenceKind, DomainFile, MarkerStyle, Merged, Record, Versions, difference, lint, merge,
};
use urldb_text::Code;

const FILE: &str = "ns.example.yaml";

fn file(text: &str) -> DomainFile {
    DomainFile::parse(FILE, text.as_bytes()).file
}

/// The codes and helps of the findings in a file.
fn findings(text: &str) -> Vec<(Code, String)> {
    let findings = lint(&DomainFile::parse(FILE, text.as_bytes()), &[]).into_iter();
    let findings = findings.map(|it| (it.code, it.help.unwrap_or_default()));
    findings.collect()
}

fn record(path: &str, headers: &str, name: &str) -> String {
    let headers = if headers.is_empty() {
        String::new()
    } else {
        format!("request-headers:\n{headers}")
    };
    format!("---\n_path: {path}\nname: {name}\n{headers}")
}

const TURTLE: &str = "  Accept: text/turtle\n";
const XML: &str = "  accept: application/rdf+xml\n";

#[test]
fn the_values_of_named_headers_are_the_variant() {
    let text = format!(
        "---\nvary:\n- accept\n- accept-language\n{}",
        record(
            "/a",
            "  ACCEPT: text/turtle\n  Accept-Language: de\n  X: 1\n",
            "one"
        ),
    );
    let file = file(&text);
    let record = file.records().next().unwrap().record();
    let identity = file.identity_of(record);
    assert_eq!(
        identity.variant.as_deref(),
        Some("accept: text/turtle\naccept-language: de")
    );
    assert_eq!(file.metadata().variant_of(&Record::new("/a")), None);
    assert_eq!(record.identity().variant, None, "without metadata");
}

#[test]
fn records_that_differ_in_a_named_header_are_no_duplicates() {
    let records = format!(
        "{}{}{}",
        record("/a", "", "plain"),
        record("/a", XML, "xml"),
        record("/a", TURTLE, "turtle"),
    );
    let varied = format!("---\nvary:\n- accept\n{records}");
    assert_eq!(findings(&varied), []);
    assert_eq!(file(&varied).canonical().unwrap(), varied);
    let bare = findings(&format!("---\n{records}"));
    let help = "add `vary: [accept]` to the metadata, or keep the right one";
    let expected = (Code::DuplicateRecord, help.to_owned());
    assert_eq!(bare, [expected.clone(), expected]);
    let twice = format!(
        "---\nvary:\n- accept\n{}{}",
        record("/a", TURTLE, "a"),
        record("/a", TURTLE, "b")
    );
    assert_eq!(
        findings(&twice),
        [(
            Code::DuplicateRecord,
            "they differ: keep the right one".to_owned()
        )]
    );
}

#[test]
fn names_that_cannot_tell_records_apart_are_errors() {
    for (name, help) in [
        (
            "host",
            "name a header that only records set, such as `accept`",
        ),
        (
            "connection",
            "name a header that only records set, such as `accept`",
        ),
        ("Accept", "write `accept`"),
        ("a b", ""),
    ] {
        let text = format!("---\nvary:\n- {name}\n---\n_path: /\n");
        assert_eq!(
            findings(&text),
            [(Code::BadValue, help.to_owned())],
            "{name}"
        );
    }
    let text = "---\nvary: accept\n---\n_path: /\n";
    assert_eq!(findings(text)[0].0, Code::BadValue);
    let text = "---\nvary:\n- b\n- a\n---\n_path: /\n";
    assert_eq!(
        findings(text),
        [(Code::UnsortedList, "`urldb fmt` sorts it".to_owned())]
    );
}

#[test]
fn edits_reach_one_variant() {
    let head = "---\nvary:\n- accept\n";
    let mut file = file(&format!("{head}{}", record("/a", XML, "xml")));
    let mut turtle = Record::new("/a");
    turtle.name = Some("turtle".to_owned());
    turtle.request_headers.insert("Accept", "text/turtle");
    let identity = file.identity_of(&turtle);
    file.insert(turtle).unwrap();
    file.update(&identity, |record| record.status = Some(303))
        .unwrap();
    assert_eq!(
        file.text(),
        format!(
            "{head}{}{}status: 303\n",
            record("/a", XML, "xml"),
            record("/a", TURTLE, "turtle")
        ),
    );
    file.remove(&identity).unwrap();
    assert_eq!(file.text(), format!("{head}{}", record("/a", XML, "xml")));
}

#[test]
fn a_difference_is_of_one_variant() {
    let before = file(&format!("---\n{}", record("/a", XML, "xml")));
    let both = format!(
        "{}{}",
        record("/a", XML, "xml"),
        record("/a", TURTLE, "turtle")
    );
    let after = file(&format!("---\nvary:\n- accept\n{both}"));
    let difference = difference(&before, &after);
    assert_eq!(difference.unchanged, 1);
    let kinds = difference.records.iter().map(|it| it.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [DifferenceKind::Added]);
}

#[test]
fn vary_is_a_set_and_part_of_the_promise() {
    let text = |names: &str| format!("---\n{names}---\n_path: /\n");
    let base = text("vary:\n- accept\n");
    let ours = text("vary:\n- accept\n- accept-language\n");
    let theirs = text("vary:\n- accept\n- x-kind\n");
    let versions = Versions {
        base: Some(base.as_bytes()),
        ours: Some(ours.as_bytes()),
        theirs: Some(theirs.as_bytes()),
    };
    let Ok(Merged::File { bytes, conflicts }) = merge(versions, &MarkerStyle::default()) else {
        panic!("the versions do not merge");
    };
    assert_eq!(conflicts, []);
    let both = text("vary:\n- accept\n- accept-language\n- x-kind\n");
    assert_eq!(String::from_utf8(bytes).unwrap(), both);
    let (before, after) = (file(&base), file(&ours));
    assert!(difference(&before, &after).metadata[0].is_promise);
    assert_eq!(
        findings("---\nvery:\n- accept\n---\n_path: /\n")[0].0,
        Code::UnknownKey
    );
}

/// A file with `vary` whose records take their names from `names`: by path and media type.
fn varied(names: &[Option<u8>], vary: &str) -> String {
    let mut text = format!("---\n{vary}");
    for (index, name) in names.iter().enumerate() {
        let headers = [
            "",
            "  Accept: a/a\n",
            "  Accept: b/b\n",
            "  Accept: b/b\n  X-Kind: '1'\n",
        ];
        if let Some(name) = name {
            text += &record(
                &format!("/{}", index / 4),
                headers[index % 4],
                &format!("n{name}"),
            );
        }
    }
    text
}

fn names() -> impl Strategy<Value = Vec<Option<u8>>> {
    proptest::collection::vec(proptest::option::of(0_u8..3), 8)
}

const VARY: &str = "vary:\n- accept\n- x-kind\n";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_with_variants_are_canonical(names in names()) {
        let text = varied(&names, VARY);
        prop_assert_eq!(file(&text).canonical().unwrap(), text.clone());
        prop_assert_eq!(findings(&text), vec![]);
        let file = file(&text);
        let identities: Vec<_> = file.records().map(|it| file.identity_of(it.record())).collect();
        prop_assert!(identities.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn variants_merge_each_alone(base in names(), ours in names(), theirs in names()) {
        let texts = [&base, &ours, &theirs].map(|names| varied(names, VARY));
        let merged = |ours: usize, theirs: usize| {
            let [base, ours, theirs] = [0, ours, theirs].map(|it| Some(texts[it].as_bytes()));
            match merge(Versions { base, ours, theirs }, &MarkerStyle::default()) {
                Ok(Merged::File { bytes, conflicts }) => {
                    (String::from_utf8(bytes).unwrap(), conflicts.len())
                }
                other => panic!("{other:?}"),
            }
        };
        let (one, other) = (merged(1, 2), merged(2, 1));
        let expected: Option<Vec<Option<u8>>> = (0..8)
            .map(|at| match (base[at], ours[at], theirs[at]) {
                (base, ours, theirs) if base == ours => Some(theirs),
                (base, ours, theirs) if base == theirs || ours == theirs => Some(ours),
                _ => None,
            })
            .collect();
        prop_assert_eq!(one.1, other.1);
        match expected {
            Some(names) => {
                prop_assert_eq!(&one.0, &varied(&names, VARY));
                prop_assert_eq!(one, other);
            }
            None => prop_assert!(one.1 > 0),
        }
    }
}
