//! What is written is read back, whatever it is; what is damaged is noticed.

use std::io::{self, Read};

use crate::common::{BODY, drafts, read_all};
use proptest::prelude::*;
use urldb_warc::header::InvalidField;
use urldb_warc::reader::ReadErrorKind;
use urldb_warc::writer::WriteErrorKind;
use urldb_warc::{Compression, Extent, FindingCode, Header, Reader, RecordType, Writer};

fn archive(compression: Compression) -> (Vec<u8>, Vec<Extent>) {
    let mut writer = Writer::new(Vec::new(), compression);
    let write = |(draft, body): &(_, &[u8])| {
        writer
            .write_draft(draft, *body, body.len() as u64)
            .expect("written")
    };
    let extents = drafts().iter().map(write).collect();
    (writer.get_ref().clone(), extents)
}

#[test]
fn drafts_come_back_with_their_extents() {
    for compression in [Compression::Gzip, Compression::None] {
        let (bytes, extents) = archive(compression);
        let mut reader = Reader::new(bytes.as_slice()).expect("readable");
        for ((draft, body), extent) in drafts().iter().zip(&extents) {
            let mut record = reader.next_record().expect("good").expect("there");
            assert_eq!(record.offset(), extent.offset);
            assert_eq!(
                record.header().get("warc-record-id"),
                draft.header.get("WARC-Record-ID")
            );
            let mut block = Vec::new();
            record.read_to_end(&mut block).expect("good");
            assert_eq!(block, [draft.head.as_slice(), body].concat());
            assert_eq!(record.finish().expect("closed"), *extent);
        }
        assert!(reader.next_record().expect("good").is_none());
    }
}

#[test]
fn unread_blocks_are_passed_over() {
    for compression in [Compression::Gzip, Compression::None] {
        let (bytes, _) = archive(compression);
        let mut reader = Reader::new(bytes.as_slice()).expect("readable");
        let mut kinds = Vec::new();
        while let Some(mut record) = reader.next_record().expect("good") {
            kinds.extend(record.header().record_type());
            record.read_exact(&mut [0; 1]).ok();
        }
        assert_eq!(
            kinds,
            [
                RecordType::Warcinfo,
                RecordType::Request,
                RecordType::Response,
                RecordType::Revisit
            ]
        );
    }
}

#[test]
fn each_record_is_found_by_its_offset() {
    let (bytes, extents) = archive(Compression::Gzip);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.warc.gz");
    std::fs::write(&path, bytes).expect("written");
    let mut reader = Reader::open_at(&path, extents[2].offset).expect("readable");
    let mut record = reader.next_record().expect("good").expect("there");
    assert_eq!(record.header().record_type(), Some(RecordType::Response));
    let mut block = Vec::new();
    record.read_to_end(&mut block).expect("good");
    assert!(block.ends_with(BODY));
    assert_eq!(record.finish().expect("closed"), extents[2]);
}

/// Cutting anywhere but between records is noticed, and what came before is read. Where only line ends
/// are cut off, the record is complete: that is a deviation, and no fault.
#[test]
fn every_truncation_is_noticed() {
    for compression in [Compression::Gzip, Compression::None] {
        let (bytes, extents) = archive(compression);
        let line_ends = match compression {
            Compression::Gzip => 0,
            Compression::None => 4,
        };
        for cut in 0..bytes.len() {
            let (records, fault) = read_all(&bytes[..cut]);
            let whole = extents
                .iter()
                .filter(|it| it.offset + it.length - line_ends <= cut as u64)
                .count();
            assert_eq!(records.len(), whole, "cut at {cut}");
            let next = extents.get(whole).map_or(0, |it| it.offset);
            let is_noted = has_deviation(&bytes[..cut], FindingCode::LineEnds);
            match fault {
                None => {
                    assert!(
                        next <= cut as u64 + line_ends,
                        "a cut at {cut} is not noticed"
                    );
                    assert_eq!(is_noted, next != cut as u64, "cut at {cut}");
                }
                Some(fault) => {
                    assert!(
                        fault.is_damage() && !is_noted && next < cut as u64,
                        "cut at {cut}: {fault}"
                    );
                    assert_eq!(fault.offset, extents[whole].offset, "cut at {cut}: {fault}");
                }
            }
        }
    }
}

fn has_deviation(bytes: &[u8], code: FindingCode) -> bool {
    let Ok(mut reader) = Reader::new(bytes) else {
        return false;
    };
    let mut found = false;
    while let Ok(Some(record)) = reader.next_record() {
        let is_finished = record.finish().is_ok();
        found |= reader.deviations().iter().any(|it| it.code == code);
        if !is_finished {
            break;
        }
    }
    found
}

/// A flipped bit is noticed in the record that it is in, or does not matter: a gzip header has bits
/// that mean nothing, such as its date.
#[test]
fn every_flipped_bit_is_noticed_or_harmless() {
    let (bytes, extents) = archive(Compression::Gzip);
    let (good, _) = read_all(&bytes);
    for bit in 0..bytes.len() * 8 {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let (records, fault) = read_all(&bad);
        let whole = extents
            .iter()
            .filter(|it| it.offset + it.length <= (bit / 8) as u64)
            .count();
        assert_eq!(records[..whole], good[..whole], "bit {bit}");
        match fault {
            None => assert_eq!(records, good, "bit {bit} changed a record unnoticed"),
            Some(fault) => assert_eq!(fault.offset, extents[whole].offset, "bit {bit}: {fault}"),
        }
    }
}

#[test]
fn zeros_at_the_end_are_noticed() {
    for compression in [Compression::Gzip, Compression::None] {
        let (mut bytes, _) = archive(compression);
        let good = bytes.len() as u64;
        bytes.extend([0; 512]);
        let (records, fault) = read_all(&bytes);
        assert_eq!(records.len(), 4);
        assert_eq!(fault.map(|fault| fault.offset), Some(good));
    }
}

#[test]
fn an_endless_header_is_refused() {
    let endless = b"WARC/1.1\r\nX: ".chain(io::repeat(b'a')).take(1 << 40);
    let mut reader = Reader::new(io::BufReader::new(endless)).expect("readable");
    let fault = reader.next_record().err().expect("a fault");
    assert!(matches!(fault.kind, ReadErrorKind::HeaderTooLong));
    assert!(reader.next_record().expect("over").is_none());
}

#[test]
fn a_block_of_another_length_is_refused() {
    for (announced, actual) in [(5, Some(4)), (3, None)] {
        let mut writer = Writer::new(Vec::new(), Compression::Gzip);
        let header = Header::new(RecordType::Resource);
        let good = writer
            .write_record(&header, &b"good"[..], 4)
            .expect("written");
        let error = writer
            .write_record(&header, &b"four"[..], announced)
            .expect_err("refused");
        assert_eq!(error.offset, good.length);
        assert!(
            matches!(error.kind, WriteErrorKind::BlockLength { actual: found, .. } if found == actual)
        );
        let error = writer
            .write_record(&header, &b"good"[..], 4)
            .expect_err("refused");
        assert!(matches!(error.kind, WriteErrorKind::Unfinished));
        let keep = usize::try_from(writer.position()).expect("small");
        writer.get_mut().truncate(keep);
        writer.resume();
        writer
            .write_record(&header, &b"again"[..], 5)
            .expect("written");
        assert_eq!(read_all(writer.get_ref()).0.len(), 2);
    }
}

/// A full disk, as the writer sees it.
#[test]
fn a_full_output_is_an_error_that_tells_what_is_good() {
    let (whole, extents) = archive(Compression::Gzip);
    for room in (0..whole.len()).step_by(5) {
        let mut disk = vec![0; room];
        let mut writer = Writer::new(disk.as_mut_slice(), Compression::Gzip);
        let error = drafts()
            .iter()
            .find_map(|(draft, body)| writer.write_draft(draft, *body, body.len() as u64).err())
            .expect("no room");
        assert!(matches!(error.kind, WriteErrorKind::Output(_)));
        let complete = extents
            .iter()
            .take_while(|it| it.offset + it.length <= room as u64)
            .count();
        assert_eq!(error.offset, extents[complete].offset);
        assert_eq!(writer.position(), error.offset);
        let good = usize::try_from(error.offset).expect("small");
        assert_eq!(disk[..good], whole[..good]);
    }
}

#[test]
fn folded_lines_and_bare_line_feeds_are_read() {
    let text = "WARC/1.0\nwarc-type: resource\nX-Long: one\n  two\ncontent-length: 0\n\n\r\n\r\n";
    let (records, fault) = read_all(text.as_bytes());
    assert!(fault.is_none());
    assert_eq!(records[0].0.get("x-long"), Some("one two"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_header_and_block_come_back(
        fields in prop::collection::vec((".*|[A-Za-z-]{1,12}", ".*|[ -~\r\n\t]*"), 0..8),
        block in prop::collection::vec(any::<u8>(), 0..100_000),
        gzip in any::<bool>(),
    ) {
        let mut header = Header::new(RecordType::Resource);
        for (name, value) in &fields {
            if name.eq_ignore_ascii_case("content-length") {
                continue;
            }
            match header.push(name, value) {
                Ok(()) => prop_assert!(!value.contains(['\r', '\n'])),
                Err(InvalidField::Name { .. }) => prop_assert!(name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric())),
                Err(InvalidField::Value { .. }) => prop_assert!(value.chars().any(char::is_control)),
            }
        }
        let compression = if gzip { Compression::Gzip } else { Compression::None };
        let mut writer = Writer::new(Vec::new(), compression);
        for _ in 0..2 {
            writer.write_record(&header, block.as_slice(), block.len() as u64).expect("written");
        }
        let (records, fault) = read_all(writer.get_ref());
        prop_assert!(fault.is_none());
        prop_assert_eq!(records.len(), 2);
        for (mut found, found_block) in records {
            prop_assert_eq!(&found_block, &block);
            let written: Vec<_> = header.iter().collect();
            let found_fields: Vec<_> = found.iter().collect();
            let expected_length = block.len().to_string();
            prop_assert_eq!(found_fields.split_last(), Some((&("Content-Length", expected_length.as_str()), written.as_slice())));
            // A header that was read can be written again as it is.
            found.push("X-More", "yes").expect("valid");
            writer.write_record(&found, block.as_slice(), block.len() as u64).expect("written");
        }
    }

    #[test]
    fn no_input_makes_the_reader_panic(mut input in prop::collection::vec(any::<u8>(), 0..2000), kind in 0..3) {
        let prefix: &[u8] = match kind { 0 => b"", 1 => b"WARC/1.1\r\n", _ => b"\x1f\x8b\x08\0\0\0\0\0\0\0" };
        input.splice(0..0, prefix.iter().copied());
        let (records, fault) = read_all(&input);
        prop_assert!(fault.is_some() || records.iter().map(|(_, block)| block.len()).sum::<usize>() <= input.len() * 1100);
    }
}
