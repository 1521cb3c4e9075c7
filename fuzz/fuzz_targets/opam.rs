//! Any bytes are the file of an opam package or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::opam;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| opam::read(bytes, &"opam".into(), sink));
});
