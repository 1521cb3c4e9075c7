use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use urldb_warc::reader::Compression;
use urldb_warc::{FindingCode, Reader};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// The URI and the block of a record of the files.
fn expected(number: usize) -> (String, String) {
    let word = "lorem".repeat(number % 3 + 1);
    let line =
        format!("Hello, this is page number {number} of an archive, with the word {word} in it.\n");
    let body = line.repeat(if number == 7 { 400 } else { 3 });
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n");
    (format!("http://example.test/{number}"), head + &body)
}

/// The records of a file, each with its offset; damage is passed over and counted.
fn read(bytes: &[u8]) -> (Vec<(u64, String, String)>, usize) {
    let (mut records, mut faults) = (vec![], 0);
    let mut reader = Reader::new(Cursor::new(bytes)).expect("opened");
    loop {
        let fault = match reader.next_record() {
            Ok(None) => break,
            Ok(Some(mut record)) => {
                assert_eq!(record.within_member(), 0);
                let uri = record.header().target_uri().unwrap_or_default().to_owned();
                let (offset, mut block) = (record.offset(), String::new());
                let is_read = record.read_to_string(&mut block).is_ok();
                let is_good = record.finish().is_ok() && is_read;
                if is_good {
                    records.push((offset, uri, block));
                }
                !is_good
            }
            Err(_) => true,
        };
        if !fault {
            continue;
        }
        faults += 1;
        reader.skip_damage().expect("searched");
    }
    (records, faults)
}

#[test]
fn records_are_read_with_any_dictionary() {
    for (name, numbers) in [
        ("plain.warc.zst", (0..12).collect::<Vec<_>>()),
        ("dict.warc.zst", (0..12).collect()),
        ("packed.warc.zst", (0..12).collect()),
        // A record may have several frames.
        ("split.warc.zst", vec![0, 3, 1]),
    ] {
        let bytes = fs::read(file(name)).expect("there");
        let (records, faults) = read(&bytes);
        assert_eq!(faults, 0, "{name}");
        let found: Vec<_> = records
            .iter()
            .map(|it| (it.1.clone(), it.2.clone()))
            .collect();
        assert_eq!(
            found,
            numbers.iter().map(|it| expected(*it)).collect::<Vec<_>>()
        );
        let mut whole = Reader::open(&file(name)).expect("opened");
        assert_eq!(whole.compression(), Compression::Zstd);
        while let Some(record) = whole.next_record().expect("good") {
            record.finish().expect("good");
            assert!(
                whole.deviations().is_empty(),
                "{name}: {:?}",
                whole.deviations()
            );
        }
        // From its offset, each record is read with the dictionary of its file.
        for (offset, uri, block) in records {
            let mut reader = Reader::open_at(&file(name), offset).expect("opened");
            let mut record = reader.next_record().expect("good").expect("there");
            assert_eq!(record.header().target_uri(), Some(uri.as_str()));
            let mut again = String::new();
            record.read_to_string(&mut again).expect("good");
            assert_eq!(again, block);
        }
    }
}

/// A damaged record is noticed, and the others are found: in these files each has a checksum.
#[test]
fn no_damage_passes_for_a_record() {
    for name in ["plain.warc.zst", "dict.warc.zst"] {
        let bytes = fs::read(file(name)).expect("there");
        let (all, _) = read(&bytes);
        let first = usize::try_from(all[0].0).unwrap();
        for at in (0..bytes.len()).step_by(5) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let (records, faults) = read(&damaged);
            let mut known = all.iter();
            for record in &records {
                assert!(known.any(|it| it == record), "{name}: {at}: {}", record.1);
            }
            assert!(records.len() == all.len() || faults > 0, "{name}: {at}");
            // Damage of the first bytes of the file, or of its dictionary, may cost every record.
            assert!(
                at < first.max(4) || records.len() + 2 >= all.len(),
                "{name}: {at}"
            );
        }
        for end in (0..bytes.len()).step_by(7) {
            let (records, _) = read(&bytes[..end]);
            let whole = all
                .iter()
                .filter(|it| usize::try_from(it.0).unwrap() < end)
                .count();
            assert!(
                records.len() + 1 >= whole && records.len() <= whole,
                "{name}: {end}"
            );
        }
    }
}

#[test]
fn a_dictionary_that_is_wrong_is_a_fault() {
    let bytes = fs::read(file("dict.warc.zst")).expect("there");
    let code = |bytes: &[u8]| {
        let mut reader = Reader::new(bytes).expect("opened");
        let fault = reader.next_record().map(drop).expect_err("refused");
        (fault.offset, fault.kind.code())
    };
    let mut without_magic = bytes.clone();
    without_magic[8] ^= 1;
    assert_eq!(code(&without_magic), (0, FindingCode::ZstdData));
    // A length beyond the file, and one beyond every bound.
    let mut long = bytes.clone();
    long[6] = 1;
    assert_eq!(code(&long), (0, FindingCode::CutOff));
    long[7] = 0xff;
    assert_eq!(code(&long), (0, FindingCode::ZstdData));
}
