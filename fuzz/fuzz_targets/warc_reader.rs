//! Any bytes are records or faults with an offset within them; nothing hangs, and the way around
//! damage comes to an end.
#![no_main]

use std::io::{Cursor, Read};

use libfuzzer_sys::fuzz_target;
use urldb_warc::Reader;
use urldb_warc::reader::ReadError;

type Input<'a> = Reader<Cursor<&'a [u8]>>;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut reader) = Reader::new(Cursor::new(bytes)) else {
        return;
    };
    // Each fault is passed over by at least a byte.
    for _ in 0..=2 * bytes.len() {
        match next(&mut reader) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                assert!(error.is_damage() && error.offset <= bytes.len() as u64);
                let gap = reader.skip_damage().expect("in memory").expect("damage");
                assert!(gap.length > 0 || gap.offset == bytes.len() as u64);
            }
        }
    }
    panic!("it goes on for ever");
});

fn next(reader: &mut Input<'_>) -> Result<bool, ReadError> {
    let Some(mut record) = reader.next_record()? else {
        return Ok(false);
    };
    let (offset, length) = (record.offset(), record.block_length());
    let mut block = Vec::new();
    record
        .read_to_end(&mut block)
        .map_err(|error| record.fault(error))?;
    assert_eq!(block.len() as u64, length);
    let extent = record.finish()?;
    assert_eq!(extent.offset, offset);
    Ok(true)
}
