//! Any bytes are a list of sources or an error.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::nix_sources;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| nix_sources::read(bytes, &"sources.json".into(), sink));
});
