//! Any bytes are an index of a Debian archive or notices, also as gzip and xz.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::{debian_sources, input};

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = input::unpacked(std::io::Cursor::new(bytes.to_vec()), &Default::default()) else {
        return;
    };
    lists::check(bytes, |sink| {
        debian_sources::read(input, &"Sources".into(), "https://a.test/", sink)
    });
});
