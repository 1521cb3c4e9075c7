//! Reading on several threads has the outcome of reading on one, for every division of the file.

use std::fs;
use std::io::{Seek, Write};

use flate2::write::GzEncoder;

use super::*;
use crate::header::{Header, RecordType};
use crate::writer::{Compression, Writer};

impl MemorySize for String {
    fn memory_size(&self) -> usize {
        self.len()
    }
}

/// Describes a record completely.
fn describe(mut record: Record<'_, File>, add: &mut dyn FnMut(String)) -> Result<(), ReadError> {
    add(format!("{} {:?}", record.offset(), record.header()));
    let length = io::copy(&mut record, &mut io::sink()).map_err(|error| record.fault(error))?;
    add(format!("{length} {:?}", record.finish()?));
    Ok(())
}

/// All events of the file, read in ranges of this length on this number of threads.
fn outcome(path: &Path, range_length: u64, threads: usize) -> Vec<String> {
    let mut events = Vec::new();
    let division = Division {
        range_length,
        threads,
    };
    let read = read_divided(path, division, &describe, &mut |event| {
        events.push(format!("{event:?}"));
        ControlFlow::Continue(())
    });
    events.extend(read.err().map(|error| error.to_string()));
    events
}

fn records(output: impl Write + Seek, compression: Compression, blocks: &[Vec<u8>], sl: bool) {
    let mut writer = Writer::new(output, compression);
    if sl {
        writer = writer.with_skip_lengths();
    }
    for (number, block) in blocks.iter().enumerate() {
        let mut header = Header::new(RecordType::Resource);
        for (name, value) in [
            ("WARC-Record-ID", format!("<urn:test:{number}>")),
            ("WARC-Date", "2026-11-20T06:00:00Z".to_owned()),
            ("Content-Type", "text/plain".to_owned()),
        ] {
            header.push(name, &value).unwrap();
        }
        writer
            .write_record(&header, &block[..], block.len() as u64)
            .unwrap();
    }
}

fn archive(compression: Compression, blocks: &[Vec<u8>], sl: bool) -> Vec<u8> {
    let mut output = io::Cursor::new(Vec::new());
    records(&mut output, compression, blocks, sl);
    output.into_inner()
}

/// The length of an `sl` field with what comes before it.
const SL: usize = 14;

/// A gzip member with additional header fields.
fn with_header(member: &[u8], flags: u8, more: &[u8]) -> Vec<u8> {
    let mut longer = member.to_vec();
    longer[3] |= flags;
    longer.splice(10..10, more.iter().copied());
    longer
}

fn empty_member() -> Vec<u8> {
    let gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.finish().unwrap()
}

/// Archives of all kinds, some with bytes inside of records that look like records.
fn archives() -> Vec<(&'static str, Vec<u8>)> {
    let small: Vec<Vec<u8>> = (0..12)
        .map(|n| vec![b'a' + n; 40 * usize::from(n)])
        .collect();
    let members = archive(Compression::Gzip, &small, false);
    let plain = archive(Compression::None, &small, false);
    let mut nested = small.clone();
    nested.insert(4, members.clone());
    nested.insert(9, plain.clone());
    let mut whole = GzEncoder::new(Vec::new(), flate2::Compression::default());
    whole.write_all(&plain).unwrap();
    let mut between = members.clone();
    // A member without content, and the same members again.
    between.extend(empty_member());
    between.extend(&members);
    let each: Vec<_> = small
        .iter()
        .map(|block| archive(Compression::Gzip, std::slice::from_ref(block), false))
        .collect();
    let checksums = each.iter().flat_map(|it| with_header(it, 2, &[0, 0]));
    let spanning = each.chunks(3).flat_map(|chunk| {
        // An `sl` for all three members, whose decompressed length is too small.
        let length = chunk.iter().map(Vec::len).sum::<usize>() + SL;
        let mut extra = vec![12, 0, b's', b'l', 8, 0];
        extra.extend(u32::try_from(length).unwrap().to_le_bytes());
        extra.extend([1, 0, 0, 0]);
        let first = with_header(&chunk[0], 4, &extra);
        first.into_iter().chain(chunk[1..].concat())
    });
    let of_zstd = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        fs::read(folder.join(name)).unwrap()
    };
    vec![
        ("zstd", of_zstd("plain.warc.zst")),
        ("zstd with a dictionary", of_zstd("dict.warc.zst")),
        ("zstd with a packed dictionary", of_zstd("packed.warc.zst")),
        ("members", members),
        ("plain", plain),
        ("nested members", archive(Compression::Gzip, &nested, false)),
        ("nested, plain", archive(Compression::None, &nested, false)),
        ("skip lengths", archive(Compression::Gzip, &nested, true)),
        ("one member", whole.finish().unwrap()),
        ("between members", between),
        ("header checksums", checksums.collect()),
        ("an sl for many", spanning.collect()),
    ]
}

#[test]
fn every_division_has_the_same_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.warc");
    for (name, bytes) in archives() {
        fs::write(&path, &bytes).unwrap();
        let expected = outcome(&path, u64::MAX, 1);
        assert!(expected.len() >= 24, "{name}: {expected:#?}");
        for range_length in [1, 7, 50, 300, 301, 1000] {
            assert_eq!(
                outcome(&path, range_length, 3),
                expected,
                "{name}, by {range_length}"
            );
        }
    }
}

#[test]
fn damage_has_the_same_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.warc");
    for (name, bytes) in archives() {
        let step = bytes.len() / 41 + 1;
        for at in (0..bytes.len()).step_by(step) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let mut without = bytes.clone();
            without.drain(at..(at + 5).min(bytes.len()));
            for damaged in [&flipped, &without, &bytes[..at].to_vec()] {
                fs::write(&path, damaged).unwrap();
                let expected = outcome(&path, u64::MAX, 1);
                assert_eq!(outcome(&path, 200, 2), expected, "{name}, byte {at}");
            }
        }
    }
}

#[test]
fn a_sink_that_breaks_gets_no_more_events() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.warc");
    for (_, bytes) in archives() {
        fs::write(&path, &bytes).unwrap();
        for enough in 0..8 {
            let mut seen = 0;
            let division = Division {
                range_length: 100,
                threads: 2,
            };
            read_divided(&path, division, &describe, &mut |_| {
                seen += 1;
                if seen > enough {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .unwrap();
            assert_eq!(seen, enough + 1);
        }
    }
}

#[test]
fn search_stops_in_a_range_full_of_gzip_members_without_records() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.warc.gz");
    for (members_before, is_found) in [(10, true), (1000, false)] {
        // Gzip members without records.
        let mut bytes = empty_member().repeat(members_before);
        let record = bytes.len() as u64;
        bytes.extend(archive(Compression::Gzip, &[vec![b'a'; 10]], false));
        fs::write(&path, &bytes).unwrap();
        let mut reader = Reader::open(&path).unwrap();
        let found = reader.find_record(&(1..u64::MAX)).unwrap();
        assert_eq!(found, is_found.then_some(record), "{members_before}");
        assert_eq!(outcome(&path, 50, 3), outcome(&path, u64::MAX, 1));
    }
}

#[test]
fn ranges_within_one_record_get_no_job() {
    let blocks = [vec![b'a'; 10], vec![b'\n'; 100_000], vec![b'b'; 10]];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.warc");
    let bytes = archive(Compression::None, &blocks, false);
    fs::write(&path, &bytes).unwrap();
    let mut made = 0;
    let mut collector = Collector {
        reader: Reader::open(&path).unwrap(),
        read_items: &describe,
        sink: &mut |_| {
            made += 1;
            ControlFlow::Continue(())
        },
        position: Some(0),
        version: None,
    };
    let (jobs, queue) = unbounded();
    // Takes jobs and sends no results.
    let taken = thread::spawn(move || queue.into_iter().count());
    collector
        .collect(&jobs, ranges(bytes.len() as u64, 100), 3)
        .unwrap();
    drop(jobs);
    let taken = taken.join().unwrap();
    assert!(taken < 20, "{taken} of {} ranges", bytes.len() / 100);
    assert_eq!(made, 6);
}
