//! Any bytes are checksums of TensorFlow Datasets, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::tfds;

fuzz_target!(|bytes: &[u8]| {
    lists::check(bytes, |sink| {
        tfds::read(bytes, &"checksums.tsv".into(), sink)
    });
});
