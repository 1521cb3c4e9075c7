//! The captures that count: of exactly the URL, as answers to GET, with whole bodies, and with the originals of
//! revisits.

use urldb_warc::Digest;

use crate::archive_foreign::{HTTP, archive, id, record, response, sha1};
use crate::sandbox::{Sandbox, assert_has, assert_lacks};

const URL: &str = "http://example.test/page";

/// A response with this block.
fn stored(n: u8, uri: &str, block: &str) -> String {
    record("response", n, uri, &[HTTP], block)
}

fn request(n: u8, uri: &str, method: &str) -> String {
    let block = format!("{method} / HTTP/1.1\r\n\r\n");
    record("request", n, uri, &[], &block)
}

/// A revisit with the date `n`, of which these fields name the original.
fn revisit(n: u8, uri: &str, fields: &[(&str, &str)]) -> String {
    let profile = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest";
    let fields = [&[("WARC-Profile", profile)], fields].concat();
    record("revisit", n, uri, &fields, "")
}

/// The bytes of the URL, and the warnings.
fn get(sandbox: &Sandbox, url: &str) -> (String, String) {
    let ran = sandbox.ok(&["archive", "get", url]);
    (ran.out.clone(), ran.err.clone())
}

#[test]
fn a_whole_capture_comes_before_a_later_one_that_is_cut() {
    let long = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 1744\r\n\r\n{}",
        "x".repeat(700)
    );
    for block in [
        long.as_str(),
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nwhole\r\n0\r\n\r\n",
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\n\r\nwhole",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
    ] {
        let cut = stored(2, URL, block);
        let sandbox = archive(&[("a.warc", response(1, URL, "whole") + &cut)]);
        let index = sandbox.index();
        assert_has(&index, r#""truncated": "unspecified""#);
        // The index of another program does not say it.
        for index in [index.replace(r#", "truncated": "unspecified""#, ""), index] {
            sandbox.write_index(index);
            let (bytes, warnings) = get(&sandbox, URL);
            assert_eq!(bytes, "whole", "{block:?}");
            assert_has(
                &warnings,
                "of the capture of 2026-01-02T00:00:00Z the archive has only the beginning",
            );
            let ran = sandbox.exits(2, &["archive", "diff", URL]);
            ran.complains("cannot say whether");
        }
        let sandbox = archive(&[("a.warc", cut)]);
        let ran = sandbox.exits(2, &["archive", "get", URL]);
        assert_eq!(ran.out, "");
        ran.complains("never captured whole");
        sandbox
            .ok(&["archive", "get", URL, "--any"])
            .complains("only the beginning");
    }
}

#[test]
fn heads_are_no_part_of_the_bytes() {
    for block in [
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole",
        "HTTP/1.1 200 OK\r\r\nContent-Length: 5\r\r\n\r\r\nwhole",
    ] {
        let sandbox = archive(&[("a.warc", stored(1, URL, block))]);
        assert_eq!(get(&sandbox, URL).0, "whole", "{block:?}");
    }
}

#[test]
fn an_answer_to_another_request_is_not_what_get_gives() {
    let empty = "HTTP/1.1 200 OK\r\n\r\n";
    for method in ["HEAD", "POST", "PUT"] {
        let file = [
            response(1, URL, "whole"),
            stored(3, URL, empty),
            request(2, URL, method),
        ];
        let sandbox = archive(&[("a.warc", file.concat())]);
        assert_eq!(get(&sandbox, URL).0, "whole", "{method}");
        sandbox.ok("archive verify");
        let ran = sandbox.ok(&["archive", "get", URL, "--method", method]);
        assert_eq!(ran.out, "");
        sandbox.ok(&["archive", "diff", URL]).says("never changed");
        // Another program may have the line under the key of the URL.
        let line = |line: &&str| line.contains("20260103");
        let index = sandbox.index();
        let other = index.lines().find(line).unwrap();
        let key = index.lines().find(|it| !line(it)).unwrap();
        let key = key.split(' ').next().unwrap();
        let moved = format!("{key} {}", other.split_once(' ').unwrap().1);
        sandbox.write_index(index.replace(other, &moved));
        assert_eq!(get(&sandbox, URL).0, "whole", "{method}");
    }
}

#[test]
fn urls_with_one_key_are_different_urls() {
    let (one, other) = ("https://www3288.com/", "https://www504778.com/");
    let sandbox = archive(&[("a.warc", response(1, one, "one"))]);
    for command in ["get", "diff", "list"] {
        let ran = sandbox.exits(2, &["archive", command, other]);
        assert_eq!(ran.out, "");
        ran.complains(
            "https://www504778.com/ is not in the archive; did you mean https://www3288.com/?",
        );
    }
    sandbox.exits(2, &["archive", "get", "http://www3288.com/"]);
    // Another spelling of the URL is the same one.
    assert_eq!(get(&sandbox, "https://WWW3288.com:443").0, "one");
    let port = "http://example.test:8080/a";
    let ported = archive(&[("a.warc", response(1, port, "port"))]);
    assert_eq!(get(&ported, "HTTP://EXAMPLE.test:8080/a").0, "port");
    ported.exits(2, &["archive", "get", "http://example.test/a"]);
    let both = [response(1, one, "one"), response(2, other, "other")].concat();
    let sandbox = archive(&[("a.warc", both)]);
    assert_eq!(get(&sandbox, one).0, "one");
    sandbox.ok(&["archive", "diff", one]).says("never changed");
    sandbox
        .exits(
            2,
            &["archive", "export", "--wacz", "x.wacz", "https://www1.com/"],
        )
        .complains("not in the archive");
    sandbox
        .ok(&["archive", "export", "--wacz", "one.wacz", one])
        .says("1 capture");
    // A promise of one is none of the other.
    sandbox.write(
        "urldb/www504778.com.yaml",
        "---\nhttp: false\nhttps: true\n---\n_path: /\ncontent-length: 3\n",
    );
    let ran = sandbox.exits(1, "archive export --bagit bag");
    ran.says("exported 0 of 1 static record");
}

#[test]
fn get_and_verify_find_the_same_originals() {
    let of_body = sha1("whole");
    let (sha256, _) = Digest::sha256_of(&b"whole"[..]).unwrap();
    let (sha256, bare) = (
        sha256.to_string(),
        record("response", 1, URL, &[HTTP], "HTTP/1.1 200 OK\r\n\r\nwhole"),
    );
    let (bracketed, date) = (format!("<{URL}>"), "2026-01-01T00:00:00Z");
    let uri = ("WARC-Refers-To-Target-URI", bracketed.as_str());
    let date = ("WARC-Refers-To-Date", date);
    let original = id(1);
    for (original, fields) in [
        (
            response(1, URL, "whole"),
            vec![uri, date, ("WARC-Payload-Digest", &*of_body)],
        ),
        (response(1, URL, "whole"), vec![uri, date]),
        (
            response(1, URL, "whole"),
            vec![("WARC-Refers-To", &*original)],
        ),
        (
            response(1, URL, "whole"),
            vec![uri, date, ("WARC-Payload-Digest", &*sha256)],
        ),
        (
            bare.clone(),
            vec![uri, date, ("WARC-Payload-Digest", &*sha256)],
        ),
        (bare, vec![uri, date]),
    ] {
        // The last response is not the original.
        let file = [
            original,
            response(2, URL, "other"),
            revisit(3, URL, &fields),
        ];
        let sandbox = archive(&[("a.warc", file.concat())]);
        assert_eq!(
            get(&sandbox, URL),
            ("whole".to_owned(), String::new()),
            "{fields:?}"
        );
        let ran = sandbox.urldb("archive verify");
        let words = format!("{}{}", ran.out, ran.err);
        for fault in ["another digest", "revisit-unresolved", "revisit-digest"] {
            assert_lacks(&words, fault);
        }
    }
    // A digest of another algorithm that the bytes do not have.
    let (other, _) = Digest::sha256_of(&b"other"[..]).unwrap();
    let other = other.to_string();
    let wrong = revisit(3, URL, &[uri, date, ("WARC-Payload-Digest", &*other)]);
    let sandbox = archive(&[("a.warc", response(1, URL, "whole") + &wrong)]);
    let (bytes, warnings) = get(&sandbox, URL);
    assert_eq!(bytes, "whole");
    assert_has(
        &warnings,
        &[
            "the capture of 2026-01-03T00:00:00Z has its bytes in that of",
            "which has other bytes; an older capture is taken",
        ],
    );
}

#[test]
fn a_revisit_that_lost_its_original_gives_way_to_an_older_capture() {
    let lost = sha1("lost");
    let fields = [
        ("WARC-Refers-To-Target-URI", URL),
        ("WARC-Refers-To-Date", "2026-01-02T00:00:00Z"),
        ("WARC-Payload-Digest", &*lost),
    ];
    let newest = revisit(3, URL, &fields);
    let sandbox = archive(&[("a.warc", response(1, URL, "whole") + &newest)]);
    let (bytes, warnings) = get(&sandbox, URL);
    assert_eq!(bytes, "whole");
    let says = [
        "the capture of 2026-01-03T00:00:00Z has its bytes in that of",
        "which is not in this archive; an older capture is taken",
    ];
    assert_has(&warnings, &says);
    // Nothing says that both are the same.
    sandbox
        .exits(2, &["archive", "diff", URL])
        .complains("cannot say whether it changed");
    // A length does not say that the older bytes are the promised ones.
    let promise = "---\n---\n_path: /page\ncontent-length: 5\n";
    sandbox.write("urldb/example.test.yaml", promise);
    let ran = sandbox.exits(1, "archive export --bagit bag");
    ran.complains("which is not in this archive");
    // The same if the file of the original is gone, which the index names.
    let files = [
        ("a.warc", response(1, URL, "whole") + &newest),
        ("b.warc", response(2, URL, "lost")),
    ];
    let sandbox = archive(&files);
    assert_eq!(get(&sandbox, URL).0, "lost");
    std::fs::remove_file(sandbox.path("archive/b.warc")).unwrap();
    let ran = sandbox.ok(&["archive", "get", URL]);
    assert_eq!(ran.out, "whole");
    ran.complains("b.warc");
}

#[test]
fn a_revisit_has_the_status_of_its_original() {
    let body = "HTTP/1.1 404 Not Found\r\n\r\ngone";
    let gone = record(
        "response",
        2,
        URL,
        &[HTTP, ("WARC-Payload-Digest", &sha1("gone"))],
        body,
    );
    let (sha256, _) = Digest::sha256_of(&b"gone"[..]).unwrap();
    let sha256 = sha256.to_string();
    let fields = |date| {
        [
            ("WARC-Refers-To-Target-URI", URL),
            ("WARC-Refers-To-Date", date),
            ("WARC-Payload-Digest", &*sha256),
        ]
    };
    let again = revisit(3, URL, &fields("2026-01-02T00:00:00Z"));
    let sandbox = archive(&[("a.warc", response(1, URL, "whole") + &gone + &again)]);
    assert_eq!(get(&sandbox, URL).0, "whole");
    // The same bytes with a digest of another algorithm are no other content.
    let again = revisit(3, URL, &fields("2026-01-01T00:00:00Z"));
    let sandbox = archive(&[("a.warc", response(1, URL, "gone") + &again)]);
    sandbox.ok(&["archive", "diff", URL]).says("never changed");
}

#[test]
fn an_import_promises_what_a_get_gives() {
    let turtle = [HTTP, ("WARC-Vary", "accept: text/turtle")];
    let page = "http://example.test/ns";
    let file = [
        response(1, URL, "whole"),
        stored(2, URL, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nwhole?"),
        stored(4, URL, "HTTP/1.1 200 OK\r\n\r\n"),
        request(3, URL, "HEAD"),
        response(5, page, "html"),
        record(
            "response",
            6,
            page,
            &turtle,
            "HTTP/1.1 200 OK\r\n\r\nturtle",
        ),
    ];
    let sandbox = archive(&[("a.warc", file.concat())]);
    let length = |body: &str| format!("content-length: {}\n", body.len());
    for list in ["warc archive/a.warc", "cdxj index.cdxj"] {
        sandbox.write("index.cdxj", sandbox.index());
        std::fs::copy(sandbox.path("archive/a.warc"), sandbox.path("a.warc")).unwrap();
        sandbox.ok(&format!("import {list}"));
        let text = sandbox.read("urldb/example.test.yaml");
        assert_has(
            &text,
            &[
                "vary:\n- accept\n",
                "request-headers:\n  accept: text/turtle\n",
            ],
        );
        for body in ["whole", "html", "turtle"] {
            assert_has(&text, &length(body));
        }
        assert_eq!(text.matches("content-length").count(), 3, "{text}");
        std::fs::remove_file(sandbox.path("urldb/example.test.yaml")).unwrap();
    }
}
