use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use urldb_warc::cdxj::{CdxjRequest, REVISIT_MIME};
use urldb_warc::index::{
    INDEX_DIRECTORY, IndexError, index_lines_of, merge_index, merge_into_index,
};
use urldb_warc::writer::ArchiveFile;
use urldb_warc::{CdxjLine, Extent};

use crate::common::{URL, drafts, index_files, index_text, is_named, line};

fn read(dir: &Path) -> Vec<String> {
    index_text(dir).lines().map(str::to_owned).collect()
}

#[test]
fn a_line_looks_as_other_programs_expect() {
    let mut revisit = line("org,example,data)/catalogue.csv", 17);
    let text = revisit.render().expect("valid");
    assert_eq!(
        text,
        r#"org,example,data)/catalogue.csv 20261120060017 {"url": "https://data.example.org/catalogue.csv", "mime": "text/csv", "status": "200", "digest": "sha256:00", "length": "300", "offset": "17", "filename": "a.warc.gz"}"#
    );
    revisit.status = None;
    assert!(!revisit.render().expect("valid").contains("status"));
}

#[test]
fn a_bad_line_is_refused() {
    for text in [
        "",
        "key",
        "key 2026 {}",
        "key 20261120060000 {",
        "key 20261120060000 {}",
        "key 20261120060000 []",
    ] {
        CdxjLine::parse(text).expect_err(text);
    }
    for key in ["", "a b", "a\nb", "ä"] {
        line(key, 0).render().expect_err(key);
    }
}

#[test]
fn an_archive_file_is_indexed() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut file = ArchiveFile::create(dir.path(), "a.warc.gz", &drafts()[0].0).expect("created");
    let mut extents = Vec::new();
    for (draft, body) in &drafts()[1..] {
        extents.push(
            file.append(draft, *body, body.len() as u64)
                .expect("appended"),
        );
    }
    let lines = index_lines_of(&file.finish().expect("finished"), &|url: &str| {
        format!("key-of-{url}")
    })
    .expect("good");
    let found: Vec<_> = lines
        .iter()
        .map(|line| (line.mime.as_str(), line.status, line.extent))
        .collect();
    assert_eq!(
        found,
        [
            ("text/csv", Some(200), extents[1]),
            (REVISIT_MIME, None, extents[2])
        ]
    );
    assert_eq!(lines[0].digest, lines[1].digest);
    assert_eq!(lines[0].key, format!("key-of-{URL}"));
    assert_eq!(
        (lines[0].timestamp.as_str(), lines[0].filename.as_str()),
        ("20261120060000", "a.warc.gz")
    );
}

#[test]
fn a_bad_line_leaves_the_index_as_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path();
    merge_into_index(path, &[line("a", 1)]).expect("merged");
    let before = (read(path), index_files(path));
    assert!(matches!(
        merge_into_index(path, &[line("b", 1), line("c d", 1)]),
        Err(IndexError::Line(_))
    ));
    assert_eq!((read(path), index_files(path)), before);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_to_the_folder_stays() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().expect("a directory");
    let (target, link) = (dir.path().join("real"), dir.path().join(INDEX_DIRECTORY));
    fs::create_dir(&target).expect("made");
    symlink("real", &link).expect("linked");
    merge_into_index(dir.path(), &[line("a", 1)]).expect("merged");
    merge_index(dir.path()).expect("merged");
    assert!(link.is_symlink());
    assert_eq!(read(dir.path()).len(), 1);
    assert_eq!(index_files(dir.path()).len(), 3);
}

#[test]
fn merging_at_once_loses_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for n in 0..5 {
                    merge_into_index(path, &[line(&format!("k{n}"), thread)]).expect("merged");
                }
            });
        }
    });
    assert_eq!(read(path).len(), 20);
    assert!(index_files(path).iter().all(|name| !is_named(name, ".tmp")));
}

fn any_line() -> impl Strategy<Value = CdxjLine> {
    let text = || ".*|[ -~\t\r\n\u{7f}-\u{9f}\u{2028}\"\\\\]{0,20}";
    (
        (
            "[!-~]{1,8}",
            "[0-9]{14}",
            text(),
            text(),
            prop::option::of((text(), text())),
        ),
        (
            prop::option::of(0..1000u16),
            text(),
            any::<u64>(),
            any::<u64>(),
            text(),
            prop::option::of(text()),
            prop::option::of(text()),
        ),
    )
        .prop_map(
            |(
                (key, timestamp, url, mime, request),
                (status, digest, offset, length, filename, vary, truncated),
            )| {
                CdxjLine {
                    key,
                    timestamp,
                    url,
                    mime,
                    status,
                    digest,
                    extent: Extent { offset, length },
                    filename,
                    request: request.map(|(method, body)| CdxjRequest { method, body }),
                    vary,
                    truncated,
                }
            },
        )
}

proptest! {
    #[test]
    fn any_line_comes_back(line in any_line()) {
        let text = line.render().expect("valid");
        prop_assert!(text.bytes().all(|b| (b' '..=b'~').contains(&b)));
        prop_assert_eq!(CdxjLine::parse(&text), Ok(line));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in ".*|[!-~]{1,5} [0-9]{14} \\{.*\\}") {
        let _ = CdxjLine::parse(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn merged_lines_are_sorted_and_complete(
        batches in prop::collection::vec(prop::collection::vec(("[a-c!~]{1,2}", 0..9u64), 0..12), 1..4)
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path();
        let mut expected = BTreeSet::new();
        for batch in &batches {
            let lines: Vec<_> = batch.iter().map(|(key, n)| line(key, *n)).collect();
            expected.extend(lines.iter().map(|line| line.render().expect("valid")));
            merge_into_index(path, &lines).expect("merged");
        }
        let found = if expected.is_empty() { Vec::new() } else { read(path) };
        prop_assert_eq!(&found, &Vec::from_iter(expected));
        if !found.is_empty() {
            merge_index(path).expect("merged");
            prop_assert_eq!(read(path), found);
            prop_assert_eq!(index_files(path).len(), 3);
        }
    }
}
