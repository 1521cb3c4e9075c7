//! Any bytes are a Metalink or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::metalink;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| metalink::read(bytes, &"x.meta4".into(), sink));
});
