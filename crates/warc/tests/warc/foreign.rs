//! Archives of other programs: what they write is read, indexed, converted and taken out as it is.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use urldb_warc::cdxj::CONTINUATION_MIME;
use urldb_warc::cdxj::SortKeys;
use urldb_warc::convert::convert;
use urldb_warc::files::FileSource;
use urldb_warc::finding::Severity;
use urldb_warc::http::StoredRequest;
use urldb_warc::index::{IndexError, index_lines_of, rebuild_index};
use urldb_warc::segment::{SegmentPosition, StoredSegments};
use urldb_warc::verify::{copy_payload, verify_archive};
use urldb_warc::{
    CdxjLine, Compression, Digest, DigestAlgorithm, FindingCode, Reader, Version, Writer,
};

use crate::common::{URL, drafts, gzip, id, index_text, named, split_record};

fn key(url: &str) -> String {
    format!("key-of-{}", url.replace(' ', "_"))
}

/// A record with these fields beside type, id and date.
fn record(kind: &str, n: u8, fields: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let mut text = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {}\r\n",
        id(n).bracketed()
    );
    if fields.iter().all(|(name, _)| *name != "WARC-Date") {
        text.push_str("WARC-Date: 2026-11-20T06:00:00Z\r\n");
    }
    for (name, value) in fields {
        text.extend([name, ": ", value, "\r\n"]);
    }
    let length = block.len().to_string();
    text.extend(["Content-Length: ", &length, "\r\n\r\n"]);
    [text.as_bytes(), block, b"\r\n\r\n"].concat()
}

const HTTP: (&str, &str) = ("Content-Type", "application/http; msgtype=response");

fn response(n: u8, url: &str, block: &str) -> Vec<u8> {
    record(
        "response",
        n,
        &[("WARC-Target-URI", url), HTTP],
        block.as_bytes(),
    )
}

fn archive(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).expect("written");
    }
    dir
}

fn lines(dir: &Path) -> Vec<CdxjLine> {
    let text = index_text(dir);
    let parse = |line: &str| CdxjLine::parse(line).expect("a line");
    text.lines().map(parse).collect()
}

fn errors(dir: &Path) -> Vec<FindingCode> {
    let mut codes = Vec::new();
    verify_archive(dir, &key, &mut |finding| {
        if finding.code.severity() == Severity::Error {
            codes.push(finding.code);
        }
    })
    .expect("a directory");
    codes
}

fn sha1(bytes: &[u8]) -> String {
    let (digest, _) = Digest::of(DigestAlgorithm::Sha1, bytes).expect("in memory");
    digest.to_string()
}

/// The whole file in another version.
fn converted(bytes: &[u8], to: Version) -> Vec<u8> {
    let mut reader = Reader::new(bytes).expect("readable");
    let mut writer = Writer::new(Vec::new(), Compression::None).with_version(to);
    convert(&mut reader, &mut writer).expect("converted");
    writer.get_ref().clone()
}

#[test]
fn a_conversion_to_0_9_verifies() {
    let mut writer = Writer::new(Vec::new(), Compression::None);
    for (draft, body) in drafts() {
        let length = body.len() as u64;
        writer.write_draft(&draft, body, length).expect("written");
    }
    let date = ("WARC-Date", "2026-11-20T06:00:00.123456789Z");
    let own = [
        writer.get_ref().clone(),
        record(
            "metadata",
            21,
            &[
                ("WARC-Target-URI", "urn:x:a b"),
                ("Content-Type", "text/anvl; charset=utf-8"),
                date,
            ],
            b"a: b",
        ),
        record(
            "response",
            22,
            &[
                ("WARC-Target-URI", "http://a.test/a b"),
                ("Content-Type", "application/http; msgtype=response"),
                date,
            ],
            b"HTTP/1.1 200 OK\r\n\r\n",
        ),
        record(
            "Revisit",
            23,
            &[
                ("WARC-Target-URI", "http://a.test/a b"),
                ("WARC-Refers-To", &id(22).bracketed()),
                (
                    "WARC-Profile",
                    "http://netpreserve.org/warc/1.0/revisit/server-not-modified",
                ),
            ],
            b"",
        ),
    ]
    .concat();
    assert_eq!(errors(archive(&[("a.warc", &own)]).path()), []);
    let old = converted(&own, Version::Warc09);
    assert_eq!(errors(archive(&[("a.warc", &old)]).path()), []);
    let back = converted(&old, Version::Warc11);
    assert_eq!(errors(archive(&[("a.warc", &back)]).path()), []);
}

/// A conversion adds no error to what other programs wrote.
#[test]
fn conversions_of_samples_have_no_new_errors() {
    let samples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/warc-samples");
    if !samples.is_dir() {
        eprintln!("skipped: there is no {}", samples.display());
        return;
    }
    for entry in fs::read_dir(samples).expect("a directory") {
        let path = entry.expect("an entry").path();
        let Ok(bytes) = fs::read(&path) else { continue };
        if crate::common::read_all(&bytes).1.is_some() {
            continue;
        }
        let known = errors(archive(&[("a.warc", &bytes)]).path());
        for version in [Version::Warc09, Version::Warc10, Version::Warc11] {
            let mut found = errors(archive(&[("a.warc", &converted(&bytes, version))]).path());
            found.retain(|code| !known.contains(code));
            assert_eq!(found, [], "{} in {version}", path.display());
        }
    }
}

#[test]
fn a_revisit_of_0_9_gets_a_profile() {
    let block = "HTTP/1.x 304 Not Modified\r\n\r\n";
    let rest = format!(
        " revisit {URL} 20050808010101 message/http urn:x:2\r\nRelated-Record-ID: urn:x:1\r\n\r\n{block}"
    );
    let old = format!(
        "warc/0.9 {}{rest}\r\n\r\n",
        "warc/0.9 123".len() + rest.len()
    );
    let new = String::from_utf8(converted(old.as_bytes(), Version::Warc11)).expect("text");
    assert!(
        new.contains(
            "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n"
        ),
        "{new}"
    );
    assert_eq!(converted(new.as_bytes(), Version::Warc09), old.as_bytes());
    let with_digest = old.replace(
        "Related-",
        "WARC-Payload-Digest: sha1:2ZWC6JAT6KNXKD37F7MOEKXQMRY75YY4\r\nRelated-",
    );
    let length = with_digest.len() - 4;
    let begin = with_digest
        .split(" revisit ")
        .next()
        .expect("a length")
        .to_owned();
    let with_digest = with_digest.replacen(&begin, &format!("warc/0.9 {length}"), 1);
    let new = String::from_utf8(converted(with_digest.as_bytes(), Version::Warc11)).expect("text");
    assert!(
        new.contains("/revisit/identical-payload-digest\r\n"),
        "{new}"
    );
}

/// The example of the ARC specification, of both versions of the format.
#[test]
fn the_example_of_the_arc_specification_is_good() {
    let head = "HTTP/1.0 200 Document follows\nDate: Mon, 04 Nov 1996 14:21:06 GMT\nServer: NCSA/1.4.1\n\
        Content-type: text/html Last-modified: Sat,10 Aug 1996 22:33:11 GMT\nContent-length: 30\n";
    let document = format!("{head}<HTML>\nHello World!!!\n</HTML>\n");
    assert_eq!(document.len(), 202);
    let file = format!(
        "filedesc://IA-001102.arc 0 19960923142103 text/plain 76\n1 0 Alexa Internet\n\
        URL IP-address Archive-date Content-type Archive-length\n\n\
        http://www.dryswamp.edu:80/index.html 127.10.100.2 19961104142103 text/html 202\n{document}\n\
        filedesc://IA-001102.arc 0.0.0.0 19960923142103 text/plain 200 - - 0 IA-001102.arc 122\n\
        2 0 Alexa Internet\n\
        URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length\n\n\
        ftp://www.dryswamp.edu/index.html 127.10.100.2 19961104142103 text/html 200 \
        fac069150613fe55599cc7fa88aa089d - 209 IA-001102.arc 202\n{document}"
    );
    let dir = archive(&[("IA-001102.arc", file.as_bytes())]);
    assert_eq!(errors(dir.path()), []);
    let (records, fault) = crate::common::read_all(file.as_bytes());
    assert!(fault.is_none(), "{fault:?}");
    assert_eq!(records[0].0.get("WARC-IP-Address"), None);
    assert_eq!(records[1].0.get("WARC-IP-Address"), Some("127.10.100.2"));
    assert_eq!(records[2].0.get("Content-Type"), Some("text/plain"));
    assert_eq!(records[3].0.get("Content-Type"), Some("text/html"));
    // Its head has no end, so all of it is content.
    let indexed = index_lines_of(&dir.path().join("IA-001102.arc"), &key).expect("good");
    assert_eq!(indexed[0].digest, sha1(document.as_bytes()));
}

#[test]
fn fields_of_extensions_may_be_repeated() {
    let fields = [
        ("WARC-Target-URI", URL),
        HTTP,
        ("WARC-Protocol", "h2"),
        ("WARC-Protocol", "tls/1.3"),
    ];
    let bytes = record("response", 1, &fields, b"HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(errors(archive(&[("a.warc", &bytes)]).path()), []);
}

/// Metadata under the URI of a page describes the page. Under a URI of its own it is a capture.
#[test]
fn metadata_of_a_page_is_no_capture_of_it() {
    let metadata = |n, uri: &str, kind: &str| {
        let fields = [("WARC-Target-URI", uri), ("Content-Type", kind)];
        record("metadata", n, &fields, b"via: x")
    };
    let file = [
        response(1, URL, "HTTP/1.1 200 OK\r\n\r\nthe page"),
        metadata(2, URL, "text/anvl"),
        metadata(3, URL, "application/json"),
        metadata(4, &URL.replace("http", "HTTP"), "text/xml"),
        metadata(5, "urn:pageinfo:x", "application/json"),
    ]
    .concat();
    let dir = archive(&[("a.warc", &file)]);
    rebuild_index(dir.path(), &key).expect("made");
    let found: Vec<_> = lines(dir.path())
        .into_iter()
        .map(|line| (line.url, line.mime))
        .collect();
    let expected = [(URL, "unk"), ("urn:pageinfo:x", "application/json")];
    assert_eq!(
        found,
        expected.map(|(url, mime)| (url.to_owned(), mime.to_owned()))
    );
    assert_eq!(errors(dir.path()), []);
}

#[test]
fn a_response_without_http_has_the_digest_of_its_block() {
    let answer = b"20261120060000\na.test.\t300\tIN\tA\t192.0.2.7\n";
    let fields = [
        ("WARC-Target-URI", "dns:a.test"),
        ("Content-Type", "text/dns"),
    ];
    let dir = archive(&[("a.warc", &record("response", 1, &fields, answer))]);
    let lines = index_lines_of(&dir.path().join("a.warc"), &key).expect("good");
    assert_eq!(
        (lines[0].digest.as_str(), lines[0].status),
        (sha1(answer).as_str(), None)
    );
}

/// Dates of less precision, and those of other versions; and a URI that is no URL as it stands.
#[test]
fn a_capture_is_indexed_whatever_the_form_of_its_date_and_uri() {
    for (date, timestamp) in [
        ("2026", "20260101000000"),
        ("2026-11", "20261101000000"),
        ("2026-11-20T06:00Z", "20261120060000"),
        ("20261120060000", "20261120060000"),
        ("2026-11-20T06:00:00.5Z", "20261120060000"),
    ] {
        let fields = [
            ("WARC-Target-URI", "http://a.test/a b"),
            HTTP,
            ("WARC-Date", date),
        ];
        let bytes = record("response", 1, &fields, b"HTTP/1.1 200 OK\r\n\r\n");
        let dir = archive(&[("a.warc", &bytes)]);
        let lines = index_lines_of(&dir.path().join("a.warc"), &key).expect(date);
        assert_eq!(lines[0].timestamp, timestamp);
        assert_eq!(lines[0].url, "http://a.test/a%20b");
    }
}

/// The index has what stands behind damage too, and what it lacks is named.
#[test]
fn an_index_goes_on_behind_damage_and_names_what_it_lacks() {
    let members: Vec<Vec<u8>> = (1..8).map(|n| gzip(&named("1.1", n * 300))).collect();
    let mut damaged = members.clone();
    damaged[1][60] ^= 0xff;
    damaged[4][60] ^= 0xff;
    let undated = [
        ("WARC-Target-URI", URL),
        HTTP,
        ("WARC-Date", "2026-13-01T00:00:00Z"),
    ];
    let odd = [
        record("response", 8, &undated, b"HTTP/1.1 200 OK\r\n\r\n"),
        record("response", 9, &[HTTP], b"HTTP/1.1 200 OK\r\n\r\n"),
    ]
    .concat();
    let dir = archive(&[("a.warc.gz", &damaged.concat()), ("b.warc", &odd)]);
    let rebuilt = rebuild_index(dir.path(), &key).expect("made");
    assert_eq!(lines(dir.path()).len(), 5);
    let told: Vec<String> = rebuilt.damaged.iter().map(ToString::to_string).collect();
    let [first, second] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(first.matches("which cannot be read").count(), 2, "{first}");
    assert!(
        first.contains(&format!("the record at byte {},", members[0].len())),
        "{first}"
    );
    assert!(
        second.contains("whose WARC-Date is not a date: \"2026-13-01T00:00:00Z\""),
        "{second}"
    );
    assert!(second.contains("which has no WARC-Target-URI"), "{second}");
    assert!(rebuilt.damaged.iter().all(IndexError::is_damage));
    assert!(errors(dir.path()).contains(&FindingCode::Date));
}

#[test]
fn files_of_kinds_that_are_not_read_are_findings() {
    let good = named("1.1", 3);
    let unread = [
        "b.arc.zst",
        "c.warc.lz4",
        "d.warc.bz2",
        "e.wacz",
        "f.WARC.GZ",
        "g.arc.xz",
    ];
    let mut files = vec![("a.warc", good.as_slice())];
    files.extend(unread.map(|name| (name, &b"x"[..])));
    files.extend([
        ("notes.txt", &b"x"[..]),
        ("a.warc.gz.at-0.damaged", b"x"),
        ("x.zst", b"x"),
    ]);
    let dir = archive(&files);
    rebuild_index(dir.path(), &key).expect("made");
    assert_eq!(errors(dir.path()), [FindingCode::FileKind; 6]);
}

struct Bodies;

impl SortKeys for Bodies {
    fn key(&self, url: &str) -> String {
        key(url)
    }

    fn key_of_request(&self, url: &str, request: &StoredRequest) -> Option<(String, String)> {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        Some((format!("{}?{body}", key(url)), body))
    }
}

#[test]
fn a_chunked_request_has_the_key_of_its_body() {
    let asked =
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nq=m\r\n2\r\n51\r\n0\r\n\r\n";
    let of = id(1).bracketed();
    let fields = [
        ("WARC-Target-URI", URL),
        ("WARC-Concurrent-To", of.as_str()),
        ("Content-Type", "application/http; msgtype=request"),
    ];
    let file = [
        response(1, URL, "HTTP/1.1 200 OK\r\n\r\n"),
        record("request", 2, &fields, asked),
    ]
    .concat();
    let dir = archive(&[("a.warc", &file)]);
    rebuild_index(dir.path(), &Bodies).expect("made");
    assert_eq!(
        lines(dir.path())[0].request.as_ref().expect("a POST").body,
        "q=m51"
    );
    let mut findings = Vec::new();
    verify_archive(dir.path(), &Bodies, &mut |finding| {
        findings.push(finding.code);
    })
    .expect("there");
    assert_eq!(findings, []);
}

/// Copies the payload of the only record of a file.
fn payload(bytes: &[u8]) -> (Vec<u8>, Vec<FindingCode>, bool) {
    let mut reader = Reader::new(bytes).expect("readable");
    let mut record = reader.next_record().expect("good").expect("there");
    let header = record.header().clone();
    let mut output = Vec::new();
    let copied = copy_payload(&header, &mut record, &mut output).expect("copied");
    assert_eq!(copied.length, output.len() as u64);
    let codes = copied.findings.into_iter().map(|(code, _)| code).collect();
    (output, codes, copied.has_digest)
}

#[test]
fn a_payload_is_copied_with_findings_about_it() {
    let block = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
    let fields = |name: &'static str, digest: &str| {
        let fields = [("WARC-Target-URI", URL), HTTP, (name, digest)];
        record("response", 1, &fields, block.as_bytes())
    };
    let raw = sha1(b"4\r\nbody\r\n0\r\n\r\n");
    for (bytes, codes) in [
        (fields("WARC-Payload-Digest", &sha1(b"body")), vec![]),
        (
            fields("WARC-Payload-Digest", &raw),
            vec![FindingCode::PayloadDigestRaw],
        ),
        (
            fields("WARC-Payload-Digest", &sha1(b"x")),
            vec![FindingCode::PayloadDigest],
        ),
        (fields("WARC-Block-Digest", &sha1(block.as_bytes())), vec![]),
        (
            fields("WARC-Block-Digest", &sha1(b"x")),
            vec![FindingCode::BlockDigest],
        ),
    ] {
        assert_eq!(payload(&bytes), (b"body".to_vec(), codes, true));
    }
    assert!(!payload(&response(1, URL, block)).2);
}

/// The segments of a record, in files of their own.
fn segments() -> (Vec<Vec<u8>>, String) {
    let block = "HTTP/1.1 200 OK\r\n\r\nall of the body, in pieces";
    let mut header = urldb_warc::Header::new(urldb_warc::RecordType::Response);
    let digest = sha1(b"all of the body, in pieces");
    for (name, value) in [
        ("WARC-Record-ID", id(1).bracketed().as_str()),
        ("WARC-Date", "2026-11-20T06:00:00Z"),
        ("WARC-Target-URI", URL),
        HTTP,
        ("WARC-Payload-Digest", &digest),
    ] {
        header.push(name, value).expect("valid");
    }
    let (mut ids, mut segments) = (2..255, Vec::new());
    let whole = (Cursor::new(block), block.len() as u64);
    split_record::<Box<dyn std::error::Error>>(
        &header,
        whole,
        12,
        || id(ids.next().expect("few")),
        |header, block, length| {
            let mut writer = Writer::new(Vec::new(), Compression::Gzip);
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(block, &mut bytes)?;
            let mut header = header.clone();
            header.push("WARC-Block-Digest", sha1(&bytes))?;
            writer.write_record(&header, &bytes[..], length)?;
            segments.push(writer.get_ref().clone());
            Ok(())
        },
    )
    .expect("split");
    (segments, "all of the body, in pieces".to_owned())
}

#[test]
fn segments_are_joined_wherever_they_are() {
    let (parts, body) = segments();
    assert_eq!(parts.len(), 4);
    let other = gzip(&named("1.1", 40));
    let second = [other.clone(), parts[2].clone()].concat();
    let third = [parts[3].clone(), other.clone(), parts[1].clone()].concat();
    let dir = archive(&[
        ("b.warc.gz", &parts[0]),
        ("a.warc.gz", &second),
        ("c.warc.gz", &third),
    ]);
    let source = dir.path();
    let positions = || -> Vec<SegmentPosition> {
        let names = source.names().expect("there");
        let lines = names.iter().flat_map(|name| {
            let lines = index_lines_of(&source.join(name), &key);
            lines.expect("good")
        });
        let continuations = lines.filter(|line| line.mime == CONTINUATION_MIME);
        continuations
            .map(|line| (line.filename, line.extent.offset))
            .collect()
    };
    let found = StoredSegments::read(&source, positions(), "b.warc.gz", 0)
        .expect("read")
        .expect("segmented");
    assert_eq!(found.problem(), None);
    let mut output = Vec::new();
    let mut blocks = found.blocks(&source).expect("there");
    let copied = copy_payload(found.header(), &mut blocks, &mut output).expect("copied");
    assert_eq!((output, copied.findings), (body.into_bytes(), vec![]));

    // What is missing or damaged is told.
    fs::write(dir.path().join("c.warc.gz"), &parts[1]).expect("written");
    let found = StoredSegments::read(&source, positions(), "b.warc.gz", 0)
        .expect("read")
        .expect("segmented");
    assert!(
        found
            .problem()
            .expect("missing")
            .starts_with("segment 4 of urn:uuid:")
    );
    assert!(
        StoredSegments::read(&source, positions(), "a.warc.gz", 0)
            .expect("read")
            .is_none()
    );
    let lines = index_lines_of(&source.join("b.warc.gz"), &key).expect("good");
    assert_eq!(lines.len(), 1);
}
