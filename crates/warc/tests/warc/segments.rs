//! The segments of a record: they are all there, and make what the first of them says.

use std::fs;

use urldb_warc::cdxj::CONTINUATION_MIME;
use urldb_warc::index::{index_lines_of, rebuild_index};
use urldb_warc::repair::recover;
use urldb_warc::verify::verify_archive;
use urldb_warc::{Compression, Digest, DigestAlgorithm, FindingCode, Header, RecordType, Writer};

use crate::common::{URL, gzip, id, split_record};
use crate::verify::{codes, key, verify};

#[test]
fn segments_are_all_there() {
    let segment = |number: u8, total: &str| {
        let (kind, own) = if number == 1 {
            ("resource", "<urn:x:1>".to_owned())
        } else {
            ("continuation", format!("<urn:x:{number}>"))
        };
        let more = if number == 1 {
            ""
        } else {
            "WARC-Segment-Origin-ID: <urn:x:1>\r\n"
        };
        gzip(format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {own}\r\nWARC-Date: 2026-11-20T06:00:00Z\r\n\
             WARC-Target-URI: {URL}\r\n{more}WARC-Segment-Number: {number}\r\n{total}Content-Length: 4\r\n\r\nbody\r\n\r\n"
        ).as_bytes())
    };
    let total = |n: u8| format!("WARC-Segment-Total-Length: {n}\r\n");
    let file = |parts: &[(u8, &str)]| {
        parts
            .iter()
            .flat_map(|(n, total)| segment(*n, total))
            .collect::<Vec<u8>>()
    };
    assert_eq!(codes(file(&[(1, ""), (2, ""), (3, &total(12))])), []);
    assert_eq!(
        codes(file(&[(1, ""), (2, ""), (3, &total(13))])),
        [FindingCode::SegmentLength]
    );
    assert_eq!(
        codes(file(&[(1, ""), (3, &total(12))])),
        [FindingCode::SegmentMissing]
    );
    assert_eq!(
        codes(file(&[(1, ""), (2, "")])),
        [FindingCode::SegmentMissing]
    );
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const BODY: &str = "b\r\nhello world\r\n9\r\n and more\r\n0\r\n\r\n";

/// A response with such a block, split into segments of at most `limit` bytes, each record as it is.
fn segments(algorithm: DigestAlgorithm, digested: &str, block: &str, limit: u64) -> Vec<Vec<u8>> {
    let mut header = Header::new(RecordType::Response);
    let (digest, _) = Digest::of(algorithm, digested.as_bytes()).expect("in memory");
    for (name, value) in [
        ("WARC-Record-ID", id(1).bracketed().as_str()),
        ("WARC-Date", "2026-11-20T06:00:00Z"),
        ("WARC-Target-URI", URL),
        ("Content-Type", "application/http; msgtype=response"),
        ("WARC-Payload-Digest", &digest.to_string()),
    ] {
        header.push(name, value).expect("valid");
    }
    let (mut ids, mut segments) = (1..=255, Vec::new());
    let input = (block.as_bytes(), block.len() as u64);
    split_record::<Box<dyn std::error::Error>>(
        &header,
        input,
        limit,
        || id(ids.next_back().expect("few")),
        |header, block, length| {
            let mut writer = Writer::new(Vec::new(), Compression::None);
            writer.write_record(header, block, length)?;
            segments.push(writer.get_ref().clone());
            Ok(())
        },
    )
    .expect("written");
    assert!(segments.len() > 1);
    segments
}

/// One file; two files, in the order of the segments or not; plain files.
fn spread(segments: &[Vec<u8>]) -> Vec<Vec<(&'static str, Vec<u8>)>> {
    let members: Vec<Vec<u8>> = segments.iter().map(|segment| gzip(segment)).collect();
    let (first, second) = members.split_at(segments.len() / 2);
    let reversed: Vec<Vec<u8>> = members.iter().rev().cloned().collect();
    vec![
        vec![("a.warc.gz", members.concat())],
        vec![("a.warc.gz", reversed.concat())],
        vec![("a.warc", segments.concat())],
        vec![
            ("a.warc.gz", first.concat()),
            ("b.warc.gz", second.concat()),
        ],
        vec![
            ("a.warc.gz", second.concat()),
            ("b.warc.gz", first.concat()),
        ],
    ]
}

#[test]
fn the_payload_digest_is_that_of_all_segments() {
    let block = format!("{CHUNKED}{BODY}");
    for algorithm in [DigestAlgorithm::Sha1, DigestAlgorithm::Sha256] {
        // At 7 bytes the head itself is in several segments, and so is the length of a chunk.
        for limit in [7, 50, 60, 80] {
            for (digested, expected) in [
                ("hello world and more", None),
                (BODY, Some(FindingCode::PayloadDigestRaw)),
                ("hello world", Some(FindingCode::PayloadDigest)),
            ] {
                for files in spread(&segments(algorithm, digested, &block, limit)) {
                    let (findings, summary) = verify(&files);
                    let codes: Vec<FindingCode> =
                        findings.iter().map(|finding| finding.code).collect();
                    assert_eq!(codes, Vec::from_iter(expected), "{limit}: {files:?}");
                    assert_eq!(
                        summary.errors,
                        u64::from(expected == Some(FindingCode::PayloadDigest))
                    );
                    // It is the first segment that says so.
                    let id = findings.first().map(|finding| finding.record_id.as_deref());
                    assert!(
                        id.is_none_or(|found| found == Some(id_text())),
                        "{findings:?}"
                    );
                }
            }
        }
    }
}

fn id_text() -> &'static str {
    "urn:uuid:01010101-0101-4101-8101-010101010101"
}

/// Where each cannot be read on its own, the digest is not checked; that is said.
#[test]
fn segments_that_share_a_member_are_not_put_together() {
    let all = segments(DigestAlgorithm::Sha1, "other", CHUNKED, 20);
    let found = codes(gzip(&all.concat()));
    assert_eq!(
        found,
        [FindingCode::SharedMember, FindingCode::SegmentUnchecked]
    );
}

/// What the head of the whole says is held against the whole, but for what was broken off.
#[test]
fn a_whole_that_was_broken_off_is_no_wonder() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhello";
    let mut parts = segments(DigestAlgorithm::Sha256, "hello", cut, 20);
    let zipped = |parts: &[Vec<u8>]| parts.iter().flat_map(|part| gzip(part)).collect();
    assert_eq!(codes(zipped(&parts)), [FindingCode::HttpLength]);
    let last = parts.last_mut().expect("several");
    let text = String::from_utf8(last.clone()).expect("text");
    let truncated = "WARC-Truncated: length\r\nContent-Length: ";
    *last = text.replace("Content-Length: ", truncated).into_bytes();
    assert_eq!(codes(zipped(&parts)), []);
}

/// A segment that is damaged is one that is missing; nothing is said of the digest.
#[test]
fn a_damaged_segment_is_missing() {
    let dir = tempfile::tempdir().expect("a directory");
    let block = format!("{CHUNKED}{BODY}");
    let members = segments(DigestAlgorithm::Sha1, "hello world and more", &block, 30);
    let mut members: Vec<Vec<u8>> = members.iter().map(|segment| gzip(segment)).collect();
    let middle = members[1].len() - 6;
    members[1][middle] ^= 1;
    fs::write(dir.path().join("a.warc.gz"), members.concat()).expect("written");
    let mut codes = Vec::new();
    verify_archive(dir.path(), &key, &mut |finding| codes.push(finding.code)).expect("a directory");
    assert_eq!(
        codes,
        [
            FindingCode::GzipChecksum,
            FindingCode::PassedOver,
            FindingCode::SegmentMissing
        ]
    );
}

const CUT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhello";

/// The members of a response of which the connection broke, in several segments.
fn broken_off() -> Vec<Vec<u8>> {
    let mut parts = segments(DigestAlgorithm::Sha256, "hello", CUT, 20);
    let last = parts.pop().expect("several");
    let last = String::from_utf8(last).expect("text");
    let truncated = "WARC-Truncated: disconnect\r\nContent-Length: ";
    parts.push(last.replace("Content-Length: ", truncated).into_bytes());
    parts.iter().map(|part| gzip(part)).collect()
}

#[test]
fn an_index_knows_that_a_record_in_segments_is_truncated() {
    let dir = tempfile::tempdir().expect("a directory");
    // More records are between the segments than a response waits for its request.
    let other = gzip(&crate::verify::records()[0]);
    let others: Vec<u8> = std::iter::repeat_n(other, 20).flatten().collect();
    let parts = broken_off();
    let (last, first) = parts.split_last().expect("several");
    let file = [first.concat(), others, last.clone()].concat();
    fs::write(dir.path().join("a.warc.gz"), file).expect("written");
    rebuild_index(dir.path(), &key).expect("an index");
    let lines = index_lines_of(&dir.path().join("a.warc.gz"), &key).expect("readable");
    let captures = lines.iter().filter(|line| line.mime != CONTINUATION_MIME);
    let truncated: Vec<_> = captures
        .map(|line| (line.url.as_str(), line.truncated.as_deref()))
        .collect();
    assert_eq!(truncated, [(URL, Some("disconnect"))]);
}

/// A process that dies while it writes segments leaves none, if the file has the first one. Records of which all
/// segments are there stay.
#[test]
fn recovery_leaves_no_beginning_of_a_record() {
    let block = format!("{CHUNKED}{BODY}");
    let digested = "hello world and more";
    let whole = segments(DigestAlgorithm::Sha256, digested, &block, 30);
    let whole: Vec<Vec<u8>> = whole.iter().map(|segment| gzip(segment)).collect();
    let whole = whole.concat();
    let before = gzip(&crate::verify::records()[0]);
    let file = [before.clone(), whole].concat();
    for cut in 0..=file.len() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("a.warc.gz.open"), &file[..cut]).expect("written");
        let recovered = recover(dir.path()).expect("recovered");
        let is_whole = cut == file.len();
        let left = match cut {
            _ if is_whole => file.len(),
            _ if cut >= before.len() => before.len(),
            _ => 0,
        };
        let path = dir.path().join("a.warc.gz");
        let kept = fs::read(&path).unwrap_or_default();
        assert_eq!(kept.len(), left, "{cut}: {recovered:?}");
        let aside = recovered[0].damaged.as_ref().map(fs::read);
        let aside = aside.map(|aside| aside.expect("readable"));
        let aside = aside.unwrap_or_default();
        assert_eq!(aside, file[left..cut], "{cut}: no byte is lost");
        // All records of these tests have one id.
        if left > 0 && !is_whole {
            assert_eq!(codes(kept), [], "{cut}");
        }
    }
}
