//! Three-way merges: by example, and properties that hold for any three versions.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use insta::assert_snapshot;
use proptest::prelude::*;
use urldb_format::{
    Conflict, ConflictKind, DomainFile, MarkerStyle, Merged, RecordIdentity, Side, Versions, lint,
    merge, merge_ancestors,
};
use urldb_text::Code;

fn versions<'a>(base: &'a str, ours: &'a str, theirs: &'a str) -> Versions<'a> {
    let [base, ours, theirs] = [base, ours, theirs].map(|text| Some(text.as_bytes()));
    Versions { base, ours, theirs }
}

/// The text and the conflicts of a merge whose result is a file.
#[track_caller]
fn file(merged: Merged) -> (String, Vec<Conflict>) {
    match merged {
        Merged::File { bytes, conflicts } => (String::from_utf8(bytes).unwrap(), conflicts),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn merged(base: &str, ours: &str, theirs: &str) -> (String, Vec<Conflict>) {
    file(merge(versions(base, ours, theirs), &MarkerStyle::default()).unwrap())
}

/// A merge without conflicts, the same from both sides.
#[track_caller]
fn clean(base: &str, ours: &str, theirs: &str) -> String {
    let (text, conflicts) = merged(base, ours, theirs);
    assert_eq!(conflicts, [], "{text}");
    assert_eq!(merged(base, theirs, ours).0, text);
    text
}

const BASE: &str = "---\nhttps: true\n---\n_path: /a\ncategories:\n- x\ncontent-length: 1\n---\n_path: /m\n---\n_path: /z\n";

#[test]
fn additions_in_one_gap_are_both_kept_and_sorted() {
    let ours = BASE.replace("---\n_path: /m\n", "---\n_path: /c\n---\n_path: /m\n");
    let theirs = BASE.replace(
        "---\n_path: /m\n",
        "---\n_path: /b\nname: b\n---\n_path: /m\n",
    );
    assert_snapshot!(clean(BASE, &ours, &theirs), @r"
    ---
    https: true
    ---
    _path: /a
    categories:
    - x
    content-length: 1
    ---
    _path: /b
    name: b
    ---
    _path: /c
    ---
    _path: /m
    ---
    _path: /z
    ");
}

#[test]
fn different_keys_of_one_record_are_both_kept() {
    let ours = BASE.replace("- x\n", "- w\n- x\n");
    let theirs = BASE.replace("- x\ncontent-length: 1", "- y\ncontent-length: 2");
    assert_snapshot!(clean(BASE, &ours, &theirs), @r"
    ---
    https: true
    ---
    _path: /a
    categories:
    - w
    - y
    content-length: 2
    ---
    _path: /m
    ---
    _path: /z
    ");
}

#[test]
fn markers_stand_around_the_disputed_record_only() {
    let ours = BASE.replace("length: 1", "length: 2\nname: ours");
    let theirs = BASE.replace("length: 1", "length: 3\nstatus: 200") + "---\n_path: /q\n";
    let (text, conflicts) = merged(BASE, &ours, &theirs);
    // Either text has what only one side changed, so that no choice loses it; but the promise is that of one side.
    assert_snapshot!(text, @r"
    ---
    https: true
    <<<<<<< ours
    ---
    _path: /a
    categories:
    - x
    content-length: 2
    name: ours
    =======
    ---
    _path: /a
    categories:
    - x
    content-length: 3
    name: ours
    status: 200
    >>>>>>> theirs
    ---
    _path: /m
    ---
    _path: /q
    ---
    _path: /z
    ");
    let kind = ConflictKind::Keys(vec!["content-length".to_owned()]);
    let about = "/a".to_owned();
    assert_eq!(
        conflicts,
        [Conflict {
            line: 3,
            about,
            record: Some(RecordIdentity::get("/a")),
            kind
        }]
    );
    let parsed = DomainFile::parse("example.org.yaml", text.as_bytes());
    let findings = lint(&parsed, &[]);
    let found: Vec<_> = findings.iter().map(|it| (it.code, it.line)).collect();
    assert_eq!(found, [(Code::ConflictMarker, 3)]);
    assert!(parsed.file.canonical().is_err());
}

#[test]
fn markers_have_the_size_and_the_labels_that_are_asked_for() {
    let style = MarkerStyle {
        size: 9,
        ours: "HEAD".to_owned(),
        base: Some("parent\nof".to_owned()),
        theirs: String::new(),
    };
    let base = "---\n---\n_path: /a\nname: one\n";
    let (ours, theirs) = (base.replace("one", "two"), base.replace("one", "three"));
    let (text, _) = file(merge(versions(base, &ours, &theirs), &style).unwrap());
    assert_snapshot!(text, @r"
    ---
    <<<<<<<<< HEAD
    ---
    _path: /a
    name: two
    ||||||||| parentof
    ---
    _path: /a
    name: one
    =========
    ---
    _path: /a
    name: three
    >>>>>>>>>
    ");
    let findings = lint(&DomainFile::parse("example.org.yaml", text.as_bytes()), &[]);
    assert_eq!(findings[0].code, Code::ConflictMarker);
}

#[test]
fn removed_and_unchanged_is_removed_and_removed_and_changed_is_a_conflict() {
    let without = BASE.replace("---\n_path: /m\n", "");
    let unrelated = BASE.replace("_path: /z\n", "_path: /z\nname: z\n");
    assert!(!clean(BASE, &without, &unrelated).contains("/m"));
    let changed = BASE.replace("_path: /m\n", "_path: /m\nname: m\n");
    let (text, conflicts) = merged(BASE, &without, &changed);
    assert!(
        text.contains("<<<<<<< ours\n=======\n---\n_path: /m\nname: m\n>>>>>>> theirs\n"),
        "{text}"
    );
    assert_eq!(conflicts[0].kind, ConflictKind::RemovedAndChanged);
    assert_eq!(conflicts[0].about, "/m");
}

#[test]
fn one_url_added_by_both_sides_is_one_record() {
    let (ours, theirs) = (
        format!("{BASE}---\n_path: /zz\nname: n\n"),
        format!("{BASE}---\n_path: /zz\nstatus: 200\n"),
    );
    let text = clean(BASE, &ours, &theirs);
    assert!(
        text.ends_with("---\n_path: /zz\nname: n\nstatus: 200\n"),
        "{text}"
    );
    let other = theirs.replace("status: 200", "name: other");
    assert_eq!(merged(BASE, &ours, &other).1.len(), 1);
}

#[test]
fn requests_of_one_path_are_different_records() {
    let ours = format!("{BASE}---\n_path: /zz\nmethod: POST\nrequest-body: a=1\n");
    let theirs = format!("{BASE}---\n_path: /zz\nmethod: POST\nrequest-body: a=2\n");
    assert_eq!(clean(BASE, &ours, &theirs).matches("/zz").count(), 2);
    let both = ours.replace("a=1\n", "a=1\nname: x\n");
    let (_, conflicts) = merged(&ours, &both, &both.replace("name: x", "name: y"));
    assert_eq!(conflicts[0].about, "POST /zz");
}

#[test]
fn metadata_merges_by_key_and_names_as_a_set() {
    let base = "---\ncnames:\n- a.test\n- b.test\n---\n_path: /\n";
    let ours = base
        .replace("- a.test\n", "")
        .replace("- b.test\n", "- b.test\n- c.test\nhttps: true\n");
    let theirs = base.replace("- b.test\n", "- b.test\n- d.test\nowner: me\n");
    assert!(
        clean(base, &ours, &theirs).starts_with(
            "---\ncnames:\n- b.test\n- c.test\n- d.test\nhttps: true\nowner: me\n---\n"
        )
    );
    let (text, conflicts) = merged(&theirs, &theirs, &theirs.replace("me", "you"));
    assert_eq!(conflicts, []);
    assert!(text.contains("owner: you"));
    let (text, conflicts) = merged(
        base,
        &theirs.replace("me", "us"),
        &theirs.replace("me", "you"),
    );
    assert_eq!(
        (conflicts[0].line, conflicts[0].about.as_str()),
        (1, "the metadata")
    );
    let findings = lint(&DomainFile::parse("example.org.yaml", text.as_bytes()), &[]);
    assert_eq!(findings[0].code, Code::ConflictMarker, "{text}");
}

#[test]
fn comments_travel_with_their_record_and_their_key() {
    let base = "# top\n---\n# about m\n---\n_path: /m\nname: n # why\n# end\n";
    let ours = "# top\n# ours\n---\n---\n_path: /b\n# about m\n# more\n---\n_path: /m\nname: n # why\nstatus: 200 # ok\n# end\n# ours\n";
    let theirs = "# top\n---\n# about m\n---\n_path: /m\nname: other # why\n# end\n# theirs\n";
    assert_snapshot!(clean(base, ours, theirs), @r"
    # top
    # ours
    ---
    ---
    _path: /b
    # about m
    # more
    ---
    _path: /m
    # why
    name: other
    # ok
    status: 200
    # end
    # ours
    # theirs
    ");
    let (text, conflicts) = merged(
        base,
        &base.replace("end", "fin"),
        &base.replace("end", "fine"),
    );
    assert_eq!(conflicts[0].about, "the comments at the end");
    assert!(
        text.ends_with("<<<<<<< ours\n# fin\n=======\n# fine\n>>>>>>> theirs\n"),
        "{text}"
    );
    let (_, conflicts) = merged(
        base,
        &base.replace("about", "of"),
        &base.replace("about", "for"),
    );
    assert_eq!(conflicts[0].kind, ConflictKind::Keys(vec![]));
}

#[test]
fn own_keys_keep_their_source_text() {
    let base = "---\n---\n_path: /a\nown: 0x1f\nquoted: '5'\nstamp: 2020-01-01\n";
    let ours = base.replace("'5'", "'6'");
    let theirs = base.replace("0x1f", "1_000.50");
    let text = clean(base, &ours, &theirs);
    assert!(
        text.ends_with("own: 1_000.50\nquoted: '6'\nstamp: 2020-01-01\n"),
        "{text}"
    );
}

#[test]
fn a_promise_is_never_mixed_from_two_versions_of_the_bytes() {
    let base = "---\n---\n_path: /a\ncontent-length: 5\n";
    let ours = base.replace('5', "6");
    let theirs = format!("{base}content-sha256: {}\n", "ab".repeat(32));
    let (text, conflicts) = merged(base, &ours, &theirs);
    let keys = ["content-length", "content-sha256"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(conflicts[0].kind, ConflictKind::Keys(keys));
    assert!(
        !text.split("=======").next().unwrap().contains("sha256"),
        "{text}"
    );
    // The conflict stands without a promise in the base too: no side has seen bytes of this length and digest.
    let without = "---\n---\n_path: /a\n";
    let digest = theirs.replace("content-length: 5\n", "");
    let (_, conflicts) = merged(without, base, &digest);
    assert_eq!(conflicts.len(), 1);
    assert_eq!(clean(without, base, &theirs), theirs);
    assert_eq!(clean(without, &digest, &theirs), theirs);
}

#[test]
fn further_digests_belong_to_the_same_bytes() {
    let record = |keys: &[(&str, char)]| {
        let mut text = "---\n---\n_path: /a\n".to_owned();
        for (key, digit) in keys {
            writeln!(text, "content-{key}: {digit}").unwrap();
        }
        text
    };
    // One side replaced all digests by one of another algorithm, as a list does that changed its own.
    let base = record(&[("sha256", 'a')]);
    let (_, conflicts) = merged(
        &base,
        &record(&[("sha512", 'b')]),
        &record(&[("length", '1'), ("sha256", 'a')]),
    );
    let keys = ["content-length", "content-sha256", "content-sha512"];
    let keys = keys.map(str::to_owned).to_vec();
    assert_eq!(conflicts[0].kind, ConflictKind::Keys(keys));
    // Two sides that only add agree if they share a digest.
    let more = |key| record(&[(key, 'b'), ("sha256", 'a')]);
    let both = record(&[("md5", 'b'), ("sha1", 'b'), ("sha256", 'a')]);
    assert_eq!(clean(&base, &more("md5"), &more("sha1")), both);
    let without = record(&[]);
    let (_, conflicts) = merged(
        &without,
        &record(&[("md5", 'a')]),
        &record(&[("sha1", 'a')]),
    );
    assert_eq!(conflicts.len(), 1);
    let (_, conflicts) = merged(
        &without,
        &record(&[("md5", 'a')]),
        &record(&[("length", '1')]),
    );
    assert_eq!(conflicts.len(), 1);
}

#[test]
fn each_marker_of_a_disputed_promise_has_the_whole_promise_of_its_side() {
    let record = |length: &str, digest: char| {
        let digest = digest.to_string().repeat(64);
        format!("---\n---\n_path: /a\ncontent-length: {length}\ncontent-sha256: {digest}\n")
    };
    let (base, changed, other) = (record("10", 'a'), record("12", 'b'), record("10", 'c'));
    for (ours, theirs) in [(&changed, &other), (&other, &changed)] {
        let (text, conflicts) = merged(&base, ours, theirs);
        let keys = vec!["content-sha256".to_owned()];
        assert_eq!(conflicts[0].kind, ConflictKind::Keys(keys));
        assert_eq!(settled(&text, Side::Ours), *ours);
        assert_eq!(settled(&text, Side::Theirs), *theirs);
    }
}

#[test]
fn a_mistake_that_neither_side_has_is_a_conflict() {
    let base = "---\n---\n_path: /a\n";
    let ours = format!("{base}method: HEAD\n");
    let theirs = format!("---\n---\n_path: /a\ncontent-sha256: {}\n", "ab".repeat(32));
    let (text, conflicts) = merged(base, &ours, &theirs);
    assert_eq!(conflicts.len(), 1, "{text}");
}

#[test]
fn paths_that_differ_in_case_are_one_record_where_case_means_nothing() {
    let base = "---\ncase-sensitive-paths: false\n---\n_path: /m\n";
    let (ours, theirs) = (
        format!("{base}---\n_path: /zZ\n"),
        format!("{base}---\n_path: /Zz\n"),
    );
    assert_eq!(merged(base, &ours, &theirs).1.len(), 1);
    let case = |text: &str| text.replace("case-sensitive-paths: false\n", "");
    clean(&case(base), &case(&ours), &case(&theirs));
}

#[test]
fn a_record_that_occurs_twice_is_matched_by_its_content() {
    let record = |name: &str| format!("---\n_path: /a\nname: {name}\n");
    let file = |names: &[&str]| {
        let records: String = names.iter().map(|name| record(name)).collect();
        format!("---\n{records}")
    };
    // Their edit of the second record is no edit of the first.
    let (text, conflicts) = merged(&file(&["x", "y"]), &file(&["y"]), &file(&["x", "z"]));
    assert_eq!((text, conflicts.len()), (file(&["z"]), 0));
    let (text, conflicts) = merged(&file(&["x"]), &file(&["x", "y"]), &file(&["z"]));
    assert_eq!((text, conflicts.len()), (file(&["y", "z"]), 0));
    let (text, conflicts) = merged(&file(&["x", "x"]), &file(&["x"]), &file(&["x", "x", "y"]));
    assert_eq!((text, conflicts.len()), (file(&["x", "y"]), 0));
    // What one side removed is not revived by another copy.
    for theirs in [file(&["x", "x"]), file(&["x", "x", "x"])] {
        let (text, conflicts) = merged(&file(&["x"]), &file(&[]), &theirs);
        assert_eq!((text, conflicts.len()), (file(&[]), 0));
    }
    let changed = merged(&file(&["x"]), &file(&[]), &file(&["x", "y"])).1;
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].kind, ConflictKind::RemovedAndChanged);
    let changed = merged(&file(&["x"]), &file(&["x", "y"]), &file(&[])).1;
    assert_eq!(changed.len(), 1);
}

#[test]
fn a_file_that_one_side_removed() {
    let style = MarkerStyle::default();
    let of = |base, ours, theirs| Versions { base, ours, theirs };
    let bytes = Some(BASE.as_bytes());
    assert_eq!(merge(of(bytes, None, bytes), &style), Ok(Merged::Removed));
    // Only the formatting differs.
    let same = BASE.replace("https: true", "https: yes");
    assert_eq!(
        merge(of(bytes, None, Some(same.as_bytes())), &style),
        Ok(Merged::Removed)
    );
    let changed = BASE.replace("/m", "/n");
    let changed = Some(changed.as_bytes());
    for (ours, theirs, removed_by) in [(None, changed, Side::Ours), (changed, None, Side::Theirs)] {
        let merged = merge(of(bytes, ours, theirs), &style);
        assert_eq!(merged, Ok(Merged::RemovedAndChanged { removed_by }));
    }
    let (ours, theirs) = (
        "---\nhttps: true\n---\n_path: /a\n",
        "---\nhttps: true\n---\n_path: /b\n",
    );
    let merged = merge(
        of(None, Some(ours.as_bytes()), Some(theirs.as_bytes())),
        &style,
    );
    let (text, conflicts) = file(merged.unwrap());
    assert_eq!(
        (text.as_str(), conflicts.len()),
        ("---\nhttps: true\n---\n_path: /a\n---\n_path: /b\n", 0)
    );
}

#[test]
fn a_file_that_one_side_removed_and_the_other_only_thinned_out_is_removed() {
    let style = MarkerStyle::default();
    let base = BASE.replace(
        "---\nhttps: true\n",
        "# top\n---\n# of https\nhttps: true\n",
    );
    let without = base.replace("---\n_path: /m\n", "");
    let other = without.replace("# of https\nhttps: true\n", "");
    for (changed, is_removed) in [
        (without.clone(), true),
        (other, true),
        (without.replace("- x\n", "- x\n- y\n"), false),
        (without.replace("content-length: 1\n", ""), false),
        (
            without.replace("https: true\n", "https: true\nowner: me\n"),
            false,
        ),
        (without.replace("# top\n", "# top\n# more\n"), false),
        (without.clone() + "---\n_path: /zz\n", false),
        (without.clone() + "---\n_path: [/zz\n", false),
    ] {
        let [base, changed] = [&base, &changed].map(|text| Some(text.as_bytes()));
        for (ours, theirs) in [(None, changed), (changed, None)] {
            let merged = merge(Versions { base, ours, theirs }, &style).unwrap();
            assert_eq!(
                merged == Merged::Removed,
                is_removed,
                "{changed:?} {merged:?}"
            );
        }
    }
}

#[test]
fn two_ancestors_become_one_without_markers() {
    let merge = |base: Option<&str>, ours: Option<&str>, theirs: Option<&str>| {
        let [base, ours, theirs] = [base, ours, theirs].map(|text| text.map(str::as_bytes));
        let of = |ours, theirs| merge_ancestors(Versions { base, ours, theirs });
        let merged = of(ours, theirs);
        assert_eq!(of(theirs, ours), merged);
        merged.map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let all = |base: &str, ours: &str, theirs: &str| merge(Some(base), Some(ours), Some(theirs));
    // Disputed keys have the value of the base, as has a disputed promise; the other ones have that of the side that
    // changed them.
    let ours = BASE.replace("length: 1", "length: 2\nname: ours");
    let theirs = BASE.replace("length: 1", "length: 3\nstatus: 200") + "---\n_path: /zz\n";
    assert_eq!(
        all(BASE, &ours, &theirs).unwrap(),
        BASE.replace("length: 1", "length: 1\nname: ours") + "---\n_path: /zz\n"
    );
    let (ours, theirs) = (
        BASE.replace("true", "false"),
        BASE.replace("true", "null\nvary: x"),
    );
    assert!(all(BASE, &ours, &theirs).unwrap().contains("https: true\n"));
    // A record that an ancestor removed and the other one changed stays; one that both added is there.
    let without = BASE.replace("---\n_path: /m\n", "");
    let changed = BASE.replace("_path: /m\n", "_path: /m\nname: m\n");
    assert_eq!(all(BASE, &without, &changed).unwrap(), BASE);
    let added = |name: &str| format!("{BASE}---\n_path: /zz\nname: {name}\nstatus: 200\n");
    assert_eq!(
        all(BASE, &added("a"), &added("b")).unwrap(),
        format!("{BASE}---\n_path: /zz\nstatus: 200\n")
    );
    // Two ancestors that together promise bytes which neither has seen give the promise of the base.
    let (length, digest) = (
        "content-length: 1",
        format!("content-sha256: {}", "ab".repeat(32)),
    );
    let (ours, theirs) = (
        BASE.replace(length, "content-length: 2"),
        BASE.replace(length, &format!("{length}\n{digest}")),
    );
    assert_eq!(all(BASE, &ours, &theirs).unwrap(), BASE);
    // A file.
    assert_eq!(merge(Some(BASE), None, Some(BASE)), None);
    assert_eq!(
        merge(Some(BASE), None, Some(&changed)),
        Some(BASE.to_owned())
    );
    assert_eq!(merge(None, None, Some(BASE)), Some(BASE.to_owned()));
    assert_eq!(
        all(BASE, "---\n---\n_path: [\n", &changed),
        Some(BASE.to_owned())
    );
    assert_eq!(merge(None, Some("---\n---\n_path: [\n"), Some(BASE)), None);
}

#[test]
fn an_unreadable_version_is_named_and_nothing_is_merged() {
    let broken = BASE.replace("_path: /m", "_path: [/m");
    let style = MarkerStyle::default();
    let theirs = BASE.replace("/z", "/zz");
    let error = merge(versions(BASE, &broken, &theirs), &style).unwrap_err();
    assert_eq!((error.name, error.line), ("ours", 9));
    // One side alone needs no reading.
    let (text, conflicts) = merged(BASE, BASE, &broken);
    assert_eq!((text, conflicts.len()), (broken.clone(), 0));
    let bytes = [BASE.as_bytes(), b"\xff\n"].concat();
    let versions = Versions {
        base: Some(BASE.as_bytes()),
        ours: Some(BASE.as_bytes()),
        theirs: Some(&bytes),
    };
    assert_eq!(
        merge(versions, &style),
        Ok(Merged::File {
            bytes: bytes.clone(),
            conflicts: vec![]
        })
    );
}

#[test]
fn files_of_comments_alone_merge() {
    assert_eq!(
        clean("# a\n", "# a\n# b\n", "# a\n---\n---\n_path: /\n"),
        "# a\n# b\n---\n---\n_path: /\n"
    );
    assert_eq!(clean("", "---\n", "# c\n"), "# c\n---\n");
}

// ---------------------------------------------------------------------------------------------
// Properties. A model of a file is its records as maps; the model is merged by a few lines that
// share nothing with the program.

type Fields = BTreeMap<&'static str, String>;
type Model = BTreeMap<String, Fields>;

const KEYS: [&str; 4] = ["content-length", "description", "name", "own"];

fn fields() -> impl Strategy<Value = Fields> {
    let value = (0..4_u8).prop_map(|value| value.to_string());
    prop::collection::btree_map(prop::sample::select(&KEYS[..]), value, 0..3)
}

fn model() -> impl Strategy<Value = Model> {
    prop::collection::btree_map("/[a-h]", fields(), 0..7)
}

/// One edit: a path, and its new fields; `None` removes the record.
fn edits() -> impl Strategy<Value = Vec<(String, Option<Fields>)>> {
    prop::collection::vec(("/[a-i]", prop::option::weighted(0.7, fields())), 0..5)
}

fn edited(model: &Model, edits: Vec<(String, Option<Fields>)>) -> Model {
    let mut model = model.clone();
    for (path, fields) in edits {
        match fields {
            Some(fields) => {
                model.insert(path, fields);
            }
            None => {
                model.remove(&path);
            }
        }
    }
    model
}

fn text(model: &Model) -> String {
    let mut text = "---\n".to_owned();
    for (path, fields) in model {
        writeln!(text, "---\n_path: {path}").unwrap();
        for (key, value) in fields {
            let value = match *key {
                "content-length" | "own" => value.clone(),
                _ => format!("text {value}"),
            };
            writeln!(text, "{key}: {value}").unwrap();
        }
    }
    text
}

/// The merged records; and the paths in conflict.
fn merge_models(base: &Model, ours: &Model, theirs: &Model) -> (Model, BTreeSet<String>) {
    let (mut merged, mut conflicts) = (Model::new(), BTreeSet::new());
    let paths: BTreeSet<&String> = base
        .keys()
        .chain(ours.keys())
        .chain(theirs.keys())
        .collect();
    for path in paths {
        let (b, o, t) = (base.get(path), ours.get(path), theirs.get(path));
        let record = if o == t || b == t {
            o.cloned()
        } else if b == o {
            t.cloned()
        } else if let (Some(o), Some(t)) = (o, t) {
            let mut fields = Fields::new();
            for key in KEYS {
                let b = b.and_then(|fields| fields.get(key));
                let (o, t) = (o.get(key), t.get(key));
                let value = if b == o { t } else { o };
                if o != t && b != o && b != t {
                    conflicts.insert(path.clone());
                }
                fields.extend(value.map(|value| (key, value.clone())));
            }
            Some(fields)
        } else {
            conflicts.insert(path.clone());
            None
        };
        if !conflicts.contains(path) {
            merged.extend(record.map(|record| (path.clone(), record)));
        }
    }
    (merged, conflicts)
}

/// The text without the parts between markers.
fn undisputed(text: &str) -> String {
    let mut in_conflict = false;
    let mut rest = String::new();
    for line in text.split_inclusive('\n') {
        in_conflict |= line.starts_with("<<<<<<<");
        if !in_conflict {
            rest.push_str(line);
        }
        in_conflict &= !line.starts_with(">>>>>>>");
    }
    rest
}

/// The text in which every conflict is settled in favour of one side.
fn settled(text: &str, side: Side) -> String {
    let mut here = None;
    let mut rest = String::new();
    for line in text.split_inclusive('\n') {
        match line.as_bytes() {
            [b'<', b'<', b'<', ..] => here = Some(Side::Ours),
            [b'=', b'=', b'=', ..] => here = Some(Side::Theirs),
            [b'>', b'>', b'>', ..] => here = None,
            _ if here.is_none_or(|here| here == side) => rest.push_str(line),
            _ => {}
        }
    }
    rest
}

const DIGESTS: [&str; 6] = ["length", "md5", "sha1", "sha256", "sha384", "sha512"];

/// Keys of bytes with values, in three versions.
fn bytes() -> impl Strategy<Value = BTreeMap<&'static str, u8>> {
    prop::collection::btree_map(prop::sample::select(&DIGESTS[..]), 0..2_u8, 0..5)
}

proptest! {
    #[test]
    fn merged_bytes_are_those_of_a_side_or_share_a_digest(base in bytes(), ours in bytes(), theirs in bytes()) {
        let record = |keys: &BTreeMap<&str, u8>| {
            let mut text = "---\n---\n_path: /a\n".to_owned();
            for (key, value) in keys {
                writeln!(text, "content-{key}: {value}").unwrap();
            }
            text
        };
        let (text, conflicts) = merged(&record(&base), &record(&ours), &record(&theirs));
        if conflicts.is_empty() {
            let lines = text.lines().filter_map(|line| line.strip_prefix("content-")?.split_once(": "));
            let merged: BTreeMap<&str, u8> = lines.map(|(key, value)| (key, value.trim_matches('\'').parse().unwrap())).collect();
            let is_of = |side: &BTreeMap<&'static str, u8>| merged.iter().all(|(key, value)| side.get(key) == Some(value));
            let is_shared = |key: &&str| base.contains_key(key)
                && base.get(key) == ours.get(key) && base.get(key) == theirs.get(key);
            let shares_digest = DIGESTS[1..].iter().any(is_shared);
            let is_old = merged.keys().all(|key| matches!(*key, "length" | "sha256"));
            prop_assert!(is_of(&ours) || is_of(&theirs) || shares_digest || is_old, "{}", text);
            // A value that one side replaced never stands beside one of the other side.
            let replaced = |side: &BTreeMap<&'static str, u8>, other: &BTreeMap<&'static str, u8>| {
                let is_new = |key: &&str| base.get(key).is_some_and(|old| side.get(key).is_some_and(|new| new != old));
                DIGESTS.iter().any(is_new) && !is_of(side) && !is_of(other)
            };
            prop_assert!(!replaced(&ours, &theirs) && !replaced(&theirs, &ours), "{}", text);
        }
    }
}

/// The keys of promises, with a key that is no part of one, in three versions.
fn promises() -> impl Strategy<Value = BTreeMap<&'static str, u8>> {
    let keys = [
        "content-length",
        "content-md5",
        "content-sha256",
        "content-type",
        "redirects-to",
        "status",
        "name",
    ];
    prop::collection::btree_map(prop::sample::select(keys.to_vec()), 0..3_u8, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn markers_show_no_promise_that_nobody_made(base in promises(), ours in promises(), theirs in promises()) {
        let lines = |keys: &BTreeMap<&'static str, u8>| {
            let lines = keys.iter().map(|(key, value)| match *key {
                "content-length" => format!("content-length: {value}"),
                "status" => format!("status: 40{value}"),
                key => format!("{key}: text {value}"),
            });
            lines.collect::<Vec<_>>()
        };
        let record = |keys| format!("---\n---\n_path: /a\n{}\n", lines(keys).join("\n"));
        let (text, conflicts) = merged(&record(&base), &record(&ours), &record(&theirs));
        let disputed = conflicts.iter().flat_map(|conflict| match &conflict.kind {
            ConflictKind::Keys(keys) => keys.clone(),
            ConflictKind::RemovedAndChanged => vec![],
        });
        // A dispute about a name alone leaves the promise merged, as it is without a conflict.
        if disputed.into_iter().any(|key| key != "name") {
            for (side, keys) in [(Side::Ours, &ours), (Side::Theirs, &theirs)] {
                let promise = |lines: Vec<String>| lines.into_iter().filter(|line| !line.starts_with("name")).collect::<Vec<_>>();
                let shown = settled(&text, side).lines().skip(3).map(|line| line.replace('\'', "")).collect();
                prop_assert_eq!(promise(shown), promise(lines(keys)), "{}", text);
            }
        }
    }
}

/// Texts of lines that matter to documents, records, comments and merges.
fn wild() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => Just("---\n".to_owned()),
        6 => "[a-c]".prop_map(|path| format!("---\n_path: /{path}\n")),
        2 => "[a-c]".prop_map(|comment| format!("# {comment}\n")),
        1 => "[a-c]".prop_map(|comment| format!("name: x # {comment}\n")),
        1 => Just("https: true\n".to_owned()),
        1 => Just("--- # inline\n".to_owned()),
        2 => (0..3_u8).prop_map(|length| format!("content-length: {length}\r\n")),
        2 => (0..3_u8).prop_map(|value| format!("own: {{a: {value}, b: [1, x]}}\n")),
        1 => Just("categories: [b, a]\n".to_owned()),
        1 => Just("method: POST\n".to_owned()),
        1 => Just("_path: /d\n".to_owned()),
        1 => Just("- list\n".to_owned()),
        1 => Just("<<<<<<< ours\n".to_owned()),
        1 => Just("\u{FEFF}".to_owned()),
    ];
    prop::collection::vec(line, 0..10).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn merges_as_the_model_does(base in model(), ours in edits(), theirs in edits()) {
        let (ours, theirs) = (edited(&base, ours), edited(&base, theirs));
        let (wanted, disputed) = merge_models(&base, &ours, &theirs);
        let (result, conflicts) = merged(&text(&base), &text(&ours), &text(&theirs));
        prop_assert_eq!(undisputed(&result), text(&wanted));
        let found: BTreeSet<String> = conflicts.iter().map(|it| it.about.clone()).collect();
        prop_assert_eq!(&found, &disputed);
        for conflict in &conflicts {
            prop_assert!(result.lines().nth(conflict.line - 1).unwrap().starts_with("<<<<<<<"));
        }
        // Whatever a person keeps, the file is canonical, and has no mistake.
        for side in [Side::Ours, Side::Theirs] {
            let settled = settled(&result, side);
            let parsed = DomainFile::parse("example.org.yaml", settled.as_bytes());
            prop_assert_eq!(lint(&parsed, &["own".to_owned()]), []);
        }
        prop_assert_eq!(conflicts.is_empty(), DomainFile::parse("e.yaml", result.as_bytes()).file.canonical().is_ok());
    }

    #[test]
    fn swapping_the_sides_swaps_the_conflicts(base in model(), ours in edits(), theirs in edits()) {
        let (ours, theirs) = (edited(&base, ours), edited(&base, theirs));
        let (base, ours, theirs) = (text(&base), text(&ours), text(&theirs));
        let (there, back) = (merged(&base, &ours, &theirs).0, merged(&base, &theirs, &ours).0);
        prop_assert_eq!(settled(&there, Side::Ours), settled(&back, Side::Theirs));
        prop_assert_eq!(settled(&there, Side::Theirs), settled(&back, Side::Ours));
    }

    #[test]
    fn a_side_that_did_nothing_changes_nothing(base in wild(), other in wild()) {
        let canonical = |text: &str| {
            let parsed = DomainFile::parse("merge.yaml", text.as_bytes());
            parsed.file.canonical().unwrap_or_else(|_| text.to_owned())
        };
        for (ours, theirs) in [(&base, &other), (&other, &base), (&other, &other)] {
            let (text, conflicts) = merged(&base, ours, theirs);
            prop_assert_eq!(conflicts, []);
            prop_assert_eq!(text, canonical(&other));
        }
    }

    #[test]
    fn no_record_is_lost_or_revived(base in wild(), ours in wild(), theirs in wild()) {
        let Ok(result) = merge(versions(&base, &ours, &theirs), &MarkerStyle::default()) else {
            return Ok(());
        };
        let (result, conflicts) = file(result);
        let identities = |text: &str| -> BTreeSet<_> {
            let parsed = DomainFile::parse("merge.yaml", text.as_bytes());
            parsed.file.records().map(|it| it.record().identity()).collect()
        };
        if conflicts.is_empty() {
            let [b, o, t, all] = [&base, &ours, &theirs, &result].map(|text| identities(text));
            for identity in b.union(&o).chain(&t) {
                let [in_b, in_o, in_t] = [&b, &o, &t].map(|it| it.contains(identity));
                let wanted = if in_b { in_o && in_t } else { in_o || in_t };
                prop_assert_eq!(all.contains(identity), wanted, "{:?}:\n{}", identity, result);
            }
            let parsed = DomainFile::parse("merge.yaml", result.as_bytes());
            if let Ok(canonical) = parsed.file.canonical() {
                prop_assert_eq!(canonical, result);
            }
        }
    }

    #[test]
    fn bytes_never_panic(base in any::<Vec<u8>>(), ours in wild(), theirs in prop::option::of(any::<Vec<u8>>())) {
        let versions = Versions { base: Some(&base), ours: Some(ours.as_bytes()), theirs: theirs.as_deref() };
        let _ = merge(versions, &MarkerStyle::default());
    }
}
