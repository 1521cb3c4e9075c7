//! Any bytes are read to their end as a catalogue, and what was read is written and read again.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use urldb_interchange::ssd3::{CatalogueRecord, Reader, Writer, into_item};

fn read(bytes: &[u8]) -> Option<Vec<CatalogueRecord>> {
    let mut reader = Reader::new(Cursor::new(bytes)).ok()?;
    let mut records = Vec::new();
    while let Some((line, record)) = reader.next_record(&mut |_| {}).expect("memory can be read") {
        let _ = into_item(&record, &"a.uric".into(), line, 1);
        records.push(record);
    }
    Some(records)
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(records) = read(bytes) {
        let mut writer = Writer::new(Vec::new());
        for record in &records {
            writer.write(record).expect("what is read can be written");
        }
        let written = writer.finish().expect("memory can be written");
        assert_eq!(read(&written), Some(records));
    }
});
