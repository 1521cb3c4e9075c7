//! Every version is read, however it is compressed, and all come out alike.

use std::io::{Read, Write};

use flate2::{Compression, GzBuilder};
use proptest::prelude::*;
use urldb_warc::reader::ReadError;
use urldb_warc::{FindingCode, Header, Reader, Version};

use crate::common::{gzip, named, read_all, read_around};

#[test]
fn versions_with_named_fields_are_read() {
    for (text, version, noted) in [
        ("0.17", Version::Warc017, false),
        ("0.18", Version::Warc018, false),
        ("1.0", Version::Warc10, false),
        ("1.1", Version::Warc11, false),
        ("1.2", Version::Warc11, true),
    ] {
        let file = named(text, 3);
        let mut reader = Reader::new(file.as_slice()).expect("readable");
        let mut record = reader.next_record().expect("good").expect("there");
        assert_eq!(record.version(), version);
        let mut block = String::new();
        record.read_to_string(&mut block).expect("good");
        assert_eq!(block, "b".repeat(21));
        record.finish().expect("closed");
        let codes: Vec<FindingCode> = reader.deviations().iter().map(|note| note.code).collect();
        assert_eq!(
            codes,
            if noted {
                vec![FindingCode::UnknownVersion]
            } else {
                vec![]
            }
        );
    }
}

const ARC: &str = "filedesc://a.arc 0.0.0.0 20140216050221 text/plain 76\n\
    1 0 LiveWeb Capture\nURL IP-address Archive-date Content-type Archive-length\n\n\
    http://example.org/a b 192.0.2.7 20140216050221 text/html; charset=utf-8 25\n\
    HTTP/1.1 200 OK\r\n\r\n<html>\n\
    dns:example.org 192.0.2.53 20140216050222 text/dns 5\nhello\n\
    http://example.org/x 192.0.2.7 20140216050223 text/html 200 AB12 - 1234 a.arc 4\nbody\n";

#[test]
fn arc_is_read_as_warc() {
    let (records, fault) = read_all(ARC.as_bytes());
    assert!(fault.is_none(), "{fault:?}");
    let rows: Vec<Vec<&str>> = records
        .iter()
        .map(|(header, _)| header.iter().map(|(_, value)| value).collect())
        .collect();
    let http = "application/http;msgtype=response";
    let second = "2014-02-16T05:02:21Z";
    assert_eq!(
        rows[0],
        [
            "warcinfo",
            second,
            "filedesc://a.arc",
            "0.0.0.0",
            "text/plain",
            "76"
        ]
    );
    assert_eq!(
        rows[1],
        [
            "response",
            second,
            "http://example.org/a b",
            "192.0.2.7",
            http,
            "25"
        ]
    );
    assert_eq!(rows[2][..2], ["resource", "2014-02-16T05:02:22Z"]);
    // Without an HTTP head it is not what the server answered.
    assert_eq!(rows[3][0], "resource");
    assert_eq!(records[3].1, b"body");
    assert_eq!(records[1].1, b"HTTP/1.1 200 OK\r\n\r\n<html>"[..]);
}

type Records = Vec<(Header, Vec<u8>)>;

/// Reads everything, with all that was noted.
fn read_noted(bytes: &[u8]) -> Result<(Records, Vec<FindingCode>), ReadError> {
    let (mut records, mut deviations) = (Records::new(), Vec::new());
    let mut reader = Reader::new(bytes)?;
    while let Some(mut record) = reader.next_record()? {
        let (header, mut block) = (record.header().clone(), Vec::new());
        record
            .read_to_end(&mut block)
            .map_err(|error| record.fault(error))?;
        record.finish()?;
        records.push((header, block));
        deviations.extend(reader.deviations().iter().map(|note| note.code));
    }
    deviations.extend(reader.deviations().iter().map(|note| note.code));
    deviations.dedup();
    Ok((records, deviations))
}

#[test]
fn however_it_is_compressed_the_records_are_the_same() {
    let plain: Vec<Vec<u8>> = (0..5).map(|n| named("1.1", n * 5000)).collect();
    let (expected, deviations) = read_noted(&plain.concat()).expect("good");
    assert!(expected.len() == 5 && deviations.is_empty());
    let each = plain
        .iter()
        .flat_map(|record| gzip(record))
        .collect::<Vec<_>>();
    assert_eq!(read_noted(&each).expect("good"), (expected.clone(), vec![]));
    let (records, deviations) = read_noted(&gzip(&plain.concat())).expect("good");
    assert_eq!(
        (records, deviations),
        (expected.clone(), vec![FindingCode::SharedMember])
    );
    // Members that know nothing of records.
    let cut: Vec<u8> = plain.concat().chunks(1000).flat_map(gzip).collect();
    let (records, deviations) = read_noted(&cut).expect("good");
    assert_eq!(records, expected);
    assert!(
        deviations.contains(&FindingCode::SplitMember)
            && deviations.contains(&FindingCode::SharedMember)
    );
    let with_empty = [gzip(&plain[0]), gzip(b""), gzip(&plain[1])].concat();
    let (records, deviations) = read_noted(&with_empty).expect("good");
    assert_eq!(
        (records.len(), deviations),
        (2, vec![FindingCode::EmptyMember])
    );
}

#[test]
fn members_without_content_take_linear_time_and_make_one_deviation() {
    let records = [named("1.1", 10), named("1.1", 20)];
    let (empty, byte) = (gzip(b""), gzip(b"x"));
    for many in [
        empty.repeat(200_000),
        [empty, byte.clone()].concat().repeat(1_000),
    ] {
        let file = [gzip(&records[0]), many, gzip(&records[1])].concat();
        let started = std::time::Instant::now();
        let mut reader = Reader::new(file.as_slice()).expect("an archive");
        reader.next_record().expect("good").expect("the first");
        let _ = reader.next_record();
        assert_eq!(reader.deviations().len(), 1);
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    }
}

#[test]
fn a_folded_length_is_read() {
    let record = String::from_utf8(named("1.1", 10)).expect("text");
    let folded = record.replace("Content-Length: ", "Content-Length:\r\n\t ");
    assert_ne!(folded, record);
    let (records, _) = read_noted(folded.as_bytes()).expect("good");
    assert_eq!(records.len(), 1);
}

/// A gzip member with the extra field of the draft, section 9.2, and what it says of its lengths.
fn with_skip_lengths(record: &[u8], wrong: (i64, i64)) -> Vec<u8> {
    let build = |compressed: u32, uncompressed: u32| {
        let mut extra = b"xx\x01\0?sl\x08\0".to_vec();
        extra.extend(compressed.to_le_bytes());
        extra.extend(uncompressed.to_le_bytes());
        let mut encoder = GzBuilder::new()
            .extra(extra)
            .write(Vec::new(), Compression::fast());
        encoder.write_all(record).expect("in memory");
        encoder.finish().expect("in memory")
    };
    let number =
        |n: usize, by: i64| u32::try_from(i64::try_from(n).expect("small") + by).expect("small");
    let length = build(0, 0).len();
    build(number(length, wrong.0), number(record.len(), wrong.1))
}

#[test]
fn skip_lengths_are_used_and_checked() {
    let records: Vec<Vec<u8>> = (0..3).map(|n| named("1.0", 900 * n)).collect();
    let file: Vec<u8> = records
        .iter()
        .flat_map(|it| with_skip_lengths(it, (0, 0)))
        .collect();
    let (found, deviations) = read_noted(&file).expect("good");
    assert!(found.len() == 3 && deviations.is_empty());
    for wrong in [(1, 0), (-1, 0), (0, 1), (0, -1), (3000, 0)] {
        let bad: Vec<u8> = records
            .iter()
            .flat_map(|it| with_skip_lengths(it, wrong))
            .collect();
        let (found, deviations) = read_noted(&bad).expect("good");
        assert_eq!(
            (found.len(), deviations),
            (3, vec![FindingCode::SkipLength]),
            "{wrong:?}"
        );
    }
}

#[test]
fn one_skip_length_may_span_related_members() {
    let (first, second) = (named("1.0", 3), named("1.0", 4));
    let rest = gzip(&second);
    let by = (
        i64::try_from(rest.len()).expect("small"),
        i64::try_from(second.len()).expect("small"),
    );
    let mut file = with_skip_lengths(&first, by);
    file.extend(rest);
    let (found, deviations) = read_noted(&file).expect("good");
    assert_eq!((found.len(), deviations), (2, vec![]));
}

#[test]
fn what_real_files_have_wrong_is_read_and_noted() {
    let good = String::from_utf8(named("1.1", 2)).expect("text");
    let rows: [(String, &[FindingCode]); 8] = [
        (
            good.replace("\r\n", "\n"),
            &[FindingCode::BareLineFeed, FindingCode::LineEnds],
        ),
        (
            good.replace("http://example.org/2", "<http://example.org/2>"),
            &[FindingCode::UriBrackets],
        ),
        (good.replace("org/2", "org/a b"), &[FindingCode::UriSpace]),
        (
            good.replace("Content-Type: ", "nonsense\r\nContent-Type: "),
            &[FindingCode::HeaderLine],
        ),
        (format!("\r\n{good}"), &[FindingCode::LineEnds]),
        (format!("{good}\r\n"), &[FindingCode::LineEnds]),
        (
            format!("{}{good}", good.trim_end()),
            &[FindingCode::LineEnds],
        ),
        (format!("{good}\n\n\n\n{good}"), &[FindingCode::LineEnds]),
    ];
    for (text, expected) in rows {
        let (records, mut deviations) = read_noted(text.as_bytes()).expect(&text);
        deviations.sort();
        deviations.dedup();
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(deviations, expected, "{text}");
        assert!(
            records.iter().all(|(_, block)| block == b"bbbbbbbbbbbbbb"),
            "{text}"
        );
    }
    let latin: Vec<u8> = good
        .replace("example", "ex\u{e4}mple")
        .chars()
        .map(|c| u8::try_from(c).expect("latin"))
        .collect();
    let (records, deviations) = read_noted(&latin).expect("good");
    assert_eq!(deviations, [FindingCode::NotUtf8]);
    assert_eq!(
        records[0].0.target_uri(),
        Some("http://ex\u{fffd}mple.org/2")
    );
}

#[test]
fn what_is_no_archive_is_refused_with_what_was_found() {
    for (bytes, code) in [
        (
            &b"<!doctype html>\n<p>not here"[..],
            FindingCode::NotAnArchive,
        ),
        (b"PK\x03\x04", FindingCode::NotAnArchive),
        (b"\x28\xb5\x2f\xfd zstandard", FindingCode::ZstdData),
        (b"\0\0\0\0", FindingCode::Zeros),
        (b"\x1f\x8b\x08\0", FindingCode::CutOff),
        (b"\x1f\x8b\x07\0", FindingCode::GzipHeader),
        (b"\x1f\x8b\x08\xff", FindingCode::GzipHeader),
    ] {
        let fault = read_noted(bytes).expect_err("refused");
        assert_eq!((fault.offset, fault.kind.code()), (0, code));
    }
    assert_eq!(read_noted(b"").expect("nothing to read").0.len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_line_of_parameters_is_a_record_or_none(
        uri in "[ -~]{0,30}", date in "[0-9]{0,15}", kind in "[!-~]{0,9}", length in "[0-9]{0,22}",
    ) {
        let text = format!("warc/0.9 {length} {kind} {uri} {date} a/b urn:x\r\n\r\nblock\r\n\r\n");
        let _ = read_all(text.as_bytes());
        let arc = format!("http://{uri} 192.0.2.7 {date} a/b {length}\nblock\n");
        let _ = read_all(arc.as_bytes());
        let _ = read_around(arc.as_bytes());
    }

    #[test]
    fn any_parameters_come_back(
        uri in "[!-~]{1,30}", block in prop::collection::vec(any::<u8>(), 0..300), kind in "[a-z]{1,9}",
    ) {
        let rest = format!(" {kind} {uri} 20050708010101 a/b urn:x\r\n\r\n");
        let length = "warc/0.9 ".len() + 4 + rest.len() + block.len();
        let mut file = format!("warc/0.9 {length:<4}{rest}").into_bytes();
        file.extend(&block);
        file.extend(b"\r\n\r\n");
        let (records, fault) = read_all(&file);
        prop_assert!(fault.is_none());
        prop_assert_eq!(records[0].0.get("WARC-Target-URI"), Some(uri.as_str()));
        prop_assert_eq!(&records[0].1, &block);
    }
}
