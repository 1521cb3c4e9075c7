//! Any bytes are a dump of lychee: there are at most as many items and refusals as lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use urldb_interchange::documents::lychee;
use urldb_interchange::{NoticeSeverity, ReadEvent};

fuzz_target!(|bytes: &[u8]| {
    let mut found = 0;
    let result = lychee::read(bytes, &"a".into(), &mut |event| {
        found += match event {
            ReadEvent::Item(_) => 1,
            ReadEvent::Notice(notice) => usize::from(notice.severity == NoticeSeverity::Refused),
        };
        Ok(())
    });
    result.expect("memory can be read");
    assert!(found <= bytes.split(|byte| *byte == b'\n').count());
});
