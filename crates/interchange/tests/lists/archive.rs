//! WARC and CDXJ.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use urldb_files::Root;
use urldb_interchange::archive::{read_cdxj, read_warc};
use urldb_interchange::{ListItem, NoticeSeverity, ReadError};

use crate::common::{Taken, digest};

fn sha256(bytes: &[u8]) -> String {
    let digest = urldb_warc::Digest::sha256_of(bytes).unwrap().0.to_string();
    digest.trim_start_matches("sha256:").to_owned()
}

fn record(kind: &str, url: &str, date: &str, more: &str, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n{more}Content-Length: {}\r\n\r\n",
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn response(url: &str, status: u16, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\n{fields}\r\n");
    record(
        "response",
        url,
        "2026-11-21T10:30:00Z",
        "",
        &[head.as_bytes(), body].concat(),
    )
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn warc(records: &[Vec<u8>]) -> (Taken, Result<(), ReadError>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.warc");
    fs::write(&path, records.concat()).unwrap();
    Taken::with_result(|sink| read_warc(&path, &"a.warc".into(), sink))
}

fn promise(item: &ListItem) -> (u64, &str) {
    (
        item.record.content_length.unwrap(),
        item.record.content_sha256.as_deref().unwrap(),
    )
}

#[test]
fn captures_become_the_bytes_that_would_be_served() {
    let whole = sha256(b"body");
    let chunks = b"2;x=y\r\nbo\r\n2 \r\ndy\r\n0\r\nTrailer: x\r\n\r\n";
    let packed = gzip(b"body");
    let packed_chunks = [
        format!("{:x}\r\n", packed.len()).as_bytes(),
        &packed,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let (taken, result) = warc(&[
        response("http://a.test/plain", 200, "", b"body"),
        response(
            "http://a.test/chunked",
            200,
            "Transfer-Encoding: chunked\r\n",
            chunks,
        ),
        response(
            "http://a.test/undone",
            200,
            "Transfer-Encoding: chunked\r\n",
            b"body",
        ),
        response(
            "http://a.test/gzip",
            200,
            "Content-Encoding: gzip\r\n",
            &packed,
        ),
        response(
            "http://a.test/both",
            200,
            "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            &packed_chunks,
        ),
        record(
            "resource",
            "http://a.test/resource",
            "2026-11-21T10:30:00Z",
            "",
            b"body",
        ),
    ]);
    result.unwrap();
    assert_eq!(taken.notices, []);
    assert_eq!(taken.items.len(), 6);
    for item in &taken.items {
        assert_eq!(promise(item), (4, whole.as_str()), "{}", item.record.path);
        assert_eq!(item.moment.as_deref(), Some("20261121103000"));
    }
}

#[test]
fn what_promises_nothing_is_left_out() {
    let (taken, result) = warc(&[
        record(
            "warcinfo",
            "http://a.test/",
            "2026-11-21T10:30:00Z",
            "",
            b"x: y\r\n",
        ),
        record(
            "response",
            "dns:a.test",
            "2026-11-21T10:30:00Z",
            "",
            b"20261121\n1.2.3.4",
        ),
        record("revisit", "http://a.test/", "2026-11-21T10:30:00Z", "", b""),
        response("http://a.test/gone", 404, "", b"no"),
        response("http://a.test/br", 200, "Content-Encoding: br\r\n", b"?"),
        response(
            "http://a.test/bad",
            200,
            "Content-Encoding: gzip\r\n",
            b"no gzip",
        ),
        response(
            "http://a.test/broken",
            200,
            "Transfer-Encoding: chunked\r\n",
            b"2\r\nbo\r\nzz\r\n",
        ),
        record(
            "response",
            "http://a.test/",
            "2026-11-21T10:30:00Z",
            "",
            b"no HTTP",
        ),
        record(
            "response",
            "http://a.test/",
            "2026-11-21T10:30:00Z",
            "WARC-Truncated: length\r\n",
            b"HTTP/1.1 200 OK\r\n\r\nbo",
        ),
        response("http://a.test:8080/", 200, "", b"body"),
    ]);
    result.unwrap();
    assert_eq!(taken.items, []);
    let codes: Vec<_> = taken
        .codes(NoticeSeverity::LeftOut)
        .iter()
        .map(|code| code.rsplit(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        codes,
        [
            "status",
            "coding",
            "damaged",
            "damaged",
            "no-http",
            "truncated"
        ]
    );
    assert_eq!(taken.refused().len(), 1);
}

/// A damaged record is refused with its offset, and the records behind it are read.
#[test]
fn a_damaged_record_is_refused_with_its_offset() {
    let good = response("http://a.test/", 200, "", b"body");
    let damaged = String::from_utf8(response("http://a.test/2", 200, "", b"lost")).unwrap();
    let damaged = damaged
        .replace("Content-Length: ", "Content-Length: x")
        .into_bytes();
    let last = response("http://a.test/3", 200, "", b"last");
    let (taken, result) = warc(&[good.clone(), damaged, last.clone()]);
    result.unwrap();
    assert_eq!(taken.items.len(), 2);
    let refused = taken.refused();
    assert_eq!(refused.len(), 1, "{refused:?}");
    let (taken, result) = warc(&[good.clone(), last[..last.len() - 10].to_vec()]);
    result.unwrap();
    assert_eq!((taken.items.len(), taken.refused().len()), (1, 1));
    let location = format!("a.warc at byte {} damaged", good.len());
    assert_eq!(taken.refused(), [location]);
    let (_, result) = warc(&[b"no archive at all".to_vec()]);
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("a.warc at byte 0: "), "{error}");
}

#[test]
fn an_index_is_read_with_or_without_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let first = response("http://a.test/", 200, "", b"body");
    fs::write(
        folder.path().join("a.warc"),
        [
            first.clone(),
            response("http://a.test/2", 200, "", b"other"),
        ]
        .concat(),
    )
    .unwrap();
    let line =
        |url: &str, more: &str| format!("key 20261121103000 {{\"url\": \"{url}\", {more}}}\n");
    let text = [
        "!meta {}\n".to_owned(),
        line("http://a.test/2", &format!("\"status\": \"200\", \"filename\": \"a.warc\", \"offset\": \"{}\"", first.len())),
        line("http://a.test/far", &format!("\"status\": \"200\", \"digest\": \"sha256:{}\", \"filename\": \"b.warc\", \"offset\": \"0\"", digest('a'))),
        line("http://a.test/sha1", "\"status\": \"200\", \"digest\": \"sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\""),
        line("http://a.test/out", "\"filename\": \"../a.warc\", \"offset\": \"0\""),
        line("http://a.test/404", "\"status\": \"404\""),
        line("http://a.test/again", "\"mime\": \"warc/revisit\""),
        line("http://a.test/lost", "\"filename\": \"a.warc\", \"offset\": \"3\""),
        "nonsense\n".to_owned(),
    ]
    .concat();
    let root = Root::new(folder.path(), "the folder");
    let taken = Taken::of(|sink| read_cdxj(text.as_bytes(), &root, &"index.cdxj".into(), sink));
    assert_eq!(
        taken.urls(),
        [
            "http://a.test/2",
            "http://a.test/far",
            "http://a.test/sha1",
            "http://a.test/out"
        ]
    );
    assert_eq!(promise(&taken.items[0]), (5, sha256(b"other").as_str()));
    assert_eq!(taken.items[1].record.content_sha256, Some(digest('a')));
    assert!(!taken.items[2].record.is_static() && !taken.items[3].record.is_static());
    assert_eq!(
        taken.refused(),
        ["index.cdxj:8 archive", "index.cdxj:9 bad-line"]
    );
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        ["index.cdxj:6 status"]
    );
}

#[test]
fn archives_of_other_programs_are_read() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/warc-samples");
    if !folder.exists() {
        eprintln!("skipped: {} is not here", folder.display());
        return;
    }
    for (name, url, length) in [
        ("example.warc", "http://example.com/", 1270),
        ("example.warc.gz", "http://example.com/", 1270),
        (
            "example-iana.org-chunked.warc",
            "http://www.iana.org/",
            7223,
        ),
    ] {
        let taken = Taken::of(|sink| read_warc(&folder.join(name), &name.into(), sink));
        assert_eq!(taken.urls()[0], url, "{name}");
        assert_eq!(promise(&taken.items[0]).0, length, "{name}");
    }
}
