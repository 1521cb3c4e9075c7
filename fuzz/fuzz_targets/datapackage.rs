//! Any bytes are a Data Package or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::datapackage;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| {
        datapackage::read(
            bytes,
            &"datapackage.json".into(),
            Some("https://b.test/"),
            sink,
        )
    });
});
