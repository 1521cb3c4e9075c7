//! Any bytes are a file of a Bazel registry or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::bazel_registry;

fuzz_target!(|bytes: &[u8]| {
    for base in [None, Some("http://a.test/")] {
        let file = "modules/m/1/source.json".into();
        lists::check(bytes, |sink| bazel_registry::read(bytes, &file, base, sink));
    }
});
