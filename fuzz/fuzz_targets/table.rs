//! Any bytes are a table or an error, and each span holds the value of its item.
#![no_main]

#[path = "support/lists.rs"]
mod lists;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::table::{self, Columns};

fuzz_target!(|bytes: &[u8]| {
    let ordered = Columns::in_order("url,-,content-sha256").expect("columns");
    for columns in [Columns::default(), ordered] {
        lists::check(bytes, |sink| {
            table::read(bytes, &"t.csv".into(), &columns, sink)
        });
    }
});
