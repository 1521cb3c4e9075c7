//! Any text is an index line or none; one that is comes back from its rendering. In compressed segments a
//! lookup finds what a full read finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use urldb_warc::CdxjLine;
use urldb_warc::index::{CdxjIndex, merge_into_index};

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
    let dir = tempfile::tempdir().expect("a directory");
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
