//! Any bytes are rules of redirects or notices, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::redirects;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| {
        redirects::read(bytes, &"_redirects".into(), "https://a.test/", &Default::default(), sink)
    });
});
