//! Archives of other programs, taken out through the command line.

use std::fs;

use urldb_warc::{Digest, DigestAlgorithm};

use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, promises};

const URL: &str = "http://example.test/page";

pub(crate) const HTTP: (&str, &str) = ("Content-Type", "application/http; msgtype=response");

pub(crate) fn id(n: u8) -> String {
    format!("<urn:uuid:00000000-0000-4000-8000-0000000000{n:02}>")
}

pub(crate) fn sha1(bytes: impl AsRef<[u8]>) -> String {
    let (digest, _) = Digest::of(DigestAlgorithm::Sha1, bytes.as_ref()).unwrap();
    digest.to_string()
}

/// A record with these fields beside type and id; its date has its number as the day.
pub(crate) fn record(kind: &str, n: u8, uri: &str, fields: &[(&str, &str)], block: &str) -> String {
    let fields: String = fields
        .iter()
        .flat_map(|(name, value)| [name, ": ", value, "\r\n"])
        .collect();
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {}\r\nWARC-Date: 2026-01-{n:02}T00:00:00Z\r\n\
         WARC-Target-URI: {uri}\r\n{fields}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        id(n),
        block.len()
    )
}

pub(crate) fn response(n: u8, uri: &str, body: &str) -> String {
    let block = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
    let digest = sha1(body);
    record(
        "response",
        n,
        uri,
        &[HTTP, ("WARC-Payload-Digest", &digest)],
        &block,
    )
}

/// A repository with these archive files and an index of them.
pub(crate) fn archive(files: &[(&str, String)]) -> Sandbox {
    let sandbox = Sandbox::new("");
    for (name, text) in files {
        sandbox.write(&format!("archive/{name}"), text);
    }
    sandbox.ok("archive index");
    sandbox
}

fn get(sandbox: &Sandbox, url: &str) -> String {
    sandbox.ok(&["archive", "get", url]).out
}

#[test]
fn metadata_of_a_page_is_not_taken_for_the_page() {
    let metadata = |n, kind: &str| {
        record(
            "metadata",
            n,
            URL,
            &[("Content-Type", kind)],
            "via: http://other.test/",
        )
    };
    let file = [
        response(1, URL, "old page"),
        response(2, URL, "new page"),
        metadata(3, "text/anvl"),
        metadata(4, "application/json"),
        metadata(5, "text/xml"),
    ];
    let sandbox = archive(&[("a.warc", file.concat())]);
    assert_eq!(get(&sandbox, URL), "new page");
    sandbox.ok("archive list").says("2 captures, 2 contents");
    sandbox
        .exits(1, &["archive", "diff", URL])
        .says(&["-old page", "+new page"]);
    // An index of another program may have a line of the metadata.
    let index = sandbox.index();
    let offset = file[..2].concat().len();
    let line = format!(
        "test,example)/page 20260103000000 {{\"url\": \"{URL}\", \"mime\": \"text/anvl\", \
         \"digest\": \"-\", \"length\": \"9\", \"offset\": \"{offset}\", \"filename\": \"a.warc\"}}\n"
    );
    sandbox.write_index(index + &line);
    sandbox
        .exits(2, &["archive", "get", URL])
        .complains("is another record than the index says");
}

fn segments() -> [String; 3] {
    let digest = sha1("all of the body");
    let first = [
        HTTP,
        ("WARC-Payload-Digest", &digest),
        ("WARC-Segment-Number", "1"),
    ];
    let origin = id(1);
    let next = |number, more: &[(&'static str, &'static str)]| {
        let mut fields = vec![("WARC-Segment-Origin-ID", origin.clone())];
        fields.push(("WARC-Segment-Number", String::from(number)));
        fields.extend(
            more.iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        fields
    };
    let continuation = |n, fields: Vec<(&str, String)>, block| {
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, it)| (*name, it.as_str()))
            .collect();
        record("continuation", n, URL, &fields, block)
    };
    [
        record("response", 1, URL, &first, "HTTP/1.1 200 OK\r\n\r\nall of"),
        continuation(2, next("2", &[]), " the"),
        continuation(
            3,
            next("3", &[("WARC-Segment-Total-Length", "34")]),
            " body",
        ),
    ]
}

#[test]
fn segments_are_joined() {
    let [first, second, third] = segments();
    let old = response(9, URL, "an older page").replace("2026-01-09", "2025-01-09");
    let sandbox = archive(&[
        ("a.warc", third),
        ("b.warc", [old, first].concat()),
        ("c.warc", second),
    ]);
    assert_eq!(get(&sandbox, URL), "all of the body");
    sandbox
        .exits(1, &["archive", "diff", URL])
        .says(&["-an older page", "+all of the body"]);
    sandbox.write(FILE, "---\n_path: /page\ncontent-length: 15\n");
    sandbox.ok("archive export --bagit bag");
    sandbox.assert_file("bag/data/example.test/page", "all of the body");
    // Without one of them the capture is incomplete, and an older one is taken.
    fs::remove_file(sandbox.path("archive/c.warc")).unwrap();
    let ran = sandbox.ok(&["archive", "get", URL]);
    assert_eq!(ran.out, "an older page");
    ran.complains("passed over 1 later capture");
    sandbox
        .exits(2, &["archive", "get", "--any", URL])
        .complains(&["segment 2 of urn:uuid:", "is not in the archive"]);
}

#[test]
fn a_wrong_block_digest_is_an_error_unless_the_user_takes_the_bytes() {
    let wrong = sha1("other bytes");
    let block = "HTTP/1.1 200 OK\r\n\r\nthe page";
    let fields = [HTTP, ("WARC-Block-Digest", wrong.as_str())];
    let sandbox = archive(&[("a.warc", record("response", 1, URL, &fields, block))]);
    sandbox.exits(2, &["archive", "get", URL]).complains(&[
        "the block has the digest",
        "`urldb archive get --unverified`",
    ]);
    sandbox.write(FILE, "---\n_path: /page\ncontent-length: 8\n");
    sandbox
        .exits(1, "archive export --bagit bag")
        .complains("the block has the digest");
    let ran = sandbox.ok(&["archive", "get", "--unverified", URL]);
    assert_eq!(ran.out, "the page");
    ran.complains("block-digest: the block has the digest");
}

#[test]
fn the_checksum_of_0_9_is_compared() {
    let block = "HTTP/1.1 200 OK\r\n\r\nthe page";
    let file = |checksum: &str| {
        let rest = format!(
            " response {URL} 20260101000000 message/http urn:x:1\r\nChecksum: {checksum}\r\n\r\n{block}"
        );
        format!(
            "warc/0.9 {}{rest}\r\n\r\n",
            "warc/0.9 123".len() + rest.len()
        )
    };
    assert_eq!(
        get(&archive(&[("a.warc", file(&sha1(block)))]), URL),
        "the page"
    );
    let sandbox = archive(&[("a.warc", file(&sha1("x")))]);
    sandbox
        .exits(2, &["archive", "get", URL])
        .complains("the block has the digest");
}

/// GNU Wget and warcio digest the body with its chunks.
#[test]
fn a_digest_over_the_chunks_is_accepted_and_named() {
    let raw = "4\r\nthe \r\n4\r\npage\r\n0\r\n\r\n";
    let block = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{raw}");
    let digest = sha1(raw);
    let fields = [HTTP, ("WARC-Payload-Digest", digest.as_str())];
    let sandbox = archive(&[("a.warc", record("response", 1, URL, &fields, &block))]);
    let ran = sandbox.ok(&["archive", "get", URL]);
    assert_eq!(ran.out, "the page");
    ran.complains(&[
        "payload-digest-raw: ",
        "is the digest of the body with its chunks",
    ]);
    // Any other digest is still an error.
    let wrong = sha1("the rage");
    let fields = [HTTP, ("WARC-Payload-Digest", wrong.as_str())];
    let sandbox = archive(&[("a.warc", record("response", 1, URL, &fields, &block))]);
    sandbox
        .exits(2, &["archive", "get", URL])
        .complains(&["the payload has the digest", "--unverified"]);
    let ran = sandbox.ok(&["archive", "get", "--unverified", URL, "-o", "page"]);
    assert_lacks(&ran.out, &wrong);
    sandbox.assert_file("page", "the page");
}

#[test]
fn a_uri_with_a_blank_is_found() {
    let sandbox = archive(&[(
        "a.warc",
        response(1, "http://example.test/a page", "the page"),
    )]);
    for url in ["http://example.test/a%20page", "http://example.test/a page"] {
        assert_eq!(get(&sandbox, url), "the page", "{url}");
    }
}

#[test]
fn a_revisit_of_0_9_is_found_by_the_id_of_its_original() {
    let part = |kind: &str, n: u8, field: &str, block: &str| {
        let rest =
            format!(" {kind} {URL} 2026010{n}000000 message/http urn:x:{n}\r\n{field}\r\n{block}");
        format!(
            "warc/0.9 {}{rest}\r\n\r\n",
            "warc/0.9 123".len() + rest.len()
        )
    };
    let file = [
        part(
            "response",
            1,
            "X-Number: first\r\n",
            "HTTP/1.1 200 OK\r\n\r\nthe first page",
        ),
        part(
            "response",
            2,
            "X-Number: second\r\n",
            "HTTP/1.1 200 OK\r\n\r\nthe second page",
        ),
        part("revisit", 3, "Related-Record-ID: urn:x:1\r\n", ""),
    ];
    let sandbox = archive(&[("a.warc", file.concat())]);
    assert_eq!(get(&sandbox, URL), "the first page");
}

/// The index goes on behind damage, and a person is told what it lacks and what to do.
#[test]
fn an_index_names_what_it_lacks() {
    let damaged = response(2, URL, "second").replace("Content-Length: ", "Content-Length: x");
    let undated = response(4, URL, "fourth").replace("2026-01-04", "2026-13-04");
    let file = [
        response(1, URL, "first"),
        damaged,
        response(3, URL, "third"),
        undated,
    ];
    let sandbox = Sandbox::new("");
    sandbox.write("archive/a.warc", file.concat());
    sandbox.write("archive/b.warc.lz4", "x");
    sandbox.exits(1, "archive index").complains(&[
        "a.warc: not in the index: the record at byte ",
        "which cannot be read: its Content-Length is missing",
        "whose WARC-Date is not a date: \"2026-13-04T00:00:00Z\"",
        "`urldb archive repair` sets aside what is damaged",
        "archive/b.warc.lz4: not in the index: the file is of a kind that is not read",
    ]);
    assert_eq!(get(&sandbox, URL), "third");
    sandbox
        .exits(1, "archive verify")
        .says(&["file-kind: ", "date: "]);
}

#[test]
fn a_record_with_a_bad_date_alone_needs_no_repair() {
    let undated = response(1, URL, "first").replace("2026", "20x6");
    let sandbox = Sandbox::new("");
    sandbox.write("archive/a.warc", undated);
    let ran = sandbox.exits(1, "archive index");
    let ran = ran.complains(&["WARC-Date is not a date", "nothing is damaged"]);
    assert_lacks(&ran.err, "archive repair");
    sandbox.ok("archive repair").says("no damage was found");
}

#[test]
fn an_import_goes_on_behind_damage() {
    let damaged = response(2, URL, "second").replace("Content-Length: ", "Content-Length: x");
    let third = response(3, "http://example.test/third", "third");
    let file = [
        response(1, URL, "first"),
        damaged,
        third,
        segments()[0].clone(),
    ];
    let sandbox = Sandbox::new("");
    sandbox.write("list.warc", file.concat());
    sandbox.urldb("import warc list.warc").complains(&[
        "the record cannot be read",
        "nothing was imported because of 1 refusal",
    ]);
    assert!(!sandbox.path(FILE).exists());
    let ran = sandbox.urldb("import warc list.warc --keep-going --verbose");
    ran.complains("captured in segments");
    let file = sandbox.read(FILE);
    assert_has(&file, &["_path: /page\n", "_path: /third\n"]);
}

/// A revisit is truncated like its original, also where the index states its status.
#[test]
fn a_revisit_of_half_a_body_is_marked() {
    let digest = sha1("half");
    let of = ("WARC-Payload-Digest", digest.as_str());
    let block = "HTTP/1.1 200 OK\r\n\r\nhalf";
    let fields = [HTTP, of, ("WARC-Truncated", "length")];
    let original = record("response", 1, URL, &fields, block);
    let date = ("WARC-Refers-To-Date", "2026-01-01T00:00:00Z");
    let revisit = |n, more: &[(&str, &str)], block| {
        record("revisit", n, URL, &[&[of, date], more].concat(), block)
    };
    let file = [
        original,
        revisit(2, &[], ""),
        // Only the head, so its own block is truncated.
        revisit(
            3,
            &[HTTP, ("WARC-Truncated", "time")],
            "HTTP/1.1 200 OK\r\n\r\n",
        ),
    ];
    let sandbox = archive(&[("a.warc", file.concat())]);
    let ran = sandbox.ok(&["archive", "list", URL]);
    assert_eq!(ran.out.matches("truncated: length").count(), 3, "{ran:?}");
    assert_eq!(ran.out.matches("  200  ").count(), 3, "{ran:?}");
}

/// An answer to a POST whose body is in chunks, and its request.
fn posted(n: u8, data: &str, answer: &str) -> String {
    let block = format!(
        "POST /page HTTP/1.1\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{data}\r\n0\r\n\r\n",
        data.len()
    );
    let kind = ("Content-Type", "application/http; msgtype=request");
    let fields = [kind, ("WARC-Concurrent-To", &id(n))];
    let request = record("request", n + 50, URL, &fields, &block);
    let on_day = |day| format!("2026-01-{day:02}T");
    response(n, URL, answer) + &request.replace(&on_day(n + 50), &on_day(n))
}

/// The first mebibyte of a request is read; a longer request is another one.
#[test]
fn long_requests_in_chunks_are_compared_to_their_end() {
    let mebibyte = "x".repeat(1 << 20);
    let longer = mebibyte.clone() + "y";
    let get = |sandbox: &Sandbox, data: &str| {
        sandbox.write("data", data);
        let data = ["--data", "@data", "--request-content-type", "text/plain"];
        sandbox.urldb(&[&["archive", "get", URL][..], &data].concat())
    };
    let both = posted(1, &mebibyte, "one") + &posted(2, &longer, "two");
    let sandbox = archive(&[("a.warc", both)]);
    assert_eq!(get(&sandbox, &mebibyte).code(0).out, "one");
    let sandbox = archive(&[("a.warc", posted(1, &longer, "two"))]);
    for data in [&mebibyte, &mebibyte[1..]] {
        get(&sandbox, data).code(2).complains("has no answer of");
    }
}

/// Other programs index SHA-1, other algorithms, or the digest of a body with its chunks.
#[test]
fn promised_bytes_are_exported_however_an_index_spells_digests() {
    let chunks = "7\r\nchunked\r\n0\r\n\r\n";
    let raw = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
    let (raw_digest, _) = Digest::sha256_of(chunks.as_bytes()).unwrap();
    let raw_digest = raw_digest.to_string();
    let with_digest = |n, uri: &str, digest: &str, block: &str| {
        let fields = [HTTP, ("WARC-Payload-Digest", digest)];
        record("response", n, uri, &fields, block)
    };
    let url = |path| format!("http://example.test/{path}");
    let other = "HTTP/1.1 200 OK\r\n\r\nmd5";
    let file = [
        response(1, &url("sha1"), "old"),
        response(2, &url("sha1"), "promised"),
        response(3, &url("sha1"), "new"),
        with_digest(
            4,
            &url("md5"),
            "md5:1bc29b36f623ba82aaf6724fd3b16718",
            other,
        ),
        with_digest(5, &url("chunks"), &raw_digest, &raw),
        response(6, "http://mirror.test/copy", "elsewhere"),
    ];
    let sandbox = archive(&[("a.warc", file.concat())]);
    let promised = [
        ("/chunks", "chunked"),
        ("/lost", "elsewhere"),
        ("/md5", "md5"),
        ("/sha1", "promised"),
    ];
    sandbox.write(FILE, promises(&promised));
    sandbox
        .exits(1, "archive export --bagit bag")
        .says("exported 3 of 4 static records")
        .complains(
            "not in the archive: http://example.test/lost; the index has no SHA-256 of 5 captures, \
             of which only those of this URL were compared",
        );
    for (path, content) in [promised[0], promised[2], promised[3]] {
        let name = format!("bag/data/example.test{path}");
        sandbox.assert_file(&name, &content);
    }
}

/// Another program made the archive, with a dictionary for all frames of a file.
#[test]
fn archives_in_zstd_are_read() {
    let stored = include_bytes!("../../crates/warc/tests/data/dict.warc.zst");
    let sandbox = Sandbox::new("");
    sandbox.write("archive/a.warc.zst", stored);
    sandbox.ok("archive index");
    let url = |number: u8| format!("http://example.test/{number}");
    let listed = sandbox.ok("archive list").out;
    assert!(
        (0..12).all(|number| listed.contains(&url(number))),
        "{listed}"
    );
    assert!(get(&sandbox, &url(5)).starts_with("Hello, this is page number 5 of an archive"));
    sandbox.ok("archive verify");
    // A package is for players, which read gzip alone.
    sandbox.exits(2, "archive export --wacz a.wacz").complains(
        "a.warc.zst is left out: players do not read zstd; `urldb archive export --warc`",
    );
    sandbox.ok("archive export --warc copy");
    assert!(sandbox.path("copy/a.warc.gz").exists());
    // What is damaged stays, and the rest is found.
    let mut damaged = stored.to_vec();
    let at = damaged.len() - 30;
    damaged[at] ^= 1;
    sandbox.write("archive/a.warc.zst", &damaged);
    sandbox.exits(1, "archive verify").says("zstd-data");
    sandbox
        .exits(1, "archive repair")
        .says("archive/a.warc.zst: damaged, and left as it is: urldb writes no zstd");
    assert_eq!(
        fs::read(sandbox.path("archive/a.warc.zst")).unwrap(),
        damaged
    );
    assert!(get(&sandbox, &url(5)).starts_with("Hello"));
}
