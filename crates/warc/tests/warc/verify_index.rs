//! CdxjIndex and files agree, both ways, or the verifier says so.

use std::fs;

use urldb_warc::cdxj::SortKeys;
use urldb_warc::http::StoredRequest;
use urldb_warc::index::{index_lines_of, rebuild_index};
use urldb_warc::verify::{ArchiveFinding, Verifier, verify_archive};
use urldb_warc::{CdxjLine, FindingCode};

use crate::common::{gzip, index_text, named, write_index};
use crate::verify::{key, records, zipped};

/// The findings in an archive file with an index of these lines.
fn verify_with_index(file: &[u8], lines: &str) -> Vec<ArchiveFinding> {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("a.warc.gz"), file).expect("written");
    write_index(dir.path(), lines);
    let mut findings = Vec::new();
    verify_archive(dir.path(), &key, &mut |finding| findings.push(finding)).expect("a directory");
    findings
}

/// The archive and its index.
fn indexed() -> (Vec<u8>, Vec<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.warc.gz");
    let bytes = zipped(&records());
    fs::write(&path, &bytes).expect("written");
    let lines = index_lines_of(&path, &key).expect("good");
    let render = |line: &CdxjLine| line.render().expect("valid");
    (bytes, lines.iter().map(render).collect())
}

#[test]
fn index_and_files_agree_both_ways() {
    let (bytes, lines) = indexed();
    assert_eq!(lines.len(), 2);
    let found = |lines: &[&str]| -> Vec<FindingCode> {
        let mut lines = lines.to_vec();
        lines.sort_unstable();
        let findings = verify_with_index(&bytes, &lines.concat());
        findings.iter().map(|finding| finding.code).collect()
    };
    let [first, second] = [0, 1].map(|n| format!("{}\n", lines[n]));
    let (first, second) = (first.as_str(), second.as_str());
    assert_eq!(found(&[first, second]), []);
    assert_eq!(found(&[first]), [FindingCode::IndexMissing]);
    assert_eq!(found(&[first, first, second]), []);
    let again = first.replace("\"mime\": \"", "\"mime\": \"x-");
    assert_eq!(
        found(&[first, &again, second]),
        [FindingCode::IndexRepeated]
    );
    assert_eq!(
        found(&["h 2026\n", first, second]),
        [FindingCode::IndexLine]
    );
    let moved = second.replace("\"offset\": \"", "\"offset\": \"1");
    assert_eq!(
        found(&[first, &moved]),
        [FindingCode::IndexStale, FindingCode::IndexMissing]
    );
    let other = second.replace("a.warc.gz", "b.warc.gz");
    assert_eq!(
        found(&[first, &other]),
        [FindingCode::IndexStale, FindingCode::IndexMissing]
    );
    for (from, to) in [
        ("\"length\": \"", "\"length\": \"9"),
        ("https://", "http://"),
        ("sha256:0", "sha256:1"),
        (" 2026", " 2027"),
    ] {
        let wrong = second.replace(from, to);
        if wrong != second {
            assert_eq!(found(&[first, &wrong]), [FindingCode::IndexDiffers], "{to}");
        }
    }
}

/// A line under another key is never found by a lookup.
#[test]
fn a_line_has_the_key_of_its_record() {
    let (bytes, lines) = indexed();
    let (key, rest) = lines[1].split_once(' ').expect("a key");
    let wrong = format!("{}\n{key}/ {rest}\n", lines[0]);
    let findings = verify_with_index(&bytes, &wrong);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].code, FindingCode::IndexKey);
    let message = &findings[0].message;
    assert!(
        message.contains("https!//data.example.org/catalogue.csv/"),
        "{message}"
    );
}

/// A blank in a URI is `%20` in the index.
#[test]
fn a_blank_in_a_uri_is_no_difference() {
    let dir = tempfile::tempdir().expect("a directory");
    let record = String::from_utf8(named("1.0", 1))
        .expect("text")
        .replace("org/1", "org/1 2");
    let path = dir.path().join("a.warc.gz");
    fs::write(&path, gzip(record.as_bytes())).expect("written");
    rebuild_index(dir.path(), &key).expect("indexed");
    let line = index_text(dir.path());
    assert!(line.starts_with("http!//example.org/1%202 "), "{line}");
    let findings = verify_with_index(&fs::read(path).expect("there"), &line);
    let codes: Vec<FindingCode> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::UriSpace]);
}

/// Keys with method and body in them.
struct WithRequests;

impl SortKeys for WithRequests {
    fn key(&self, url: &str) -> String {
        key(url)
    }

    fn key_of_request(&self, url: &str, request: &StoredRequest) -> Option<(String, String)> {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        Some((format!("{}?{}&{body}", key(url), request.method), body))
    }
}

/// A request of that method and its answer, in any order.
fn exchange(method: &str, content_type: &str) -> [Vec<u8>; 2] {
    let record = |kind: &str, id: &str, more: &str, block: &str| {
        format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x:{id}>\r\n\
             WARC-Date: 2026-11-20T06:00:00Z\r\nWARC-Target-URI: http://example.org/form\r\n\
             {more}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
        .into_bytes()
    };
    let asked = format!("{method} /form HTTP/1.1\r\nContent-Type: text/plain\r\n\r\nbody");
    let link = format!("WARC-Concurrent-To: <urn:x:answer>\r\n{content_type}");
    let http = "Content-Type: application/http; msgtype=response\r\n";
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    [
        gzip(&record("request", "asked", &link, &asked)),
        gzip(&record("response", "answer", http, answer)),
    ]
}

/// What was asked is in the key of the answer: as the index makes it, the verifier knows it.
#[test]
fn the_key_of_an_answer_has_the_request_in_it() {
    let http = "Content-Type: application/http; msgtype=request\r\n";
    for (method, content_type) in [("POST", http), ("PUT", ""), ("GET", http)] {
        let [request, answer] = exchange(method, content_type);
        let far: Vec<u8> = (1..40).flat_map(|n| gzip(&named("1.1", n))).collect();
        for file in [
            [request.clone(), answer.clone(), far.clone()].concat(),
            [far, answer, request].concat(),
        ] {
            let dir = tempfile::tempdir().expect("a directory");
            fs::write(dir.path().join("a.warc.gz"), file).expect("written");
            rebuild_index(dir.path(), &WithRequests).expect("indexed");
            let codes = |keys: &(dyn SortKeys + Sync)| {
                let mut codes = Vec::new();
                let mut keep = |finding: ArchiveFinding| codes.push(finding.code);
                let source = dir.path();
                let mut verifier = Verifier::new(&source, keys, &mut keep);
                verifier.file("a.warc.gz", &source.join("a.warc.gz"));
                verifier.index();
                verifier.finish();
                codes
            };
            assert_eq!(codes(&WithRequests), [], "{method}");
            // By the URL alone it would not be found, and neither the other way round.
            let other = if method == "GET" {
                vec![]
            } else {
                vec![FindingCode::IndexKey]
            };
            assert_eq!(codes(&key), other, "{method}");
            rebuild_index(dir.path(), &key).expect("indexed");
            assert_eq!(codes(&WithRequests), other, "{method}");
        }
    }
}
