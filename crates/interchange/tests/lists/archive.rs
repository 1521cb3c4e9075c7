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
        response("http://a.test:443/", 200, "", b"body"),
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

#[test]
fn answers_to_other_requests_than_get_are_left_out() {
    let id = |n: u8| format!("<urn:x:{n}>");
    let pair = |n: u8, path: &str, method: &str, is_linked: bool| {
        let url = format!("http://a.test/{path}");
        let date = "2026-11-21T10:30:00Z";
        let name = format!("WARC-Record-ID: {}\r\n", id(n));
        let link = format!("WARC-Concurrent-To: {}\r\n", id(n));
        let asked = format!("{method} /{path} HTTP/1.1\r\n\r\n");
        let more = if is_linked { link } else { String::new() };
        let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
        [
            record("response", &url, date, &name, block),
            record("request", &url, date, &more, asked.as_bytes()),
        ]
    };
    let mut records = vec![];
    for (n, method) in (0..).zip(["GET", "HEAD", "POST", "PUT", "get"]) {
        let swapped = pair(2 * n, &format!("{method}{n}"), method, true);
        records.extend(swapped.into_iter().rev());
        records.extend(pair(2 * n + 1, &format!("{method}-alone"), method, false));
    }
    let (taken, result) = warc(&records);
    result.unwrap();
    let asked_with_get = [
        "http://a.test/GET0",
        "http://a.test/GET-alone",
        "http://a.test/get4",
        "http://a.test/get-alone",
    ];
    assert_eq!(taken.urls(), asked_with_get);
    let left_out = taken.codes(NoticeSeverity::LeftOut);
    assert_eq!(left_out.len(), 6);
    assert!(left_out.iter().all(|code| code.ends_with(" request")));
    assert_eq!(
        &*taken.notices[0].message,
        "http://a.test/HEAD1 was asked with HEAD, not with GET"
    );
    // An index beside the file says nothing about the requests.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.warc"), records.concat()).unwrap();
    let (mut offset, mut text) = (0, String::new());
    for bytes in &records {
        let uri = String::from_utf8_lossy(bytes);
        let uri = uri.split("Target-URI: ").nth(1).unwrap();
        let uri = uri.split('\r').next().unwrap();
        if bytes.starts_with(b"WARC/1.1\r\nWARC-Type: response") {
            let line = format!(
                "key 20261121103000 {{\"url\": \"{uri}\", \"filename\": \"a.warc\", \"offset\": \"{offset}\"}}\n"
            );
            text.push_str(&line);
        }
        offset += bytes.len();
    }
    let root = Root::new(folder.path(), "the folder");
    let taken = Taken::of(|sink| read_cdxj(text.as_bytes(), &root, &"a.cdxj".into(), sink));
    assert_eq!(taken.urls(), asked_with_get);
    assert_eq!(taken.codes(NoticeSeverity::LeftOut).len(), 6);
}

#[test]
fn index_lines_say_what_they_are_about() {
    let digest = digest('a');
    let line = |key: &str, more: &str| {
        format!(
            "{key} 20261121103000 {{\"url\": \"http://a.test/\", \"status\": \"200\", \"digest\": \"sha256:{digest}\"{more}}}\n"
        )
    };
    let text = [
        line("test,a)/", ", \"method\": \"GET\", \"truncated\": \"-\""),
        line("test,a)/", ", \"vary\": \"accept: text/turtle\""),
        line("test,a)/", ", \"method\": \"HEAD\""),
        line(
            "test,a)/?__wb_method=post&a=b",
            ", \"method\": \"POST\", \"requestBody\": \"a=b\"",
        ),
        line("test,a)/?__wb_method=put", ""),
        line("test,a)/?a=b&__wb_method=post", ""),
        line("test,a)/", ", \"truncated\": \"length\""),
        line("test,a)/", ", \"truncated\": true"),
        line("test,a)/", "").replace("\"200\"", "404"),
    ]
    .concat();
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path(), "the folder");
    let taken = Taken::of(|sink| read_cdxj(text.as_bytes(), &root, &"a.cdxj".into(), sink));
    assert_eq!(taken.urls(), ["http://a.test/", "http://a.test/"]);
    let headers = |item: &ListItem| item.record.request_headers.clone();
    assert!(headers(&taken.items[0]).is_empty());
    let accept = headers(&taken.items[1]);
    assert_eq!(
        accept.get("accept").and_then(|it| it.as_text()),
        Some("text/turtle")
    );
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        [
            "a.cdxj:3 request",
            "a.cdxj:4 request",
            "a.cdxj:5 request",
            "a.cdxj:6 request",
            "a.cdxj:7 truncated",
            "a.cdxj:8 truncated",
            "a.cdxj:9 status"
        ]
    );
}

#[test]
fn cut_bodies_promise_nothing_and_variants_keep_their_headers() {
    let capture = |more: &str, block: &str| {
        let date = "2026-11-21T10:30:00Z";
        record("response", "http://a.test/", date, more, block.as_bytes())
    };
    for block in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        let (taken, _) = warc(&[capture("", block)]);
        assert_eq!(taken.items, [], "{block:?}");
        assert_eq!(taken.codes(NoticeSeverity::LeftOut).len(), 1, "{block:?}");
    }
    for block in [
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\r\nContent-Length: 4\r\r\n\r\r\nbody",
    ] {
        let (taken, _) = warc(&[capture("", block)]);
        assert_eq!(promise(&taken.items[0]), (4, sha256(b"body").as_str()));
    }
    let turtle = "WARC-Vary: accept: text/turtle\r\nWARC-Vary: accept-language: de\r\n";
    let (taken, _) = warc(&[capture(turtle, "HTTP/1.1 200 OK\r\n\r\nbody")]);
    let headers = taken.items[0].record.request_headers.iter();
    let headers: Vec<_> = headers
        .map(|(name, value)| (name, value.as_text().unwrap()))
        .collect();
    assert_eq!(
        headers,
        [("accept", "text/turtle"), ("accept-language", "de")]
    );
}
