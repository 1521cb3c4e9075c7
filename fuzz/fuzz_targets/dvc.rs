//! Any bytes are an import of DVC or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::dvc;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| dvc::read(bytes, &"x.dvc".into(), sink));
});
