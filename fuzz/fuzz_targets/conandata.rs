//! Any bytes are data of a Conan recipe or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::conandata;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| {
        conandata::read(bytes, &"conandata.yml".into(), sink)
    });
});
