//! Stored heads and bodies, read as tolerantly as real files need it.

use std::io::Read;

use proptest::prelude::*;
use urldb_warc::http::{BodyFraming, StoredBody, StoredHead, StoredRequest};

fn head(text: &str) -> Option<StoredHead> {
    StoredHead::read(&mut text.as_bytes()).expect("in memory")
}

#[test]
fn unusual_heads_are_read() {
    for (text, status) in [
        ("HTTP/1.x 200 OK\r\n\r\n", 200),
        ("HTTP/1.1 204\r\n\r\n", 204),
        ("HTTP/1.0  301  Moved\n\n", 301),
        ("ICY 200 OK\r\n\r\n", 200),
        ("HTTP/2 404\r\nno field\r\nA: b\r\n\r\n", 404),
    ] {
        assert_eq!(head(text).map(|head| head.status), Some(status), "{text:?}");
    }
    for text in [
        "",
        "\r\n\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n",
    ] {
        assert_eq!(head(text), None, "{text:?}");
    }
    let folded = head("HTTP/1.1 200 OK\r\nA: one\r\n  two\r\nB:3\r\n : \r\n\r\n").expect("a head");
    assert_eq!(folded.get("a"), Some(&b"one two"[..]));
    assert_eq!(folded.get("b"), Some(&b"3 :"[..]));
    let chunked =
        head("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n").expect("a head");
    assert!(chunked.is_chunked() && !folded.is_chunked());
}

#[test]
fn a_request_is_read_with_its_body() {
    let mut text = &b"POST /x HTTP/1.1\nContent-Type:  text/plain\n\nbody"[..];
    let request = StoredRequest::read(&mut text)
        .expect("in memory")
        .expect("a request");
    assert_eq!(
        (request.method.as_str(), request.content_type.as_str()),
        ("POST", "text/plain")
    );
    assert_eq!(request.body, b"body");
}

fn body(bytes: &[u8], chunked: bool, piece: usize) -> (Vec<u8>, Option<BodyFraming>) {
    let input = std::io::BufReader::with_capacity(piece, bytes);
    let mut body = StoredBody::new(input, chunked);
    let mut content = Vec::new();
    body.read_to_end(&mut content).expect("in memory");
    (content, body.framing())
}

#[test]
fn chunks_are_joined_and_what_has_none_stays() {
    for (bytes, content, framing) in [
        (
            "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: 1\r\n\r\n",
            "abcdefg",
            BodyFraming::Chunked,
        ),
        ("3\nabc\n0\n\n", "abc", BodyFraming::Chunked),
        ("0003  \r\nabc\r\n0\r\n\r\n", "abc", BodyFraming::Chunked),
        ("3\r\nabc\r\n", "abc", BodyFraming::Broken),
        ("3\r\nabcdef", "abc", BodyFraming::Broken),
        ("3\r\nabc\r\nx", "abc", BodyFraming::Broken),
        ("5\r\nabc", "abc", BodyFraming::Broken),
        ("<!doctype html>", "<!doctype html>", BodyFraming::Plain),
        ("a page of text", "a page of text", BodyFraming::Broken),
        ("abcdef", "abcdef", BodyFraming::Plain),
        (
            "00000000000000000000",
            "00000000000000000000",
            BodyFraming::Plain,
        ),
        ("", "", BodyFraming::Plain),
    ] {
        for piece in [1, 2, 7, 100] {
            let (found, how) = body(bytes.as_bytes(), true, piece);
            if bytes == "a page of text" {
                // It could be a chunk; there is no telling.
                assert_eq!(how, Some(framing));
                continue;
            }
            assert_eq!(
                (found.as_slice(), how),
                (content.as_bytes(), Some(framing)),
                "{bytes:?}"
            );
        }
        let plain = body(bytes.as_bytes(), false, 5);
        assert_eq!(plain, (bytes.as_bytes().to_vec(), Some(BodyFraming::Plain)));
    }
}

proptest! {
    #[test]
    fn any_chunks_come_back(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..8), piece in 1..40usize) {
        let mut bytes = Vec::new();
        for chunk in &chunks {
            bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        prop_assert_eq!(body(&bytes, true, piece), (chunks.concat(), Some(BodyFraming::Chunked)));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1..40usize) {
        let _ = StoredHead::read(&mut bytes.as_slice()).expect("in memory");
        let _ = StoredRequest::read(&mut bytes.as_slice()).expect("in memory");
        let (content, _) = body(&bytes, true, piece);
        prop_assert!(content.len() <= bytes.len());
    }

    #[test]
    fn no_head_makes_it_panic(text in r"HTTP/1\.1 [0-9]{3}(\r?\n[ :a-c]{0,9}){0,9}\r\n\r\n") {
        prop_assert!(head(&text).is_some());
    }
}
