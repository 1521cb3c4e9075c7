//! Where a body ends, by its framing, and where it really does.

use urldb_protocol::State;

use crate::behaviour::{
    ANSWER, Behaviour, CONTENT, DIGEST, NOTHING, changed, ok, proven, state, unreachable,
};
use crate::support::Reply;

/// A head of 200 with these lines, and then these bytes.
fn raw(lines: &str, body: impl AsRef<[u8]>) -> Reply {
    let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
    Reply::raw([head.as_bytes(), body.as_ref()].concat())
}

/// A chunked body, as it stands.
fn chunked(body: &str) -> Reply {
    raw("Transfer-Encoding: chunked\r\n", body)
}

const LENGTH: &str = "Content-Length: 21\r\n";

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = with_a_length();
    all.extend(with_odd_lengths());
    all.extend(without_a_length());
    all.extend(in_chunks());
    all.extend(in_bad_chunks());
    all.extend(in_odd_codings());
    all
}

fn with_a_length() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "length-exact",
            "sends as many bytes as `Content-Length` says",
            Reply::ok(CONTENT),
        )
        .kept(ok(1)),
        says(
            "length-too-long",
            "closes before as many bytes have come as `Content-Length` says",
            raw("Content-Length: 30\r\n", CONTENT).close(),
        )
        .of(DIGEST)
        .kept(proven()),
        says(
            "length-too-long-unproven",
            "closes before as many bytes have come as `Content-Length` says, but after as many as promised",
            raw("Content-Length: 30\r\n", CONTENT).close(),
        )
        .of("content-length: {length}")
        .broken(state(State::Truncated, 3)),
        says(
            "length-too-long-and-nothing",
            "sends nothing, as promised, but says a `Content-Length`",
            raw(LENGTH, "").pause(super::connection::MOMENT).close(),
        )
        .of(NOTHING)
        .broken(state(State::Truncated, 3)),
        says(
            "length-beyond-all-bounds",
            "says a `Content-Length` of a petabyte and closes after the promised bytes",
            raw("Content-Length: 1125899906842624\r\n", CONTENT).close(),
        )
        .kept(proven()),
        says(
            "length-too-short",
            "says a `Content-Length` of 10, so that the rest is no part of the body",
            raw("Content-Length: 10\r\n", CONTENT).close(),
        )
        .broken(changed("length", 2)),
        says("length-zero", "says a `Content-Length` of 0", Reply::ok(""))
            .broken(changed("length", 2)),
    ]
}

fn with_odd_lengths() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "length-overflows",
            "says a `Content-Length` that no counter holds",
            raw("Content-Length: 99999999999999999999999\r\n", CONTENT).close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "length-negative",
            "says a negative `Content-Length`",
            raw("Content-Length: -21\r\n", CONTENT).close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "length-twice-the-same",
            "says the same `Content-Length` twice",
            raw(&format!("{LENGTH}{LENGTH}"), CONTENT),
        )
        .kept(ok(1)),
        says(
            "length-in-a-list",
            "says the same `Content-Length` twice in one line",
            raw("Content-Length: 21, 21\r\n", CONTENT).close(),
        )
        .kept(ok(1)),
        says(
            "lengths-that-differ",
            "says two different `Content-Length`s",
            raw("Content-Length: 10\r\nContent-Length: 21\r\n", CONTENT).close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "lengths-that-differ-in-a-list",
            "says two different `Content-Length`s in one line",
            raw("Content-Length: 10, 21\r\n", CONTENT).close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "more-after-the-body",
            "sends bytes after the body that are no response",
            raw(LENGTH, [CONTENT, b"and then some"].concat()),
        )
        .kept(ok(1)),
        says(
            "a-response-too-many",
            "sends another response after the one that was asked for",
            raw(
                LENGTH,
                [
                    CONTENT,
                    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
                ]
                .concat(),
            ),
        )
        .kept(ok(1)),
        says(
            "body-without-end",
            "sends a body that does not end",
            raw("", vec![b'x'; 1 << 20]).hang(),
        )
        .broken(changed("length", 2)),
        says(
            "body-without-end-digest",
            "sends a body that does not end",
            raw("", vec![b'x'; 1 << 20]).hang(),
        )
        .of(DIGEST)
        .unknown(state(State::Inconclusive, 1).because("too-large")),
    ]
}

fn without_a_length() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "ends-by-closing",
            "says no length and closes at the end",
            raw("", CONTENT).close(),
        )
        .kept(ok(1)),
        says(
            "ends-by-closing-early",
            "says no length and closes before the end, which looks like a shorter file",
            raw("", &CONTENT[..10]).close(),
        )
        .broken(changed("length", 2)),
        says(
            "ends-by-reset",
            "says no length and resets the connection within the body",
            raw("", &CONTENT[..10])
                .pause(super::connection::MOMENT)
                .reset(),
        )
        .broken(state(State::Truncated, 3)),
        says(
            "ends-by-reset-whole",
            "says no length and resets the connection after the promised bytes",
            raw("", CONTENT).pause(super::connection::MOMENT).reset(),
        )
        .kept(proven()),
        says(
            "never-ends",
            "says no length and keeps the connection open after the promised bytes",
            raw("", CONTENT).hang(),
        )
        .slowly()
        .kept(proven()),
        says(
            "http-1.0",
            "speaks HTTP/1.0 and closes at the end",
            Reply::raw([b"HTTP/1.0 200 OK\r\n\r\n", CONTENT].concat()).close(),
        )
        .kept(ok(1)),
        says(
            "http-1.0-keep-alive",
            "speaks HTTP/1.0 and keeps the connection",
            Reply::raw(
                [
                    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 21\r\n\r\n",
                    CONTENT,
                ]
                .concat(),
            ),
        )
        .kept(ok(1)),
        says(
            "http-1.0-chunked",
            "speaks HTTP/1.0 and sends chunks, which it does not have",
            Reply::raw("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "http-0.9",
            "sends the bytes without any head, as HTTP/0.9",
            Reply::raw(CONTENT).close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "http-2-unasked",
            "answers with the preface of HTTP/2",
            Reply::raw(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "not-http",
            "speaks another protocol",
            Reply::raw("SSH-2.0-OpenSSH_9.2\r\n\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
    ]
}

fn in_chunks() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "chunked",
            "sends the bytes in chunks",
            chunked("8\r\nexactly \r\nd\r\nthese bytes\r\n\r\n0\r\n\r\n"),
        )
        .kept(ok(1)),
        says(
            "chunked-in-single-bytes",
            "sends every byte of a chunked response by itself",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n15\r\nexactly these bytes\r\n\r\n0\r\n\r\n"
                .bytes()
                .fold(Reply::default(), |reply, byte| reply.then([byte])),
        )
        .kept(ok(1)),
        says(
            "chunked-with-extensions",
            "adds extensions to the chunks",
            chunked("15;name=\"value\";more\r\nexactly these bytes\r\n\r\n0;last\r\n\r\n"),
        )
        .kept(ok(1)),
        says(
            "chunked-with-trailers",
            "sends trailers after the last chunk",
            chunked("15\r\nexactly these bytes\r\n\r\n0\r\nContent-Type: text/css\r\nX-A: b\r\n\r\n"),
        )
        .kept(ok(1)),
        says(
            "chunked-and-length",
            "sends chunks and a `Content-Length`, which is then to be ignored",
            raw(
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                "15\r\nexactly these bytes\r\n\r\n0\r\n\r\n",
            ),
        )
        .kept(ok(1)),
        says(
            "chunked-shorter",
            "sends other bytes in chunks, to their end",
            chunked("5\r\nother\r\n0\r\n\r\n"),
        )
        .broken(changed("length", 2)),
    ]
}

fn in_bad_chunks() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "chunked-without-last",
            "closes after all bytes, but without the last chunk",
            chunked("15\r\nexactly these bytes\r\n\r\n").close(),
        )
        .kept(proven()),
        says(
            "chunked-without-last-unproven",
            "closes after all bytes, but without the last chunk",
            chunked("15\r\nexactly these bytes\r\n\r\n").close(),
        )
        .of("content-length: {length}")
        .unknown(state(State::Truncated, 3)),
        says(
            "chunked-then-garbage",
            "sends all bytes, and then a chunk size that is no number",
            chunked("15\r\nexactly these bytes\r\n\r\nzz\r\n").close(),
        )
        .kept(proven()),
        says(
            "chunked-cut-in-chunk",
            "closes within a chunk",
            chunked("15\r\nexactly").close(),
        )
        .broken(state(State::Truncated, 3)),
        says(
            "chunked-cut-in-size",
            "closes within the size of a chunk",
            chunked("8\r\nexactly \r\nd").close(),
        )
        .broken(state(State::Truncated, 3)),
        says(
            "chunked-and-silent",
            "stops without the last chunk and keeps the connection",
            chunked("15\r\nexactly these bytes\r\n\r\n").hang(),
        )
        .slowly()
        .kept(proven()),
        says(
            "chunk-size-no-number",
            "says a chunk size that is no number",
            chunked("zz\r\nexactly these bytes\r\n\r\n0\r\n\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "chunk-size-overflows",
            "says a chunk size that no counter holds",
            chunked("fffffffffffffffff\r\nexactly these bytes\r\n\r\n0\r\n\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "chunk-size-empty",
            "says no chunk size at all",
            chunked("\r\nexactly these bytes\r\n\r\n0\r\n\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "chunk-without-line-end",
            "leaves out the line end after a chunk",
            chunked("8\r\nexactly d\r\nthese bytes\r\n\r\n0\r\n\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "transfer-coding-gzip",
            "says an unrequested transfer coding",
            raw(
                "Transfer-Encoding: gzip, chunked\r\n",
                "5\r\nother\r\n0\r\n\r\n",
            ),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "transfer-coding-gzip-only",
            "says an unrequested transfer coding, and closes at the end",
            raw("Transfer-Encoding: gzip\r\n", "other").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "not-static-and-truncated",
            "closes within a body of which nothing is promised",
            raw("Content-Length: 30\r\n", CONTENT).close(),
        )
        .of(ANSWER)
        .kept(ok(1)),
    ]
}

fn in_odd_codings() -> Vec<Behaviour> {
    let says = Behaviour::says;
    let whole = "15\r\nexactly these bytes\r\n\r\n0\r\n";
    vec![
        says(
            "chunked-named-twice",
            "says twice that it sends chunks",
            raw(
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                format!("{whole}\r\n"),
            ),
        )
        .kept(ok(1)),
        says(
            "chunked-and-a-comma",
            "sends chunks, and writes a comma after their name, so that they are not undone",
            raw("Transfer-Encoding: chunked,\r\n", format!("{whole}\r\n")),
        )
        .slowly()
        .unknown(unreachable("protocol", 3)),
        says(
            "chunked-and-identity",
            "sends chunks, and says that nothing is coded after that, so that they are not undone",
            raw(
                "Transfer-Encoding: chunked, identity\r\n",
                format!("{whole}\r\n"),
            ),
        )
        .slowly()
        .unknown(unreachable("protocol", 3)),
        says(
            "transfer-coding-identity",
            "says that nothing is coded for transfer, and a length, and keeps the connection open",
            raw(
                "Transfer-Encoding: identity\r\nContent-Length: 21\r\n",
                CONTENT,
            )
            .hang(),
        )
        .slowly()
        .kept(proven()),
        says(
            "chunk-size-with-zeros",
            "writes zeros before the size of a chunk",
            chunked("000000000000000015\r\nexactly these bytes\r\n\r\n000\r\n\r\n"),
        )
        .kept(ok(1)),
        says(
            "chunk-size-with-spaces",
            "writes spaces after the size of a chunk",
            chunked("15   \r\nexactly these bytes\r\n\r\n0  \r\n\r\n"),
        )
        .kept(ok(1)),
        says(
            "chunks-and-bare-line-feeds",
            "ends the lines of chunks with a line feed only",
            chunked("15\nexactly these bytes\r\n\n0\n\n"),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "chunk-extension-of-1-MB",
            "adds an extension of 1 MB to a chunk",
            chunked(&format!(
                "15;{}\r\nexactly these bytes\r\n",
                "x".repeat(1_000_000)
            )),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "trailers-3000",
            "sends 3000 trailers after the last chunk, more than are read",
            chunked(&format!("{whole}{}\r\n", "A: b\r\n".repeat(3000))),
        )
        .kept(proven()),
        says(
            "trailers-that-lie",
            "sends trailers that would matter in a head",
            chunked(&format!("{whole}Content-Length: 5\r\nLocation: /x\r\n\r\n")),
        )
        .kept(ok(1)),
    ]
}
