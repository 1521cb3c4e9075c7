//! An index that a merge in git has left out of order: no lookup misses a line.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use urldb_warc::{
    CdxjIndex, CdxjLine, INDEX_FILE_NAME, IndexUpdate, merge_into_index, unindexed_files,
};

use crate::common::{gzip, line};

fn text(lines: &[CdxjLine]) -> String {
    let lines = lines.iter().map(|line| line.render().expect("valid"));
    lines.map(|line| line + "\n").collect()
}

fn timestamps(path: &Path, key: &str) -> Vec<String> {
    let mut index = CdxjIndex::open(path).expect("an index");
    let found = index.captures(key).expect("looked up");
    found.map(|line| line.expect("good").timestamp).collect()
}

fn all(path: &Path) -> Vec<CdxjLine> {
    let lines = CdxjIndex::open(path)
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
        let (merged, path) = (dir.path().join("merged"), dir.path().join(INDEX_FILE_NAME));
        fs::write(&merged, "").expect("written");
        merge_into_index(&merged, &lines).expect("merged");
        fs::remove_file(dir.path().join(".indexed")).ok();
        fs::write(&path, text(&shuffled)).expect("written");
        prop_assert_eq!(all(&path), all(&merged));
        for line in &lines {
            prop_assert_eq!(timestamps(&path, &line.key), timestamps(&merged, &line.key));
        }
        // Reading has changed nothing.
        prop_assert_eq!(fs::read_to_string(&path).expect("there"), text(&shuffled));
    }
}

/// Both sides of a merge have added lines at one place: git puts one side's after the other's.
#[test]
fn what_both_sides_have_added_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(INDEX_FILE_NAME);
    let [a, z] = [line("a", 0), line("z", 0)];
    let ours: Vec<_> = (0..40).map(|n| line(&format!("m{n:02}"), 1)).collect();
    let theirs: Vec<_> = (0..40).map(|n| line(&format!("m{n:02}"), 2)).collect();
    merge_into_index(&path, &[&[a.clone(), z.clone()], &ours[..]].concat()).expect("merged");
    assert!(dir.path().join(".indexed").is_file());
    // Git writes another file in the place of the old one.
    let union = [&[a], &ours[..], &theirs[..], &[z.clone(), z]].concat();
    let new = dir.path().join("new");
    fs::write(&new, text(&union)).expect("written");
    fs::rename(new, &path).expect("renamed");
    // A line that is there twice is out of order too.
    assert_eq!(all(&path).len(), 82);
    for n in 0..40 {
        assert_eq!(timestamps(&path, &format!("m{n:02}")).len(), 2, "{n}");
    }
}

/// What says that the index is in order is put down only when it is: also by an update that adds
/// nothing but the name of a file.
#[test]
fn an_update_without_lines_sorts_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(INDEX_FILE_NAME);
    let lines: Vec<_> = (0..30)
        .rev()
        .map(|n| line(&format!("k{n:02}"), n))
        .collect();
    fs::write(&path, text(&lines)).expect("written");
    let info = "WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    fs::write(dir.path().join("b.warc.gz"), gzip(info.as_bytes())).expect("written");
    let mut update = IndexUpdate::new(&path);
    for file in unindexed_files(dir.path()).expect("read") {
        update
            .add_file(&file, &|url: &str| url.to_owned())
            .expect("good");
    }
    update.finish().expect("merged");
    assert_eq!(unindexed_files(dir.path()).expect("read"), [] as [&Path; 0]);
    let sorted: Vec<_> = lines.into_iter().rev().collect();
    assert_eq!(fs::read_to_string(&path).expect("there"), text(&sorted));
    assert_eq!(timestamps(&path, "k07").len(), 1);
}

/// Where the list says that it is in order, the index is not read to see that.
#[test]
fn an_index_of_our_own_is_not_read_to_be_opened() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(INDEX_FILE_NAME);
    let lines: Vec<_> = (0..9).map(|n| line(&format!("k{n}"), n)).collect();
    merge_into_index(&path, &lines).expect("merged");
    let before = fs::metadata(&path).expect("there");
    // Somebody who wants it to look as before succeeds, and harms the lookups only.
    let reversed: Vec<_> = lines.into_iter().rev().collect();
    fs::write(&path, text(&reversed)).expect("written");
    let file = fs::File::options().append(true).open(&path).expect("there");
    let modified = before.modified().expect("a time");
    file.set_modified(modified).expect("set");
    assert_eq!(timestamps(&path, "k0").len(), 0);
    fs::remove_file(dir.path().join(".indexed")).expect("there");
    assert_eq!(timestamps(&path, "k0").len(), 1);
}
