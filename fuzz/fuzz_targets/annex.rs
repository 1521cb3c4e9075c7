//! Any bytes are the output of git-annex or an error.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::annex;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| {
        annex::read(bytes, &"whereis.json".into(), sink)
    });
});
