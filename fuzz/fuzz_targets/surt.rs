//! Every text has a SURT key, and the identity of an identity is the same identity.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = urldb_canon::surt(text);
    if let Ok(identity) = urldb_canon::identify(text) {
        assert_eq!(urldb_canon::identify(&identity.to_string()), Ok(identity));
    }
});
