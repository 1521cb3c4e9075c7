//! Any bytes are formulas of Homebrew or an error.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::brew_json;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| brew_json::read(bytes, &"formula.json".into(), sink));
});
