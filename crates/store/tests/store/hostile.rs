//! A server that lies, or tries to take memory, secrets or other servers.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use urldb_store::{Store, StoreErrorKind, StoreOptions, StoredFile};

use crate::fake_s3::FakeS3;
use crate::{SECRET, bytes, options, put, store};

fn stored(server: &FakeS3) -> StoredFile {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("a.warc.gz"), bytes(100_000, 1)).expect("written");
    put(&store(server), dir.path(), &["a.warc.gz"], &[]).expect("written");
    let manifest = store(server).manifest().expect("there");
    manifest.get("a.warc.gz").expect("there")
}

const KEY: &str = "project/archive/a.warc.gz";
const MANIFEST: &str = "project/archive/manifest.json";

#[test]
fn other_bytes_than_the_manifest_says_are_refused() {
    let server = FakeS3::start();
    let file = stored(&server);
    let good = server.object(KEY).expect("there");
    let mut flipped = good.clone();
    flipped[50_000] ^= 1;
    let longer = [good.as_slice(), b"x"].concat();
    for bad in [&flipped[..], &longer[..], &good[1..], b""] {
        server.set(KEY, bad);
        let error = store(&server)
            .download(&file, &mut Vec::new())
            .expect_err("other bytes");
        assert!(
            matches!(
                error.kind(),
                StoreErrorKind::Damaged | StoreErrorKind::Refused
            ),
            "{error}"
        );
        assert!(error.to_string().contains("a.warc.gz"), "{error}");
    }
    server.remove(KEY);
    let error = store(&server)
        .download(&file, &mut Vec::new())
        .expect_err("gone");
    assert_eq!(error.kind(), StoreErrorKind::Missing, "{error}");
}

#[test]
fn a_bad_manifest_is_never_replaced() {
    let server = FakeS3::start();
    stored(&server);
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("b.warc.gz"), "b").expect("written");
    for bad in [
        &b""[..],
        b"{",
        br#"{"format": "urldb-archive-9"}"#,
        br#"{"format": "urldb-archive-2", "serial": 1, "files": [{"name": "../../etc/passwd", "length": 1, "sha256": ""}], "removed": {}, "lost": []}"#,
    ] {
        server.set(MANIFEST, bad);
        let error = store(&server).manifest().expect_err("bad");
        assert_eq!(error.kind(), StoreErrorKind::Damaged, "{error}");
        let error = put(&store(&server), dir.path(), &["b.warc.gz"], &[]).expect_err("bad");
        assert_eq!(error.kind(), StoreErrorKind::Damaged, "{error}");
        assert_eq!(server.object(MANIFEST).as_deref(), Some(bad));
    }
}

#[test]
fn no_length_that_the_server_says_is_believed() {
    let server = FakeS3::start();
    let file = stored(&server);
    let mut options = options(&server);
    options.budgets.manifest.requests = 2;
    options.budgets.file.requests = 2;
    let store = Store::open(&options).expect("set up");
    let date = "Last-Modified: Sun, 22 Nov 2026 06:00:00 GMT";
    // More than a process can have: a buffer of this length would end it.
    let largest = format!(
        "HTTP/1.1 200 OK\r\nETag: \"x\"\r\n{date}\r\nContent-Length: 1000000000000000\r\n\r\n{}",
        "x".repeat(1 << 20)
    );
    for answer in [
        largest.into_bytes(),
        b"HTTP/1.1 206 OK\r\nContent-Range: bytes 0-18446744073709551615/9\r\nContent-Length: 1\r\n\r\nx".to_vec(),
        b"no HTTP at all\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx".to_vec(),
    ] {
        let shown = String::from_utf8_lossy(&answer[..40.min(answer.len())]).into_owned();
        server.answer(move |_| Some(answer.clone()));
        assert!(store.manifest().is_err(), "{shown}");
        assert!(store.range(&file, 0, 100_000).is_err(), "{shown}");
    }
}

#[test]
fn a_longer_object_is_read_to_the_length_of_its_entry() {
    let server = FakeS3::start();
    let file = stored(&server);
    let length = file.length;
    // The server says that the length is right, and sends bytes without end.
    server.answer(move |_| {
        let head = format!(
            "HTTP/1.1 206 Part\r\nETag: \"x\"\r\nLast-Modified: Sun, 22 Nov 2026 06:00:00 GMT\r\n\
             Content-Range: bytes 0-{}/{length}\r\n\r\n",
            length - 1
        );
        Some([head.into_bytes(), vec![0; 64 << 20]].concat())
    });
    let mut copy = vec![];
    let error = store(&server)
        .download(&file, &mut copy)
        .expect_err("longer");
    assert_eq!(error.kind(), StoreErrorKind::Damaged, "{error}");
    assert!(copy.len() as u64 <= length, "{}", copy.len());
}

#[test]
fn a_damaged_manifest_is_named_with_a_remedy() {
    let server = FakeS3::start();
    stored(&server);
    let good = server.object(MANIFEST).expect("there");
    server.set(MANIFEST, &good[..good.len() / 2]);
    let error = store(&server).manifest().expect_err("cut off").to_string();
    for text in [
        "manifest.json in s3://evidence/project/archive",
        "the list of the archive's files is damaged",
        "`urldb archive repair` mends it",
    ] {
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_manifest_has_a_limit() {
    let server = FakeS3::start();
    stored(&server);
    let good = String::from_utf8(server.object(MANIFEST).expect("there")).expect("text");
    let of = |length: usize| good.clone() + &" ".repeat(length - good.len());
    server.set(MANIFEST, of(16 << 20).as_bytes());
    store(&server).manifest().expect("within the limit");
    server.set(MANIFEST, of((16 << 20) + 1).as_bytes());
    let error = store(&server).manifest().expect_err("too long");
    assert!(
        error.to_string().contains("ended after 16777216 bytes"),
        "{error}"
    );
}

fn answer_of(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

#[test]
fn a_page_of_a_list_has_a_limit() {
    let server = FakeS3::start();
    for (length, is_good) in [(8 << 20, true), ((8 << 20) + 1, false)] {
        let blanks = " ".repeat(length - "<ListBucketResult></ListBucketResult>".len());
        let body = format!("<ListBucketResult>{blanks}</ListBucketResult>");
        server.answer(move |_| Some(answer_of(&body)));
        assert_eq!(store(&server).list(1).is_ok(), is_good, "{length}");
    }
}

/// S3 sends its status before the parts are joined.
#[test]
fn a_failure_may_have_a_good_status() {
    let server = FakeS3::start();
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("large"), bytes((8 << 20) + 1, 1)).expect("written");
    let mut failures = 0;
    server.answer(move |seen| {
        failures += usize::from(seen.method == "POST" && seen.target.contains("uploadId"));
        let is_it = seen.method == "POST" && seen.target.contains("uploadId") && failures == 1;
        is_it.then(|| answer_of("<Error><Code>InternalError</Code></Error>"))
    });
    put(&store(&server), dir.path(), &["large"], &[]).expect("repeated");
}

#[test]
fn a_redirect_is_not_followed() {
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address");
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in other.incoming().flatten() {
            counter.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let server = FakeS3::start();
    server.answer(move |_| {
        let head =
            format!("HTTP/1.1 307 Go\r\nLocation: http://{address}/x\r\nContent-Length: 0\r\n\r\n");
        Some(head.into_bytes())
    });
    let error = store(&server).manifest().expect_err("redirected");
    assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_store_without_conditions_is_refused() {
    let server = FakeS3::start();
    server.ignore_conditions();
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("a.warc.gz"), "a").expect("written");
    let store = store(&server);
    // A writer asks before it uploads anything.
    let asked = store.prepare().expect_err("unsafe");
    let published = put(&store, dir.path(), &["a.warc.gz"], &[]).expect_err("unsafe");
    for error in [asked, published] {
        assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
        assert!(error.to_string().contains("If-None-Match"), "{error}");
    }
    assert_eq!(server.object(MANIFEST), None);
}

#[test]
fn secrets_and_control_characters_are_in_no_message() {
    let server = FakeS3::start();
    let body = format!("<Error><Code>{SECRET}\u{1b}[2J</Code></Error>");
    server.answer(move |_| {
        let head = format!(
            "HTTP/1.1 400 Bad\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Some(head.into_bytes())
    });
    let error = store(&server).manifest().expect_err("bad").to_string();
    assert!(
        !error.contains(SECRET) && !error.contains('\u{1b}'),
        "{error}"
    );
    assert!(!format!("{:?}", options(&server)).contains(SECRET));
}

#[test]
fn endpoints_must_be_safe() {
    let server = FakeS3::start();
    let with = |endpoint: &str, allow_http: bool| {
        let mut options = StoreOptions {
            endpoint: Some(endpoint.to_owned()),
            ..options(&server)
        };
        options.environment.allow_http = allow_http;
        Store::open(&options)
    };
    for bad in [
        "minio.example.org",
        "ftp://minio.example.org",
        "http://minio.example.org",
        "https://me:secret@minio.example.org",
    ] {
        let error = with(bad, false).expect_err(bad);
        assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert!(with("http://minio.example.org", true).is_ok());
    assert!(with("https://minio.example.org/", false).is_ok());
}
