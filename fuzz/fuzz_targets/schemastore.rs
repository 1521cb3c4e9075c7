//! Any bytes are a catalogue of schemas or an error.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::schemastore;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| schemastore::read(bytes, &"catalog.json".into(), sink));
});
