//! Any bytes are a description in JSON-LD or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::jsonld;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| {
        jsonld::read(bytes, &"x.jsonld".into(), Some("https://b.test/"), sink)
    });
});
