//! Any bytes are a configuration of OBO PURLs or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::obo_purl;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| {
        obo_purl::read(bytes, &"config/a.yml".into(), None, sink)
    });
});
