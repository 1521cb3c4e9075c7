//! The file of held URIs, `+uris.yaml`.
#![allow(clippy::disallowed_methods)]

use proptest::prelude::*;
use urldb_format::{
    Database, DomainFile, HELD_URIS, MarkerStyle, Merged, Record, Versions, lint, merge,
};

const URIS: &str = "---\n---\n_path: ftp://a.test/x\ncontent-length: 3\n---\n_path: http://a.test:443/\n\
                    ---\n_path: urn:isbn:0451450523\nname: A book\n";

/// Line and code of each finding in a file with this name and content.
fn findings(name: &str, text: &str) -> Vec<(usize, &'static str, String)> {
    let findings = lint(&DomainFile::parse(name, text.as_bytes()), &[]);
    let parts = findings
        .into_iter()
        .map(|it| (it.line, it.code.as_str(), format!("{it:#}")));
    parts.collect()
}

#[test]
fn uris_are_good_in_their_file_alone() {
    assert_eq!(findings("+uris.yaml", URIS), []);
    assert!(DomainFile::is_clean("+uris.yaml", URIS.as_bytes(), &[]));
    let file = DomainFile::parse("+uris.yaml", URIS.as_bytes()).file;
    assert_eq!(
        (file.host(), file.canonical().unwrap()),
        (HELD_URIS, URIS.to_owned())
    );
    let elsewhere = findings("a.test.yaml", URIS);
    let codes = elsewhere.iter().map(|(line, code, _)| (*line, *code));
    assert_eq!(
        codes.collect::<Vec<_>>(),
        [(3, "bad-path"), (6, "bad-path"), (8, "bad-path")]
    );
    // No other name is one of a file of URIs.
    for name in ["+urls.yaml", "uris+.yaml", "+URIS.yaml"] {
        assert_eq!(findings(name, "---\n")[0].1, "bad-file-name", "{name}");
    }
}

#[test]
fn what_a_host_can_hold_is_a_mistake_in_the_file_of_uris() {
    let text = "---\nhttps: true\nmine: 1\n---\n_path: /x\n---\n_path: http://A.test/x#y\n---\n_path: ftp://u:p@a.test/\n\
                ---\n_path: urn:a b\n---\n_path: urn:isbn:1\ncontent-length: x\n";
    let all = findings("+uris.yaml", text);
    let codes: Vec<_> = all.iter().map(|(line, code, _)| (*line, *code)).collect();
    assert_eq!(
        codes,
        [
            (2, "unknown-key"),
            (5, "bad-path"),
            (7, "bad-path"),
            (9, "bad-path"),
            (9, "unsorted-records"),
            (11, "bad-path"),
            (14, "bad-content-length"),
        ],
        "{all:#?}"
    );
    assert!(
        all[2]
            .2
            .contains("move the record to a.test.yaml, with `_path: /x`"),
        "{all:#?}"
    );
    assert!(!DomainFile::is_clean(
        "+uris.yaml",
        b"---\n---\n_path: /x\n",
        &[]
    ));
}

#[test]
fn the_file_of_uris_is_none_of_a_host() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b.test.yaml", "+uris.yaml", "a.test.yaml"] {
        std::fs::write(folder.path().join(name), "---\n").unwrap();
    }
    let database = Database::open(folder.path()).unwrap();
    let names = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let hosts: Vec<_> = database.files().iter().map(|path| names(path)).collect();
    assert_eq!(hosts, ["a.test.yaml", "b.test.yaml"]);
    let all: Vec<_> = database.all_files().map(names).collect();
    assert_eq!(all, ["+uris.yaml", "a.test.yaml", "b.test.yaml"]);
    assert_eq!(database.held(), Some(&*folder.path().join("+uris.yaml")));
    assert_eq!(database.path_of(HELD_URIS).as_deref(), database.held());
}

#[test]
fn uris_merge_record_by_record() {
    let ours = URIS.replace("content-length: 3", "content-length: 4");
    let theirs = format!("{URIS}---\n_path: urn:x:1\n");
    let versions = Versions {
        base: Some(URIS.as_bytes()),
        ours: Some(ours.as_bytes()),
        theirs: Some(theirs.as_bytes()),
    };
    let Merged::File { bytes, conflicts } = merge(versions, &MarkerStyle::default()).unwrap()
    else {
        panic!("a file");
    };
    assert_eq!(conflicts, []);
    let wanted = theirs.replace("content-length: 3", "content-length: 4");
    assert_eq!(String::from_utf8(bytes).unwrap(), wanted);
}

proptest! {
    #[test]
    fn held_uris_are_written_and_read_as_they_are(
        uris in proptest::collection::btree_set("(ftp|FTP|urn|x-y):(//[a-z:.]{1,3})?/?[a-zA-Z0-9%~!$&'()*+,;=:@#?/._-]{0,90}", 0..8),
    ) {
        let mut file = DomainFile::parse("+uris.yaml", b"---\n").file;
        let uris: Vec<String> = uris.into_iter().filter(|uri| urldb_canon::kind_of_held(uri).is_some()).collect();
        for uri in uris.iter().rev() {
            file.insert(Record::new(uri.as_str())).unwrap();
        }
        let text = file.canonical().unwrap();
        prop_assert_eq!(&file.text(), &text);
        prop_assert_eq!(findings("+uris.yaml", &text), []);
        let again = DomainFile::parse("+uris.yaml", text.as_bytes()).file;
        let paths: Vec<&str> = again.records().map(|entry| entry.record().path.as_str()).collect();
        prop_assert_eq!(paths, uris);
    }
}
