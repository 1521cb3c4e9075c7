//! Damage: what is noticed, and what is found after it.

use urldb_warc::finding::Code;

use crate::common::{gzip, named, read_around};

#[test]
fn records_after_a_damaged_one_are_found() {
    let records: Vec<Vec<u8>> = (1..5).map(|n| named("1.1", n * 100)).collect();
    let zipped: Vec<Vec<u8>> = records.iter().map(|it| gzip(it)).collect();
    for files in [&records, &zipped] {
        let offset = files[0].len();
        for (at, with) in [(0, b"XXXX"), (3, b"\0\0\0\0"), (140, b"\xff\xff\xff\xff")] {
            let mut file = files.concat();
            file.splice(
                offset + at.min(files[1].len() - 5)..offset + at.min(files[1].len() - 5) + 4,
                with.iter().copied(),
            );
            let (ids, faults) = read_around(&file);
            let lost = usize::from(!faults.is_empty());
            assert!(ids.len() == 4 - lost, "{at}: {ids:?} {faults:?}");
            assert_eq!(ids.last().map(String::as_str), Some("<urn:x:400>"));
        }
    }
}

/// Records within records, each of which says that it goes on to the end: each is tried, and read to
/// the end to no avail. It must not take the square of the time.
#[test]
fn a_file_made_to_be_read_again_and_again_is_not() {
    let bait = b"\nWARC/1.1\r\nContent-Length: 99999999\r\n\r\n";
    let file = bait.repeat(40_000);
    let (ids, faults) = read_around(&file[1..]);
    assert!(ids.is_empty() && faults.iter().all(|code| *code == Code::CutOff));
}
