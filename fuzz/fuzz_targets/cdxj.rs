//! Any text is an index line or none; one that is comes back from its rendering. In any plain index, in
//! order or not, a lookup ends. In compressed segments it finds what a full read finds.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use urldb_warc::{CdxjIndex, CdxjLine, INDEX_FILE_NAME, merge_into_index};

fuzz_target!(|text: &str| {
    let lines: Vec<CdxjLine> = text
        .lines()
        .filter_map(|line| CdxjLine::parse(line).ok())
        .collect();
    let mut good = Vec::new();
    for line in lines {
        if let Ok(text) = line.render() {
            assert_eq!(CdxjLine::parse(&text).as_ref(), Ok(&line));
            good.push(line);
        }
    }
    let key = text.split(' ').next().unwrap_or_default();
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(INDEX_FILE_NAME);
    std::fs::File::create(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("written");
    let mut index = CdxjIndex::open(&dir.path()).expect("an index");
    let found = index.captures(key).expect("no line is too long");
    assert!(found.count() <= text.lines().count());

    std::fs::remove_file(&path).expect("there");
    merge_into_index(dir.path(), &good).expect("merged");
    if good.is_empty() {
        return;
    }
    let mut index = CdxjIndex::open(&dir.path()).expect("an index");
    for line in &good {
        let found: Vec<_> = index.captures(&line.key).expect("looked up").collect();
        assert!(
            found
                .iter()
                .any(|found| found.as_ref().is_ok_and(|found| found == line))
        );
    }
});
