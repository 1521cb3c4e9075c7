//! Any bytes are a list of digests, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::sums;

fuzz_target!(|bytes: &[u8]| {
    for name in ["SHA256SUMS", "B2SUMS"] {
        lists::check(bytes, |sink| {
            sums::read(bytes, &name.into(), "http://a.test/", sink)
        });
    }
});
