//! The verifier finds what is wrong, and nothing where all is well.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use urldb_warc::finding::Severity;
use urldb_warc::verify::{ArchiveFinding, Verifier, VerifySummary, verify_archive};
use urldb_warc::{Compression, Digest, DigestAlgorithm, FindingCode, Header, Writer};

use crate::common::{URL, drafts, gzip};

/// The keys of the indexes here.
pub(crate) fn key(url: &str) -> String {
    url.replace(':', "!")
}

/// Verifies files and an index, by name.
pub(crate) fn verify(files: &[(&str, Vec<u8>)]) -> (Vec<ArchiveFinding>, VerifySummary) {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).expect("written");
    }
    let mut findings = Vec::new();
    let summary = verify_archive(dir.path(), &key, &mut |finding| findings.push(finding))
        .expect("a directory");
    (findings, summary)
}

pub(crate) fn codes(bytes: Vec<u8>) -> Vec<FindingCode> {
    let (findings, _) = verify(&[("a.warc.gz", bytes)]);
    findings.iter().map(|finding| finding.code).collect()
}

/// The records of the common archive, one gzip member each.
pub(crate) fn records() -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for (draft, body) in drafts() {
        let mut draft = draft;
        draft
            .add_block_digest(DigestAlgorithm::Sha256, &mut std::io::Cursor::new(body))
            .expect("in memory");
        let mut writer = Writer::new(Vec::new(), Compression::None);
        writer
            .write_draft(&draft, body, body.len() as u64)
            .expect("written");
        records.push(writer.get_ref().clone());
    }
    records
}

pub(crate) fn zipped(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|record| gzip(record)).collect()
}

/// The archive, with a text in one of its records replaced.
fn with(record: usize, from: &str, to: &str) -> Vec<u8> {
    let mut records = records();
    let text = String::from_utf8(records[record].clone()).expect("text");
    assert!(text.contains(from), "{from:?} is not in {text}");
    records[record] = text.replace(from, to).into_bytes();
    zipped(&records)
}

#[test]
fn a_good_archive_has_no_findings() {
    let bytes = zipped(&records());
    let length = bytes.len() as u64;
    let (findings, summary) = verify(&[("a.warc.gz", bytes), ("b.warc", records()[0].clone())]);
    // The same warcinfo is in both.
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(
        (findings[0].code, findings[0].file.ends_with("b.warc")),
        (FindingCode::IdRepeated, true)
    );
    assert_eq!((summary.files, summary.records, summary.errors), (2, 5, 1));
    assert_eq!(summary.bytes, length + records()[0].len() as u64);
}

#[test]
fn what_others_miss_is_found() {
    let good = zipped(&records());
    let last = gzip(&records()[3]).len();
    let clipped = |n: usize| good[..good.len() - n].to_vec();
    let with_tail = |tail: &[u8]| [good.as_slice(), tail].concat();
    assert_eq!(codes(clipped(last / 2)), [FindingCode::CutOff]);
    for trailer in 1..=8 {
        assert_eq!(codes(clipped(trailer)), [FindingCode::GzipTrailer]);
    }
    assert_eq!(codes(with_tail(&[0; 512])), [FindingCode::Zeros]);
    assert_eq!(codes(with_tail(b"rubbish")), [FindingCode::GzipHeader]);
    assert_eq!(codes(vec![]), [FindingCode::EmptyFile]);
    assert_eq!(
        codes(gzip(b"")),
        [FindingCode::EmptyMember, FindingCode::EmptyFile]
    );
    assert_eq!(codes(b"<html>".to_vec()), [FindingCode::NotAnArchive]);
    let digest = "WARC-Block-Digest: sha256:";
    let wrong = format!("{digest}{}\r\nX-Was: ", "0".repeat(64));
    assert_eq!(codes(with(2, digest, &wrong)), [FindingCode::BlockDigest]);
}

#[test]
fn what_a_header_must_have_is_there() {
    for (record, from, to, code) in [
        (2, "WARC-Date:", "X-Date:", FindingCode::FieldMissing),
        (2, "WARC-Record-ID:", "X-ID:", FindingCode::FieldMissing),
        (1, "WARC-Target-URI:", "X-URI:", FindingCode::FieldMissing),
        (
            1,
            "WARC-Type: request",
            "WARC-Type: quest",
            FindingCode::TypeUnknown,
        ),
        (
            1,
            "WARC-Date: 2026-11-20",
            "WARC-Date: 2026-11-31",
            FindingCode::Date,
        ),
        (
            1,
            "WARC-Date: 2026-11-20T06:00:00.123456Z",
            "WARC-Date: 20261120060000",
            FindingCode::DateForm,
        ),
        (1, "WARC/1.1", "WARC/1.0", FindingCode::DateForm),
        (
            1,
            "WARC-IP-Address: 192.0.2.7",
            "WARC-IP-Address: example.org",
            FindingCode::FieldInvalid,
        ),
        (
            1,
            "WARC-Concurrent-To: <",
            "WARC-Concurrent-To: <<",
            FindingCode::FieldInvalid,
        ),
        (
            1,
            "WARC-Type: request",
            "WARC-Type: request\r\nwarc-type: request",
            FindingCode::FieldRepeated,
        ),
        (3, "WARC-Profile:", "X-Profile:", FindingCode::FieldMissing),
        (
            3,
            "identical-payload-digest",
            "other",
            FindingCode::RevisitProfile,
        ),
        (
            1,
            "WARC-Block-Digest: sha256:",
            "WARC-Block-Digest: md4:",
            FindingCode::DigestUnknown,
        ),
    ] {
        let found = codes(with(record, from, to));
        assert!(found.contains(&code), "{to}: {found:?}");
    }
    // 1.1 allows dates that say less, and ids of requests that were made beside more than one record.
    for to in ["2026", "2026-11", "2026-11-20", "2026-11-20T06:00Z"] {
        let date = format!("WARC-Date: {to}\r\nX-Was: ");
        assert_eq!(codes(with(1, "WARC-Date: ", &date)), [], "{to}");
    }
    let twice = "WARC-Concurrent-To: <urn:x:1>\r\nWARC-Concurrent-To:";
    assert_eq!(codes(with(1, "WARC-Concurrent-To:", twice)), []);
}

#[test]
fn revisits_resolve_or_are_found() {
    let date = "WARC-Refers-To-Date: 2026-11-20T06:00:00.123456Z";
    for (from, to, code) in [
        (
            "WARC-Refers-To: <urn:uuid:0",
            "WARC-Refers-To: <urn:uuid:f",
            FindingCode::RevisitElsewhere,
        ),
        (
            date,
            "WARC-Refers-To-Date: 2026-11-20T06:00:59Z",
            FindingCode::RevisitElsewhere,
        ),
        (
            date,
            "WARC-Refers-To-Date: 2026-11-21T06:00:00Z",
            FindingCode::RevisitOfRevisit,
        ),
        (
            "Refers-To-Target-URI: https:",
            "Refers-To-Target-URI: http:",
            FindingCode::RevisitUnresolved,
        ),
        (
            "Payload-Digest: sha256:",
            "Payload-Digest: sha256:0000000000000000000000000000000000000000000000000000000000000000\r\nX-Was: ",
            FindingCode::RevisitDigest,
        ),
    ] {
        assert_eq!(codes(with(3, from, to)), [code], "{to}");
    }
    // The revisit may come first, and the response may be in another file.
    let mut swapped = records();
    swapped.swap(2, 3);
    assert_eq!(codes(zipped(&swapped)), []);
    let (first, second) = (zipped(&swapped[..3]), zipped(&swapped[3..]));
    let (findings, _) = verify(&[("a.warc.gz", first.clone()), ("b.warc.gz", second)]);
    assert_eq!(findings, []);
    let (findings, _) = verify(&[("a.warc.gz", first)]);
    assert_eq!(findings.len(), 1);
    let id = findings[0].record_id.as_deref();
    assert_eq!(
        (findings[0].code, id),
        (
            FindingCode::RevisitUnresolved,
            Some("urn:uuid:04040404-0404-4404-8404-040404040404")
        )
    );
    // Without a word about which, any response of the URI with that digest will do.
    let anonymous = with(3, "WARC-Refers-To", "X-Refers-To");
    assert_eq!(codes(anonymous), []);
    // A revisit of an answer to a POST refers to the place that this has in an index.
    let refers = format!("WARC-Refers-To-Target-URI: {URL}");
    for (part, expected) in [
        ("?__wb_method=POST&a=b", &[][..]),
        ("&__wb_method=PUT", &[]),
        ("?a=b", &[FindingCode::RevisitUnresolved]),
    ] {
        assert_eq!(
            codes(with(3, &refers, &format!("{refers}{part}"))),
            expected
        );
    }
}

/// A record of HTTP, with a digest of what is given.
fn http(head: &str, body: &[u8], digested: &[u8]) -> Vec<u8> {
    let mut header = Header::new(urldb_warc::RecordType::Response);
    let (digest, _) = Digest::of(DigestAlgorithm::Sha1, digested).expect("in memory");
    for (name, value) in [
        ("WARC-Record-ID", "<urn:x:1>"),
        ("WARC-Date", "2026-11-20T06:00:00Z"),
        ("WARC-Target-URI", URL),
        ("Content-Type", "application/http; msgtype=response"),
        ("WARC-Payload-Digest", &digest.to_string()),
    ] {
        header.push(name, value).expect("valid");
    }
    let block = [head.as_bytes(), body].concat();
    let mut writer = Writer::new(Vec::new(), Compression::Gzip);
    writer
        .write_record(&header, block.as_slice(), block.len() as u64)
        .expect("written");
    writer.get_ref().clone()
}

#[test]
fn a_payload_is_digested_with_and_without_its_chunks() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = b"5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(codes(http(chunked, body, b"hello")), []);
    assert_eq!(
        codes(http(chunked, body, body)),
        [FindingCode::PayloadDigestRaw]
    );
    assert_eq!(
        codes(http(chunked, body, b"other")),
        [FindingCode::PayloadDigest]
    );
    assert_eq!(
        codes(http(chunked, b"hello", b"hello")),
        [FindingCode::HttpFraming]
    );
    assert_eq!(
        codes(http(chunked, b"5\r\nhel", b"hel")),
        [FindingCode::HttpFraming]
    );
    let plain = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(codes(http(plain, b"hello", b"hello")), []);
    assert_eq!(
        codes(http(plain, b"hell", b"hell")),
        [FindingCode::HttpLength]
    );
    assert_eq!(codes(http(plain, b"", b"")), []);
    assert_eq!(
        codes(http("<html>", b"", b"<html>")),
        [FindingCode::HttpHead]
    );
}

/// A flipped byte: its record is named, the others are still verified.
#[test]
fn a_flipped_byte_is_named_and_the_rest_verified() {
    let parts: Vec<Vec<u8>> = records().iter().map(|record| gzip(record)).collect();
    let mut bytes = parts.concat();
    bytes[parts[0].len() + 60] ^= 0x10;
    let (findings, summary) = verify(&[("a.warc.gz", bytes)]);
    let offset = Some(parts[0].len() as u64);
    assert!(
        findings.iter().all(|finding| finding.offset == offset),
        "{findings:?}"
    );
    assert!(
        findings
            .iter()
            .any(|finding| finding.code.severity() == Severity::Error)
    );
    assert_eq!(summary.records, 3);
    let text = findings[0].to_string();
    assert!(
        text.contains(&format!("a.warc.gz:{}: error: ", parts[0].len())),
        "{text}"
    );
}

#[test]
fn a_file_that_is_not_there_is_a_finding() {
    let mut findings = Vec::new();
    let mut keep = |finding| findings.push(finding);
    let nowhere = Path::new("/nowhere");
    let mut verifier = Verifier::new(&nowhere, &key, &mut keep);
    verifier.file("a.warc.gz", &nowhere.join("a.warc.gz"));
    assert_eq!(verifier.finish().errors, 1);
    assert_eq!(findings[0].code, FindingCode::Unreadable);
}

#[test]
fn codes_are_distinct_and_described() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/warc-verify.md");
    let page = fs::read_to_string(page).expect("the page");
    let mut names: Vec<&str> = FindingCode::ALL.iter().map(|code| code.name()).collect();
    for code in FindingCode::ALL {
        let row = format!(
            "| `{code}` | {} | {} |",
            code.severity().as_str(),
            code.meaning()
        );
        assert!(page.contains(&row), "docs/warc-verify.md lacks: {row}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FindingCode::ALL.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_bytes_make_it_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..400),
        fields in "(WARC-(Type|Date|Segment-Number|Refers-To|Profile): [ -~]{0,12}\r\n){0,6}",
        zip in any::<bool>(),
    ) {
        let length = bytes.len();
        bytes.splice(0..0, format!("WARC/1.1\r\n{fields}Content-Length: {length}\r\n\r\n").into_bytes());
        bytes.extend(b"\r\n\r\n");
        let _ = codes(if zip { gzip(&bytes) } else { bytes });
    }
}
