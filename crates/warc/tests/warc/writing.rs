//! What the writer puts out, to the byte: versions, gzip members that say their length, segments, and
//! files that follow one another.

use std::fs;
use std::io::{Cursor, Read};

use proptest::prelude::*;
use urldb_warc::draft::warcinfo;
use urldb_warc::header::InvalidField;
use urldb_warc::segment::{SegmentError, SegmentJoiner};
use urldb_warc::writer::{ArchiveFileError, FileSeries, WriteErrorKind, WriteOptions};
use urldb_warc::{Compression, Header, RecordType, Version, Writer};

use crate::common::{BODY, date, drafts, id, read_all, split_record};

fn written(version: Version) -> String {
    let mut writer = Writer::new(Vec::new(), Compression::None).with_version(version);
    for (draft, body) in drafts() {
        writer
            .write_draft(&draft, body, body.len() as u64)
            .expect("written");
    }
    String::from_utf8(writer.get_ref().clone()).expect("text")
}

#[test]
fn warc_1_0_has_dates_to_the_second_and_profiles_of_its_own() {
    let text = written(Version::Warc10);
    assert_eq!(text.matches("WARC/1.0\r\n").count(), 4);
    assert!(!text.contains("/warc/1.1/"));
    assert!(text.contains(
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\n"
    ));
    assert!(text.contains("WARC-Date: 2026-11-20T06:00:00Z\r\n"));
    assert!(text.contains("WARC-Refers-To-Date: 2026-11-20T06:00:00Z\r\n"));
    assert!(!text.contains(".123456"));
}

#[test]
fn warc_0_9_has_a_line_of_positions() {
    let text = written(Version::Warc09);
    let revisit = text.rfind("warc/0.9").expect("a record");
    let digest = drafts()[3]
        .0
        .header
        .get("WARC-Payload-Digest")
        .expect("one")
        .to_owned();
    assert_eq!(
        text[revisit..],
        format!(
            "warc/0.9 529 revisit https://data.example.org/catalogue.csv 20261121060000 application/octet-stream urn:uuid:04040404-0404-4404-8404-040404040404\r\n\
            IP-Address: 192.0.2.7\r\n\
            WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n\
            WARC-Payload-Digest: {digest}\r\n\
            Related-Record-ID: urn:uuid:02020202-0202-4202-8202-020202020202\r\n\
            WARC-Refers-To-Target-URI: https://data.example.org/catalogue.csv\r\n\
            WARC-Refers-To-Date: 2026-11-20T06:00:00.123456Z\r\n\r\n\r\n\r\n"
        )
    );
    assert_eq!(text.len() - revisit, 529 + 4);
    assert!(text.starts_with("warc/0.9 "));
    assert!(text.contains(
        " warcinfo filedesc:a.warc.gz 20261120060000 application/warc-fields urn:uuid:01"
    ));
    assert!(text.contains(
        " request https://data.example.org/catalogue.csv 20261120060000 message/http urn:uuid:03"
    ));
    assert!(text.contains("\r\nWARC-Date: 2026-11-20T06:00:00.123456Z\r\n"));
}

#[test]
fn what_a_version_cannot_say_is_refused() {
    for version in [Version::Arc, Version::Warc017, Version::Warc018] {
        let mut writer = Writer::new(Vec::new(), Compression::None).with_version(version);
        let error = writer
            .write_draft(&drafts()[0].0, &b""[..], 0)
            .expect_err("refused");
        assert!(matches!(error.kind, WriteErrorKind::Version(found) if found == version));
        assert!(writer.get_ref().is_empty());
    }
    let mut writer = Writer::new(Vec::new(), Compression::None).with_version(Version::Warc09);
    let error = writer
        .write_record(&Header::new(RecordType::Resource), &b""[..], 0)
        .expect_err("refused");
    assert!(matches!(
        error.kind,
        WriteErrorKind::MissingField {
            field: "WARC-Record-ID"
        }
    ));
}

/// WARC/1.1 allows for less than a second; the others get the first moment of what is said.
#[test]
fn dates_without_a_time_get_one_where_they_need_it() {
    for (said, begins) in [
        ("2016", "20160101000000"),
        ("2016-03", "20160301000000"),
        ("2016-03-04", "20160304000000"),
        ("2016-03-04T05:06Z", "20160304050600"),
    ] {
        let mut header = Header::new(RecordType::Resource);
        header
            .push("WARC-Record-ID", id(1).bracketed())
            .expect("valid");
        header.push("WARC-Date", said).expect("valid");
        let render = |version| {
            let mut writer = Writer::new(Vec::new(), Compression::None).with_version(version);
            writer.write_record(&header, &b""[..], 0).expect("written");
            String::from_utf8(writer.get_ref().clone()).expect("text")
        };
        let old = render(Version::Warc09);
        assert!(old.contains(&format!(" {begins} ")), "{old}");
        assert!(old.contains(&format!("\r\nWARC-Date: {said}\r\n")), "{old}");
        let older = render(Version::Warc10);
        let date = older
            .lines()
            .find_map(|line| line.strip_prefix("WARC-Date: "));
        let date: urldb_warc::WarcDate = date.expect("a date").parse().expect("to the second");
        assert_eq!(date.to_timestamp14(), begins);
    }
}

/// Where each member begins, and what its extra field says.
fn skip_lengths(bytes: &[u8]) -> Vec<(usize, u32, u32)> {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        assert_eq!(bytes[at..at + 4], [0x1f, 0x8b, 8, 4], "at {at}");
        assert_eq!(bytes[at + 10..at + 16], *b"\x0c\0sl\x08\0", "at {at}");
        found.push((at, number(at + 16), number(at + 20)));
        at += number(at + 16) as usize;
    }
    found
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn members_say_their_lengths_when_asked() {
    let mut writer = Writer::new(Cursor::new(Vec::new()), Compression::Gzip).with_skip_lengths();
    // The second does not fit the writer's buffer: what is on disk already is filled in.
    let blocks = [BODY.to_vec(), noise(300_000), Vec::new(), vec![0; 300_000]];
    let mut extents = Vec::new();
    for block in &blocks {
        let written =
            writer.write_record(&drafts()[2].0.header, block.as_slice(), block.len() as u64);
        extents.push(written.expect("written"));
    }
    let bytes = writer.get_ref().get_ref().clone();
    let found = skip_lengths(&bytes);
    assert_eq!(found.len(), blocks.len());
    for ((at, compressed, uncompressed), extent) in found.into_iter().zip(&extents) {
        assert_eq!(
            (at as u64, u64::from(compressed)),
            (extent.offset, extent.length)
        );
        let mut text = Vec::new();
        let member = &bytes[at..][..compressed as usize];
        flate2::read::GzDecoder::new(member)
            .read_to_end(&mut text)
            .expect("a member");
        assert_eq!(text.len(), uncompressed as usize);
    }
    let (records, fault) = read_all(&bytes);
    assert!(fault.is_none());
    assert!(records.iter().map(|(_, block)| block).eq(&blocks));
}

/// The segments of a record: header and block of each.
fn segments(header: &Header, block: &[u8], limit: u64) -> Vec<(Header, Vec<u8>)> {
    let (mut n, mut found) = (10, Vec::new());
    let new_id = || {
        n += 1;
        id(n)
    };
    let length = block.len() as u64;
    split_record(
        header,
        (block, length),
        limit,
        new_id,
        |header, block, length| {
            let mut bytes = Vec::new();
            block.read_to_end(&mut bytes).expect("in memory");
            assert_eq!(bytes.len() as u64, length);
            found.push((header.clone(), bytes));
            Ok::<_, InvalidField>(())
        },
    )
    .expect("valid");
    found
}

fn cut_response() -> Header {
    let mut header = drafts()[2].0.header.clone();
    header
        .push("WARC-Block-Digest", "sha256:00")
        .expect("valid");
    header.push("WARC-Truncated", "length").expect("valid");
    header
}

#[test]
fn a_record_is_split_into_continuations() {
    let header = cut_response();
    let found = segments(&header, b"0123456789", 4);
    let blocks: Vec<_> = found.iter().map(|(_, block)| block.as_slice()).collect();
    assert_eq!(blocks, [&b"0123"[..], b"4567", b"89"]);
    let first = &found[0].0;
    assert_eq!(first.record_type(), Some(RecordType::Response));
    assert_eq!(first.get("WARC-Record-ID"), header.get("WARC-Record-ID"));
    assert_eq!(
        first.get("WARC-Payload-Digest"),
        header.get("WARC-Payload-Digest")
    );
    assert_eq!(first.get("WARC-Segment-Number"), Some("1"));
    assert_eq!(first.get("WARC-Block-Digest"), None);
    assert_eq!(first.get("WARC-Truncated"), None);
    let last: Vec<_> = found[2].0.iter().collect();
    assert_eq!(
        last,
        [
            ("WARC-Type", "continuation"),
            ("WARC-Record-ID", id(12).bracketed().as_str()),
            ("WARC-Date", "2026-11-20T06:00:00.123456Z"),
            ("WARC-Target-URI", "https://data.example.org/catalogue.csv"),
            ("WARC-Segment-Origin-ID", id(2).bracketed().as_str()),
            ("WARC-Segment-Number", "3"),
            ("WARC-Segment-Total-Length", "10"),
            ("WARC-Truncated", "length"),
        ]
    );
    assert_eq!(segments(&header, b"0123", 4), [(header, b"0123".to_vec())]);
}

#[test]
fn segments_that_do_not_follow_are_refused() {
    let header = cut_response();
    let found = segments(&header, b"0123456789", 4);
    assert!(SegmentJoiner::begin(&header, 10).is_none());
    assert!(SegmentJoiner::begin(&found[1].0, 4).is_none());
    let mut join = SegmentJoiner::begin(&found[0].0, 4).expect("a first segment");
    let order = join.clone().add(&found[2].0, 2);
    assert!(matches!(
        order,
        Err(SegmentError::Order { expected: 2, .. })
    ));
    join.add(&found[1].0, 4).expect("the next");
    let unrelated = join.clone().add(&header, 4);
    assert!(matches!(unrelated, Err(SegmentError::Unrelated { .. })));
    let length = join.clone().add(&found[2].0, 3);
    assert!(matches!(
        length,
        Err(SegmentError::Length { length: 11, .. })
    ));
    assert!(!join.is_complete());
    join.add(&found[2].0, 2).expect("the last");
    assert!(join.is_complete());
    let again = join.add(&found[2].0, 2);
    assert!(matches!(again, Err(SegmentError::Unrelated { .. })));
}

proptest! {
    #[test]
    fn any_split_record_is_joined_again(block in prop::collection::vec(any::<u8>(), 0..60), limit in 0..20u64) {
        let mut header = cut_response();
        let found = segments(&header, &block, limit);
        let blocks: Vec<u8> = found.iter().flat_map(|(_, block)| block.clone()).collect();
        prop_assert_eq!(&blocks, &block);
        if found.len() == 1 {
            prop_assert_eq!(&found[0].0, &header);
            return Ok(());
        }
        let mut join = SegmentJoiner::begin(&found[0].0, found[0].1.len() as u64).expect("a first segment");
        for (segment, block) in &found[1..] {
            prop_assert!(!join.is_complete());
            join.add(segment, block.len() as u64).expect("the next");
        }
        prop_assert!(join.is_complete());
        header = Header::new(RecordType::Response);
        for (name, value) in cut_response().iter().skip(1).filter(|(name, _)| *name != "WARC-Block-Digest") {
            header.push(name, value).expect("valid");
        }
        prop_assert_eq!(join.whole(), (&header, block.len() as u64));
    }
}

/// The file of a series to write to.
fn current(
    series: &mut FileSeries,
) -> Result<&mut urldb_warc::writer::ArchiveFile, ArchiveFileError> {
    series.file(
        || Ok(date("2026-11-20T06:00:00Z")),
        |when, name| Ok(warcinfo(&id(1), when, name, &[]).expect("valid")),
    )
}

#[test]
fn a_series_rolls_over_at_its_target_size() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = WriteOptions {
        version: Version::Warc10,
        skip_lengths: true,
    };
    // Another process has taken the first name.
    let taken = "urldb-20261120060000-00000-host.warc.gz";
    fs::write(dir.path().join(taken), "").expect("written");
    let mut series = FileSeries::new(dir.path(), "urldb", "host")
        .with_options(options)
        .with_target_size(100_000);
    let block = noise(40_000);
    for _ in 0..7 {
        let file = current(&mut series).expect("a file");
        let draft = urldb_warc::RecordDraft {
            header: drafts()[2].0.header.clone(),
            head: Vec::new(),
        };
        file.append(&draft, block.as_slice(), 40_000)
            .expect("written");
    }
    let files = series.finish().expect("finished");
    let names: Vec<_> = files
        .iter()
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    assert_eq!(
        names,
        [1, 2, 3].map(|n| format!("urldb-20261120060000-{n:05}-host.warc.gz"))
    );
    let counts = files.iter().map(|path| {
        let bytes = fs::read(path).expect("there");
        skip_lengths(&bytes);
        let (records, fault) = read_all(&bytes);
        assert!(fault.is_none());
        assert_eq!(
            records[0].0.get("WARC-Filename"),
            path.file_name().and_then(|name| name.to_str())
        );
        records.len()
    });
    assert_eq!(counts.collect::<Vec<_>>(), [4, 4, 2]);
}

#[test]
fn a_series_without_records_leaves_no_file() {
    let series = FileSeries::new(std::path::Path::new("/nowhere"), "urldb", "host");
    assert_eq!(
        series.finish().expect("nothing to do"),
        Vec::<std::path::PathBuf>::new()
    );
    let mut series = FileSeries::new(std::path::Path::new("/nowhere"), "urldb", "host");
    let refused = current(&mut series);
    assert!(matches!(refused.err(), Some(ArchiveFileError::Io(_))));
}

/// Counts what is written, and keeps none of it.
struct Sink(u64);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Longer than a 32-bit number can say. Nothing holds more of it than a buffer.
#[test]
fn a_huge_record_is_streamed_in_segments() {
    let length = (5 << 30) + 1;
    let mut writer = Writer::new(Sink(0), Compression::None);
    let header = cut_response();
    let block = std::io::repeat(b'x').take(length);
    let mut lengths = Vec::new();
    let write = |segment: &Header, block: &mut dyn Read, length| {
        lengths.push(length);
        let extent = writer.write_record(segment, block, length);
        extent.expect("written");
        Ok::<_, InvalidField>(())
    };
    split_record(&header, (block, length), 2 << 30, || id(9), write).expect("valid");
    assert_eq!(lengths, [2 << 30, 2 << 30, (1 << 30) + 1]);
    assert_eq!(writer.get_ref().0, writer.position());
    assert!(writer.position() > length);
}
