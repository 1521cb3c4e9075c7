//! Any bytes are a sitemap or an error, at no more cost than their length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use urldb_interchange::sitemap::parse;

fuzz_target!(|bytes: &[u8]| {
    let mut length = 0;
    let _ = parse(bytes, &"sitemap.xml".into(), &mut |_, place, loc| {
        assert!(!place.to_string().is_empty());
        length += loc.len();
        Ok(())
    });
    // Nothing is expanded: a reference is longer than what it stands for.
    assert!(length <= bytes.len());
});
