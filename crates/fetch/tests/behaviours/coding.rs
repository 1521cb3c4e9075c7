//! Content codings, which are never asked for.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use urldb_protocol::State;
use urldb_verdict::Warning;

use crate::behaviour::{
    Behaviour, CONTENT, DIGEST, Expected, changed, ok, proven, state, unreachable,
};
use crate::harness::MAX_BODY;
use crate::support::Reply;

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).expect("room");
    encoder.finish().expect("room")
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).expect("room");
    encoder.finish().expect("room")
}

fn deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).expect("room");
    encoder.finish().expect("room")
}

/// A response that says to be coded so.
fn coded(coding: &str, body: impl AsRef<[u8]>) -> Reply {
    Reply::new("200 OK", &[&format!("Content-Encoding: {coding}")], body)
}

/// The same in one chunk, and without the last one, which says that this was all.
fn in_one_chunk(coding: &str, body: &[u8]) -> Reply {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n",
        body.len()
    );
    Reply::raw([head.as_bytes(), body, b"\r\n"].concat())
}

/// As promised, once the coding is undone.
fn undone() -> Expected {
    ok(1).warning(Warning::ContentEncoded)
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = in_gzip();
    all.extend(in_damaged_gzip());
    all.extend(in_lists());
    all.extend(otherwise());
    all
}

fn in_lists() -> Vec<Behaviour> {
    let says = Behaviour::says;
    let in_two_lines = |first, second, body: Vec<u8>| {
        let headers = [first, second].map(|coding: &str| format!("Content-Encoding: {coding}"));
        Reply::new("200 OK", &[&headers[0], &headers[1]], body)
    };
    vec![
        says(
            "codings-in-two-lines",
            "compresses with gzip and then with a coding that we do not know, and says so in two headers",
            in_two_lines("gzip", "br", b"who knows".to_vec()),
        )
        .of(DIGEST)
        .unknown(unreachable("protocol", 3)),
        says(
            "gzip-and-identity-in-two-lines",
            "compresses with gzip, and says so after a header which says that nothing is coded",
            in_two_lines("identity", "gzip", gzip(CONTENT)),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "gzip-and-identity-in-a-list",
            "compresses with gzip, and says so in a list with no coding at all",
            coded("gzip, identity", gzip(CONTENT)),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "gzip-in-two-members",
            "compresses with gzip in two members",
            coded("gzip", [gzip(&CONTENT[..5]), gzip(&CONTENT[5..])].concat()),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "coding-that-is-none",
            "names a character encoding as the coding of the promised bytes",
            coded("UTF-8", CONTENT),
        )
        .kept(ok(1)),
        says(
            "coding-that-is-none-other",
            "names a character encoding as the coding of other bytes",
            coded("utf-8", "other"),
        )
        .of(DIGEST)
        .broken(changed("digest", 2)),
        says(
            "codings-that-are-none",
            "names several codings of mail and of uploads in place of one of the content",
            coded("binary, 8bit, none,, aws-chunked", "other"),
        )
        .of(DIGEST)
        .broken(changed("digest", 2)),
        says(
            "gzip-and-aws-chunked",
            "compresses with gzip, and names the framing of an upload too",
            coded("aws-chunked,gzip", gzip(CONTENT)),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "coding-not-utf-8",
            "says a coding that is not UTF-8",
            Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: b\xe9r\r\n\r\nother"),
        )
        .unknown(unreachable("protocol", 3)),
    ]
}

fn in_gzip() -> Vec<Behaviour> {
    let says = Behaviour::says;
    let bomb = vec![0; 2 << 20];
    vec![
        says(
            "gzip",
            "compresses the promised bytes with gzip",
            coded("gzip", gzip(CONTENT)),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "gzip-longer",
            "compresses the promised bytes with gzip, which makes them longer",
            coded("gzip", gzip(CONTENT)),
        )
        .kept(undone()),
        says(
            "gzip-x",
            "calls it `X-GZIP`",
            coded("X-GZIP", gzip(CONTENT)),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "gzip-without-last-chunk",
            "compresses the promised bytes with gzip and closes without the last chunk",
            in_one_chunk("gzip", &gzip(CONTENT)).close(),
        )
        .of(DIGEST)
        .kept(proven()),
        says(
            "gzip-other",
            "compresses other bytes with gzip",
            coded("gzip", gzip(b"other")),
        )
        .of(DIGEST)
        .broken(changed("digest", 2)),
        says(
            "gzip-in-name-only",
            "says gzip and sends the promised bytes as they are",
            coded("gzip", CONTENT),
        )
        .kept(ok(1)),
        says(
            "gzip-bomb",
            "sends two megabytes in two kilobytes of gzip, more than is read",
            coded("gzip", gzip(&bomb)),
        )
        .of(DIGEST)
        .unknown(state(State::Inconclusive, 1).because("too-large")),
        says(
            "gzip-bomb-length",
            "sends two megabytes in two kilobytes of gzip",
            coded("gzip", gzip(&bomb)),
        )
        .broken(changed("length", 2)),
        says(
            "gzip-twice",
            "compresses the promised bytes twice",
            coded("gzip, gzip", gzip(&gzip(CONTENT))),
        )
        .of(DIGEST)
        .unknown(unreachable("protocol", 3)),
    ]
}

fn in_damaged_gzip() -> Vec<Behaviour> {
    let says = Behaviour::says;
    let whole = gzip(CONTENT);
    let (body, trailer) = whole.split_at(whole.len() - 8);
    let other = gzip(b"other bytes than those");
    let (other_body, _) = other.split_at(other.len() - 8);
    vec![
        says(
            "gzip-cut",
            "sends a gzip stream that lacks the end of its trailer, in a whole body",
            coded("gzip", &whole[..whole.len() - 4]),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "gzip-without-trailer",
            "sends a gzip stream without its trailer, in a whole body",
            coded("gzip", body),
        )
        .kept(undone()),
        says(
            "gzip-cut-in-the-middle",
            "sends the first half of a gzip stream, in a whole body",
            coded("gzip", &body[..body.len() / 2]),
        )
        .broken(state(State::Truncated, 3)),
        says(
            "gzip-other-without-trailer",
            "sends other bytes in a gzip stream without its trailer, in a whole body",
            coded("gzip", other_body),
        )
        .unknown(state(State::Truncated, 3)),
        says(
            "gzip-bad-checksum",
            "compresses the promised bytes with gzip, and writes a wrong checksum behind",
            coded("gzip", [body, b"\0\0\0\0", &trailer[4..]].concat()),
        )
        .kept(undone()),
        says(
            "gzip-other-bad-checksum",
            "compresses other bytes with gzip, and writes a wrong checksum behind",
            coded("gzip", [other_body, b"\0\0\0\0", &trailer[4..]].concat()),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "gzip-and-garbage",
            "compresses the promised bytes with gzip, and sends something else behind",
            coded("gzip", [&whole, &b"and more"[..]].concat()),
        )
        .kept(undone()),
        says(
            "gzip-and-much-garbage",
            "compresses the promised bytes with gzip, and sends a long something else behind",
            coded("gzip", [&whole, &[b'x'; 100_000][..]].concat()),
        )
        .kept(undone()),
        says(
            "gzip-and-zeros",
            "compresses the promised bytes with gzip, and fills up with zeros",
            coded("gzip", [&whole, &[0; 512][..]].concat()),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "gzip-other-and-garbage",
            "compresses other bytes with gzip, and sends something else behind",
            coded("gzip", [&other, &b"and more"[..]].concat()),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "gzip-that-is-zlib",
            "says gzip and sends zlib",
            coded("gzip", zlib(CONTENT)),
        )
        .kept(undone()),
        says(
            "gzip-that-is-zlib-of-other-bytes",
            "says gzip and sends zlib, of other bytes",
            coded("gzip", zlib(b"other bytes than those")),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "gzip-in-name-only-other",
            "says gzip and sends other bytes as they are",
            coded("gzip", "other bytes than those"),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "gzip-empty",
            "says gzip and sends nothing",
            coded("gzip", ""),
        )
        .broken(state(State::Truncated, 3)),
    ]
}

fn otherwise() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "deflate",
            "compresses the promised bytes with deflate",
            coded("deflate", zlib(CONTENT)),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "deflate-bomb",
            "sends two megabytes in two kilobytes of deflate, more than is read",
            coded("deflate", zlib(&vec![0; 2 << 20])),
        )
        .of(DIGEST)
        .unknown(state(State::Inconclusive, 1).because("too-large")),
        says(
            "deflate-bare",
            "leaves out the frame around deflate",
            coded("deflate", deflate(CONTENT)),
        )
        .of(DIGEST)
        .kept(undone()),
        says(
            "br",
            "compresses with a coding that we do not know",
            coded("br", "\x0b\x0a\u{1}?"),
        )
        .of(DIGEST)
        .unknown(unreachable("protocol", 3)),
        says(
            "identity",
            "says that nothing is coded",
            coded("identity", CONTENT),
        )
        .kept(ok(1)),
        says(
            "identity-other",
            "says that nothing is coded and sends other bytes",
            coded("identity", "other"),
        )
        .broken(changed("length", 2)),
        says(
            "over-the-cap",
            "sends more than is read of any body",
            Reply::ok(vec![
                b'x';
                usize::try_from(MAX_BODY).unwrap_or(usize::MAX) + 1
            ]),
        )
        .of(DIGEST)
        .unknown(state(State::Inconclusive, 1).because("too-large")),
    ]
}
