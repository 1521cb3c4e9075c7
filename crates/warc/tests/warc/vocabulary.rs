use proptest::prelude::*;
use urldb_warc::draft::{Exchange, TruncationReason, warcinfo};
use urldb_warc::http::{
    HttpVersion, InvalidHttpHead, ResponseHead, StoredHead, render_request_head,
};
use urldb_warc::{Digest, DigestAlgorithm, RecordId, RecordType, WarcDate};

use crate::common::{BODY, URL, date, drafts, fields, id, original};

#[test]
fn digests_compare_decoded() {
    let hex = "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"
        .parse::<Digest>()
        .expect("a digest");
    assert_eq!(hex.to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
    for text in [
        "SHA-1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj",
        "sha1=3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        "sha-1/DA39A3EE5E6B4B0D3255BFEF95601890AFD80709",
    ] {
        assert_eq!(text.parse(), Ok(hex.clone()), "{text}");
    }
    let empty = Digest::sha256_of(&b""[..]).expect("in memory").0;
    assert_eq!(
        empty.to_string(),
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert_eq!(
        "SHA-256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ====".parse(),
        Ok(empty)
    );
    for text in [
        "",
        "sha256:",
        "md5:d41d8cd98f00b204e9800998ecf8427e",
        "sha1:0",
        "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBY1",
        "sha256:é",
    ] {
        text.parse::<Digest>().expect_err(text);
    }
}

#[test]
fn dates_keep_their_text() {
    let fraction = date("2024-02-29T23:59:60.123456789Z");
    assert_eq!(fraction.as_str(), "2024-02-29T23:59:60.123456789Z");
    assert_eq!(fraction.to_timestamp14(), "20240229235960");
    for text in [
        "",
        "2026",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567890Z",
        "2026-01-01T00:00:00+00:00",
        "2026-01-01 00:00:00Z",
        "２026-01-01T00:00:0Z",
    ] {
        text.parse::<WarcDate>().expect_err(text);
    }
}

#[test]
fn record_ids_are_version_4() {
    assert_eq!(
        RecordId::from_random([0xff; 16]).as_str(),
        "urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff"
    );
    assert_eq!(
        RecordId::from_random([0; 16]).bracketed(),
        "<urn:uuid:00000000-0000-4000-8000-000000000000>"
    );
    assert_eq!(id(1).bracketed().parse(), Ok(id(1)));
    for text in ["", "<>", "no-scheme", "urn:a\r\nb", "<urn:a>b>"] {
        text.parse::<RecordId>().expect_err(text);
    }
}

fn render(status: u16, own: &[(&str, &str)], body_length: u64) -> Result<String, InvalidHttpHead> {
    let fields = fields(own);
    let head = ResponseHead {
        version: HttpVersion::Http11,
        status,
        reason: "OK",
        fields: &fields,
        body_length,
    };
    head.render()
        .map(|head| String::from_utf8(head).expect("text"))
}

#[test]
fn a_stored_head_fits_the_stored_body() {
    let chunked = render(
        200,
        &[
            ("transfer-encoding", "chunked"),
            ("Content-Encoding", "gzip"),
        ],
        5,
    );
    assert_eq!(
        chunked.expect("valid"),
        "HTTP/1.1 200 OK\r\nX-Archive-Orig-transfer-encoding: chunked\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n"
    );
    let good = render(200, &[("Content-Length", "5"), ("ETag", "\"a\"")], 5);
    assert_eq!(
        good.expect("valid"),
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n"
    );
    let cut = render(200, &[("Content-Length", "99"), ("content-length", "5")], 5);
    assert_eq!(
        cut.expect("valid"),
        "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Length: 99\r\ncontent-length: 5\r\n\r\n"
    );
    assert_eq!(
        render(304, &[], 0).expect("valid"),
        "HTTP/1.1 304 OK\r\n\r\n"
    );
}

#[test]
fn heads_cannot_be_injected_into() {
    for (name, value) in [
        ("A", "b\r\nC: d"),
        ("A", "b\nc"),
        ("A", "b\0"),
        ("A:", "b"),
        ("A\r\nB", "c"),
        ("", "b"),
    ] {
        render(200, &[(name, value)], 0).expect_err(name);
        render_request_head("GET", "/", &fields(&[(name, value)])).expect_err(name);
    }
    render(99, &[], 0).expect_err("status");
    for (reason, good) in [
        ("All\tfine \u{85} é", true),
        ("a\r\nB: c", false),
        ("\0", false),
    ] {
        let head = ResponseHead {
            version: HttpVersion::Http11,
            status: 200,
            reason,
            fields: &[],
            body_length: 0,
        };
        assert_eq!(head.render().is_ok(), good, "{reason:?}");
    }
    for (method, target) in [
        ("GE T", "/"),
        ("GET\r\n", "/"),
        ("GET", "/ HTTP/1.0"),
        ("GET", "/\r\nA: b"),
    ] {
        render_request_head(method, target, &[]).expect_err(target);
    }
}

/// The header of a record, one field a line.
fn header(draft: &urldb_warc::RecordDraft) -> String {
    draft
        .header
        .iter()
        .map(|(name, value)| [name, ": ", value, "\n"].concat())
        .collect()
}

#[test]
fn a_revisit_names_its_original() {
    let drafts = drafts();
    let (revisit, _) = &drafts[3];
    assert!(revisit.head.is_empty());
    let expected = format!(
        "WARC-Type: revisit\n\
         WARC-Record-ID: <urn:uuid:04040404-0404-4404-8404-040404040404>\n\
         WARC-Date: 2026-11-21T06:00:00Z\n\
         WARC-Target-URI: https://data.example.org/catalogue.csv\n\
         WARC-IP-Address: 192.0.2.7\n\
         WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\n\
         WARC-Payload-Digest: {}\n\
         WARC-Refers-To: <urn:uuid:02020202-0202-4202-8202-020202020202>\n\
         WARC-Refers-To-Target-URI: https://data.example.org/catalogue.csv\n\
         WARC-Refers-To-Date: 2026-11-20T06:00:00.123456Z\n",
        original().payload_digest
    );
    assert_eq!(header(revisit), expected);
}

#[test]
fn drafts_say_what_they_are() {
    let when = date("2026-11-20T06:00:00Z");
    let exchange = Exchange {
        target_uri: URL,
        date: &when,
        ip_address: None,
        protocols: &[],
    };
    let cut = exchange.response(
        &id(1),
        b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
        &original().payload_digest,
        Some(TruncationReason::Length),
    );
    let mut cut = cut.expect("valid");
    assert_eq!(cut.header.get("WARC-Truncated"), Some("length"));
    assert_eq!(
        cut.header.get("Content-Type"),
        Some("application/http;msgtype=response")
    );

    cut.add_block_digest(DigestAlgorithm::Sha256, BODY)
        .expect("in memory");
    let block = [b"HTTP/1.1 200 OK\r\n\r\n", BODY].concat();
    let expected = Digest::sha256_of(block.as_slice())
        .expect("in memory")
        .0
        .to_string();
    assert_eq!(cut.header.get("WARC-Block-Digest"), Some(expected.as_str()));

    let with_head =
        exchange.revisit_identical(&id(1), &original(), b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    assert_eq!(
        with_head.expect("valid").header.get("WARC-Truncated"),
        Some("length")
    );

    let not_modified = exchange
        .revisit_not_modified(&id(1), &original())
        .expect("valid");
    assert_eq!(not_modified.head, b"");
    assert_eq!(
        header(&not_modified),
        "WARC-Type: revisit
WARC-Record-ID: <urn:uuid:01010101-0101-4101-8101-010101010101>
WARC-Date: 2026-11-20T06:00:00Z
WARC-Target-URI: https://data.example.org/catalogue.csv
WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified
WARC-Payload-Digest: sha256:411f2718a55e96e8c3e1d936fd6588faa8eb8bab9e7e12ff4540d8973c703638
WARC-Refers-To: <urn:uuid:02020202-0202-4202-8202-020202020202>
WARC-Refers-To-Target-URI: https://data.example.org/catalogue.csv
WARC-Refers-To-Date: 2026-11-20T06:00:00.123456Z
"
    );
    let head = b"HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n";
    let beside = exchange
        .not_modified_head(&id(2), &id(1), head)
        .expect("valid");
    assert_eq!(
        beside.head,
        b"status-line: HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n"
    );
    assert_eq!(
        beside.header.get("WARC-Concurrent-To"),
        Some(id(1).bracketed().as_str())
    );
    assert_eq!(
        beside.header.get("Content-Type"),
        Some("application/warc-fields")
    );

    let about = exchange
        .metadata(&id(2), Some(&id(1)), &[("state", "ok")])
        .expect("valid");
    assert_eq!(about.header.record_type(), Some(RecordType::Metadata));
    assert_eq!(about.head, b"state: ok\r\n");
    exchange
        .metadata(&id(2), Some(&id(1)), &[("state", "ok\r\nforged: yes")])
        .expect_err("injected");
    warcinfo(&id(1), &when, "a\r\nb", &[]).expect_err("injected");
    Exchange {
        target_uri: "http://a/\r\nX: y",
        ..exchange
    }
    .request(&id(1), &id(2), vec![])
    .expect_err("injected");
}

proptest! {
    #[test]
    fn any_head_that_is_written_is_read(
        own in prop::collection::vec(("[A-Za-z-]{1,9}|.*", prop::collection::vec(any::<u8>(), 0..20)), 0..6),
        status in 0..1100u16,
        reason in ".*",
        body_length in any::<u64>(),
    ) {
        let head = ResponseHead { version: HttpVersion::Http11, status, reason: &reason, fields: &own, body_length };
        let Ok(bytes) = head.render() else { return Ok(()) };
        let input = [bytes.as_slice(), b"body"].concat();
        let mut rest = input.as_slice();
        let read = StoredHead::read(&mut rest).expect("in memory").expect("a head");
        prop_assert_eq!(rest, b"body");
        prop_assert_eq!(read.status, status);
        prop_assert!(read.fields.len() >= own.len() && read.fields.len() <= own.len() + 1);
        for ((name, value), (found, found_value)) in own.iter().zip(&read.fields) {
            prop_assert!(found == name || found.starts_with("X-Archive-Orig-"));
            prop_assert_eq!(value.trim_ascii(), found_value.as_slice());
        }
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in ".*", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (text.parse::<Digest>(), text.parse::<WarcDate>(), text.parse::<RecordId>());
        let _ = StoredHead::read(&mut bytes.as_slice());
        if let Ok(digest) = text.parse::<Digest>() {
            prop_assert_eq!(digest.to_string().parse(), Ok(digest));
        }
    }

    #[test]
    fn any_digest_comes_back(bytes: [u8; 32], sha1 in "[a-z2-7]{32}|[0-9a-fA-F]{40}") {
        let digest = Digest::sha256(bytes);
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
        let sha1: Digest = format!("sha1:{sha1}").parse().expect("a digest");
        prop_assert_eq!(sha1.to_string().parse(), Ok(sha1));
    }
}
