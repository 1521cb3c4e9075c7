//! An index that a merge in git has left out of order: no lookup misses a line.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use urldb_warc::{
    CdxjIndex, CdxjLine, INDEX_DIRECTORY, INDEX_FILE_NAME, IndexUpdate, merge_into_index,
    unindexed_files,
};

use crate::common::{gzip, index_text, line, write_plain_index};

fn text(lines: &[CdxjLine]) -> String {
    let lines = lines.iter().map(|line| line.render().expect("valid"));
    lines.map(|line| line + "\n").collect()
}

fn timestamps(path: &Path, key: &str) -> Vec<String> {
    let mut index = CdxjIndex::open(&path).expect("an index");
    let found = index.captures(key).expect("looked up");
    found.map(|line| line.expect("good").timestamp).collect()
}

fn all(path: &Path) -> Vec<CdxjLine> {
    let lines = CdxjIndex::open(&path)
        .and_then(CdxjIndex::into_lines)
        .expect("an index");
    lines.collect::<Result<_, _>>().expect("good lines")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn lines_are_found_in_any_order(
        lines in prop::collection::vec(("[a-d]{1,2}", 0..9u64), 0..30)
            .prop_map(|lines| lines.iter().map(|(key, n)| line(key, *n)).collect::<Vec<_>>())
            .prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle())),
    ) {
        let (lines, shuffled) = lines;
        let dir = tempfile::tempdir().expect("a directory");
        let (merged, path) = (dir.path().join("merged"), dir.path());
        fs::create_dir_all(merged.join(INDEX_DIRECTORY)).expect("made");
        merge_into_index(&merged, &lines).expect("merged");
        write_plain_index(path, &text(&shuffled));
        prop_assert_eq!(all(path), all(&merged));
        for line in &lines {
            prop_assert_eq!(timestamps(path, &line.key), timestamps(&merged, &line.key));
        }
        // Reading has changed nothing.
        let plain = path.join(INDEX_FILE_NAME);
        prop_assert_eq!(fs::read_to_string(plain).expect("there"), text(&shuffled));
        // An update converts the index.
        IndexUpdate::new(path).finish().expect("converted");
        prop_assert_eq!(all(path), all(&merged));
        prop_assert!(!path.join(INDEX_FILE_NAME).exists());
    }
}

/// Both sides of a merge have added lines at one place: git puts one side's after the other's.
#[test]
fn what_both_sides_have_added_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path();
    let [a, z] = [line("a", 0), line("z", 0)];
    let ours: Vec<_> = (0..40).map(|n| line(&format!("m{n:02}"), 1)).collect();
    let theirs: Vec<_> = (0..40).map(|n| line(&format!("m{n:02}"), 2)).collect();
    let union = [&[a], &ours[..], &theirs[..], &[z.clone(), z]].concat();
    write_plain_index(path, &text(&union));
    // A line that is there twice is out of order too.
    assert_eq!(all(path).len(), 82);
    for n in 0..40 {
        assert_eq!(timestamps(path, &format!("m{n:02}")).len(), 2, "{n}");
    }
}

/// An update that adds nothing but the name of a file sorts the lines of a plain index too.
#[test]
fn an_update_without_lines_sorts_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path();
    let lines: Vec<_> = (0..30)
        .rev()
        .map(|n| line(&format!("k{n:02}"), n))
        .collect();
    write_plain_index(path, &text(&lines));
    let info = "WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    fs::write(dir.path().join("b.warc.gz"), gzip(info.as_bytes())).expect("written");
    let mut update = IndexUpdate::new(path);
    for file in unindexed_files(dir.path()).expect("read") {
        update
            .add_file(&file, &|url: &str| url.to_owned())
            .expect("good");
    }
    update.finish().expect("merged");
    assert_eq!(unindexed_files(dir.path()).expect("read"), [] as [&Path; 0]);
    let sorted: Vec<_> = lines.into_iter().rev().collect();
    assert_eq!(index_text(path), text(&sorted));
    assert_eq!(timestamps(path, "k07").len(), 1);
    let second = path.join(INDEX_FILE_NAME);
    assert!(!second.exists());
}
