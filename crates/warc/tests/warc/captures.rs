//! Captures of other programs, judged by their records.

use std::fs;

use proptest::prelude::*;
use urldb_warc::capture::{other_methods, truncation};
use urldb_warc::cdxj::SortKeys;
use urldb_warc::finding::Severity;
use urldb_warc::http::StoredRequest;
use urldb_warc::index::rebuild_index;
use urldb_warc::verify::{copy_payload, verify_archive};
use urldb_warc::{CdxjLine, Digest, DigestAlgorithm, FindingCode, Reader};

use crate::common::{gzip, id, index_text};

const URL: &str = "http://example.org/a";

/// A record of the second `n`, and a header whose lines are `fields`.
fn record(kind: &str, n: u8, fields: &str, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {}\r\nWARC-Date: 2026-11-20T06:00:{n:02}Z\r\n\
         WARC-Target-URI: {URL}\r\n{fields}Content-Length: {}\r\n\r\n",
        id(n).bracketed(),
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn response(n: u8, fields: &str, block: &[u8]) -> Vec<u8> {
    let fields = format!("Content-Type: application/http; msgtype=response\r\n{fields}");
    record("response", n, &fields, block)
}

fn request(n: u8, fields: &str, method: &str) -> Vec<u8> {
    let block = format!("{method} /a HTTP/1.1\r\nHost: example.org\r\n\r\n");
    record("request", n, fields, block.as_bytes())
}

struct Keys;

impl SortKeys for Keys {
    fn key(&self, _: &str) -> String {
        "key".to_owned()
    }

    fn key_of_request(&self, _: &str, request: &StoredRequest) -> Option<(String, String)> {
        Some((format!("key-{}", request.method), String::new()))
    }
}

fn archive(records: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("a.warc"), records).expect("written");
    dir
}

/// The lines that an index gets.
fn lines(records: &[u8]) -> Vec<CdxjLine> {
    let dir = archive(records);
    rebuild_index(dir.path(), &Keys).expect("indexed");
    let text = index_text(dir.path());
    let mut lines: Vec<CdxjLine> = text
        .lines()
        .map(|line| CdxjLine::parse(line).expect("a line"))
        .collect();
    lines.sort_by_key(|line| line.extent.offset);
    lines
}

fn findings(records: &[u8]) -> Vec<FindingCode> {
    let mut codes = vec![];
    let mut report = |finding: urldb_warc::verify::ArchiveFinding| codes.push(finding.code);
    verify_archive(archive(records).path(), &Keys, &mut report).expect("read");
    codes
}

/// The payload of the first record, and whether the body is whole.
fn judged(record: &[u8]) -> (Vec<u8>, bool) {
    let open = || Reader::new(std::io::Cursor::new(record)).expect("an archive");
    let mut payload = vec![];
    let mut reader = open();
    let mut first = reader.next_record().expect("good").expect("a record");
    let header = first.header().clone();
    copy_payload(&header, &mut first, &mut payload).expect("copied");
    let mut reader = open();
    let mut first = reader.next_record().expect("good").expect("a record");
    let length = first.block_length();
    let truncated = truncation(&header, length, &mut first).expect("read");
    (payload, truncated.is_none())
}

#[test]
fn heads_end_at_the_first_blank_line_behind_them() {
    for (block, body) in [
        ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", "body"),
        ("\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", "body"),
        ("\r\n\n\r\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", "body"),
        ("HTTP/1.1 200 OK\r\r\nA: b\r\r\n\r\r\nbody", "body"),
        ("HTTP/1.1 200 OK\r\r\nA: b\r\r\n\r\n\r\nbody", "\r\nbody"),
        ("\r\r\nHTTP/1.1 200 OK\n\n\nbody", "\nbody"),
        ("HTTP/1.1 200 OK\r\nA: b\r\n  \r\nbody", "body"),
        ("\r\nno head at all", "\r\nno head at all"),
    ] {
        let (payload, _) = judged(&response(1, "", block.as_bytes()));
        assert_eq!(String::from_utf8_lossy(&payload), body, "{block:?}");
    }
}

#[test]
fn bodies_that_are_cut_are_truncated_in_the_index() {
    for (fields, block, is_whole) in [
        ("", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", true),
        (
            "",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody",
            false,
        ),
        ("", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false),
        ("", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbody", true),
        (
            "",
            "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nbody",
            true,
        ),
        ("", "HTTP/1.1 200 OK\r\n\r\nbody", true),
        ("", "HTTP/1.1 200 OK\r\n\r\n", true),
        ("", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", false),
        (
            "",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            true,
        ),
        (
            "",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nbody",
            false,
        ),
        (
            "",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
            true,
        ),
        (
            "",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
            false,
        ),
        (
            "",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbo",
            false,
        ),
        (
            "",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody!\r\n0\r\n\r\n",
            false,
        ),
        (
            "",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            false,
        ),
        (
            "",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbody",
            true,
        ),
        (
            "",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\nbody",
            false,
        ),
        (
            "",
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/9\r\n\r\nbody",
            false,
        ),
        (
            "",
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/4\r\n\r\nbody",
            true,
        ),
        (
            "WARC-Vary: range: bytes=0-3\r\n",
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/9\r\n\r\nbody",
            true,
        ),
        (
            "WARC-Truncated: length\r\n",
            "HTTP/1.1 200 OK\r\n\r\nbody",
            false,
        ),
    ] {
        let digest = "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n";
        for more in ["", digest] {
            let record = response(1, &format!("{fields}{more}"), block.as_bytes());
            assert_eq!(judged(&record).1, is_whole, "{fields}{block:?}");
            let line = &lines(&record)[0];
            assert_eq!(line.truncated.is_none(), is_whole, "{fields}{block:?}");
        }
    }
}

#[test]
fn a_request_that_names_no_record_belongs_to_the_capture_beside_it() {
    let page = b"HTTP/1.1 200 OK\r\n\r\n";
    let methods = |records: &[Vec<u8>]| -> Vec<String> {
        let records = records.concat();
        let lines = lines(&records);
        let dir = archive(&records);
        let mut reader = Reader::open(&dir.path().join("a.warc")).expect("an archive");
        let others = other_methods(&mut reader).expect("read");
        let method = |line: &CdxjLine| line.request.as_ref().map(|it| it.method.clone());
        for line in &lines {
            let other = others.get(&line.extent.offset);
            assert_eq!(other.cloned(), method(line));
        }
        let method = |line: &CdxjLine| method(line).unwrap_or_else(|| "GET".to_owned());
        lines.iter().map(method).collect()
    };
    let of = |n: u8| format!("WARC-Concurrent-To: {}\r\n", id(n).bracketed());
    let answer = |n: u8| response(n, "", page);
    for (records, expected) in [
        (vec![request(1, "", "HEAD"), answer(1)], vec!["HEAD"]),
        (vec![answer(1), request(1, "", "POST")], vec!["POST"]),
        (vec![request(1, "", "PUT"), answer(2)], vec!["PUT"]),
        (
            vec![
                request(1, "", "GET"),
                answer(2),
                request(3, "", "POST"),
                answer(4),
            ],
            vec!["GET", "POST"],
        ),
        (
            vec![
                answer(1),
                request(1, "", "POST"),
                answer(2),
                request(2, "", "GET"),
            ],
            vec!["POST", "GET"],
        ),
        // The request of the first capture is not in the file.
        (
            vec![answer(1), request(2, "", "POST"), answer(2)],
            vec!["GET", "POST"],
        ),
        // The request names neither answer.
        (
            vec![
                request(1, "", "GET"),
                request(1, "", "POST"),
                answer(1),
                answer(1),
            ],
            vec!["POST", "POST"],
        ),
        (
            vec![
                answer(1),
                answer(1),
                request(1, "", "POST"),
                request(1, "", "GET"),
            ],
            vec!["POST", "POST"],
        ),
        // A request that names its capture belongs to no other.
        (
            vec![answer(1), answer(2), request(3, &of(1), "POST")],
            vec!["POST", "GET"],
        ),
        (
            vec![request(1, "", "POST"), answer(2), response(3, &of(1), page)],
            vec!["POST", "POST"],
        ),
    ] {
        assert_eq!(methods(&records), expected);
    }
}

#[test]
fn a_revisit_without_a_head_may_state_its_status() {
    for (stated, status) in [("203", Some(203)), ("good", None)] {
        let revisit = record("revisit", 1, &format!("WARC-Status: {stated}\r\n"), b"");
        assert_eq!(lines(&revisit)[0].status, status, "{stated}");
    }
}

#[test]
fn a_request_belongs_to_a_capture_as_far_away_as_a_package_takes_it() {
    let page = b"HTTP/1.1 200 OK\r\n\r\n";
    let mut records = vec![response(1, "", page)];
    records.extend((2..50).map(|n| record("resource", n, "", b"between")));
    let of = format!("WARC-Concurrent-To: {}\r\n", id(1).bracketed());
    records.push(request(50, &of, "POST"));
    let lines = lines(&records.concat());
    let method = lines[0].request.as_ref().map(|request| &*request.method);
    assert_eq!(method, Some("POST"));
}

#[test]
fn a_capture_that_shares_its_gzip_member_has_no_request_by_its_offset() {
    let page = b"HTTP/1.1 200 OK\r\n\r\n";
    let records = [
        response(1, "", page),
        response(2, "", page),
        request(2, "", "POST"),
    ]
    .concat();
    let mut reader = Reader::new(std::io::Cursor::new(gzip(&records))).expect("an archive");
    let others = other_methods(&mut reader).expect("read");
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn revisits_are_resolved_as_replay_does() {
    let (sha256, _) = Digest::sha256_of(&b"body"[..]).expect("in memory");
    let (sha1, _) = Digest::of(DigestAlgorithm::Sha1, &b"body"[..]).expect("in memory");
    let block = b"HTTP/1.1 200 OK\r\n\r\nbody";
    let original = |digest: &str| response(1, digest, block);
    let of_sha1 = format!("WARC-Payload-Digest: {sha1}\r\n");
    let profile = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified\r\n";
    let found = |original: Vec<u8>, fields: &str| {
        let revisit = record("revisit", 9, &format!("{profile}{fields}"), b"");
        findings(&[original, revisit].concat())
    };
    let place = format!(
        "WARC-Refers-To-Target-URI: <{URL}>\r\nWARC-Refers-To-Date: 2026-11-20T06:00:01.5Z\r\n"
    );
    assert_eq!(found(original(&of_sha1), &format!("{place}{of_sha1}")), []);
    // Without a digest, one name of the capture is enough.
    let unknown = "WARC-Refers-To: <urn:x:unknown>\r\n";
    assert_eq!(found(original(&of_sha1), &format!("{place}{unknown}")), []);
    assert_eq!(found(original(""), &place), []);
    // Digests of different algorithms do not differ.
    for original in [original(&of_sha1), original("")] {
        let fields = format!("{place}WARC-Payload-Digest: {sha256}\r\n");
        let codes = found(original, &fields);
        assert_eq!(codes, [FindingCode::RevisitUncompared]);
        assert_eq!(codes[0].severity(), Severity::Warning);
    }
    let other = of_sha1.replace("sha1:", "sha1:A");
    let other = format!("{}\r\n", &other[..other.len() - 3]);
    let fields = format!("{place}{other}");
    assert_eq!(
        found(original(&of_sha1), &fields),
        [FindingCode::RevisitDigest]
    );
}

proptest! {
    /// A body of which any bytes at the end are missing is not whole; a whole one is.
    #[test]
    fn no_cut_body_is_whole(body in prop::collection::vec(any::<u8>(), 1..60), chunk in 1..20usize, lost in 1..40usize) {
        let plain = [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
        let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for part in body.chunks(chunk) {
            chunked.extend(format!("{:x}\r\n", part.len()).as_bytes());
            chunked.extend(part);
            chunked.extend(b"\r\n");
        }
        chunked.extend(b"0\r\n\r\n");
        for (block, end) in [(plain, 0), (chunked, 2)] {
            let (payload, is_whole) = judged(&response(1, "", &block));
            prop_assert!(is_whole && payload == body);
            // Behind the last chunk, an empty line may be missing.
            let cut = &block[..block.len().saturating_sub(lost + end).max(16)];
            // Digits alone may be a body, too.
            let stored = cut.split(|byte| *byte == b'\n').next_back().unwrap_or_default();
            let is_number = stored.iter().all(u8::is_ascii_hexdigit) && cut.ends_with(stored) && end > 0;
            prop_assert!(is_number || !judged(&response(1, "", cut)).1);
        }
    }
}
