//! Any bytes are refused, or are an archive that is the same as itself; small bounds hold.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use urldb_contents::{Bounds, Comparison, compare, texts};

const BOUNDS: Bounds = Bounds {
    unpacked: 1 << 20,
    ratio: 200,
    members: 100,
    names: 4096,
};

fuzz_target!(|bytes: &[u8]| {
    let content = || Cursor::new(bytes);
    match compare(&mut content(), &mut content(), BOUNDS) {
        Ok(Comparison::File { is_same }) => assert!(is_same),
        Ok(Comparison::Archive { files, differences }) => {
            assert!(files > 0 && files <= BOUNDS.members as u64);
            assert_eq!(differences, []);
        }
        Err(_) => return,
    }
    let names = [&b""[..], b"a"];
    let found = texts(&mut content(), BOUNDS, names, 1000).expect("the comparison reads the same");
    assert!(found.values().all(|text| text.len() <= 1000));
});
