//! Every kind of status, with the promised bytes or without.

use urldb_protocol::State;

use crate::behaviour::{Behaviour, CONTENT, DIGEST, changed, ok, state, unreachable};
use crate::support::Reply;

/// The promised bytes, under this status and with these headers.
fn with(status: &str, headers: &[&str]) -> Reply {
    Reply::new(status, headers, CONTENT)
}

/// These responses before the real one.
fn after(informational: &str) -> Reply {
    Reply::raw(informational)
        .then(b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n")
        .then(CONTENT)
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = informational();
    all.extend(good());
    all.extend(neither());
    all.extend(client_errors());
    all.extend(server_errors_and_cut_pages());
    all
}

fn informational() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "100-continue",
            "says 100 first",
            after("HTTP/1.1 100 Continue\r\n\r\n"),
        )
        .kept(ok(1)),
        says(
            "103-early-hints",
            "says 103 first, with a `Location` and a `Content-Length` of its own",
            after("HTTP/1.1 103 Early Hints\r\nLocation: /other\r\nContent-Length: 5\r\n\r\n"),
        )
        .kept(ok(1)),
        says(
            "100-a-hundred-times",
            "says 100 a hundred times first",
            after(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(100)),
        )
        .kept(ok(1)),
        says(
            "100-without-end",
            "says 100 again and again and never anything else",
            Reply::raw("HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000)).hang(),
        )
        .slowly()
        .unknown(unreachable("timeout", 3)),
        says(
            "103-of-300-headers",
            "says 103 with 300 headers, more than are read",
            after(&format!(
                "HTTP/1.1 103 Early Hints\r\n{}\r\n",
                "X-A: b\r\n".repeat(300)
            )),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "100-and-gone",
            "says 100 and closes",
            Reply::raw("HTTP/1.1 100 Continue\r\n\r\n").close(),
        )
        .unknown(unreachable("disconnected", 4)),
        says(
            "101-unasked",
            "switches protocols without a request for it",
            Reply::raw(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            )
            .then(CONTENT)
            .close(),
        )
        .unknown(unreachable("protocol", 3)),
    ]
}

fn good() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "201-created",
            "answers 201 with the promised bytes",
            with("201 Created", &[]),
        )
        .kept(ok(1)),
        says(
            "203-transformed",
            "answers 203 with the promised bytes",
            with("203 Non-Authoritative Information", &[]),
        )
        .kept(ok(1)),
        says(
            "203-other",
            "answers 203 with transformed bytes",
            Reply::new("203 Non-Authoritative Information", &[], "other"),
        )
        .broken(changed("length", 2)),
        says(
            "204-no-content",
            "answers 204",
            Reply::raw("HTTP/1.1 204 No Content\r\n\r\n"),
        )
        .broken(changed("length", 2)),
        says(
            "204-and-bytes",
            "answers 204 and sends the bytes all the same, which are no body then",
            Reply::raw(
                [
                    b"HTTP/1.1 204 No Content\r\nContent-Length: 21\r\n\r\n",
                    CONTENT,
                ]
                .concat(),
            ),
        )
        .broken(changed("length", 2)),
        says(
            "205-reset-content",
            "answers 205 without a body",
            Reply::new("205 Reset Content", &[], ""),
        )
        .broken(changed("length", 2)),
        says(
            "206-unasked",
            "answers 206 with all of the bytes, though no part was asked for",
            with("206 Partial Content", &["Content-Range: bytes 0-20/21"]),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "206-unasked-in-part",
            "answers 206 with a part, though none was asked for",
            Reply::new(
                "206 Partial Content",
                &["Content-Range: bytes 0-9/21"],
                &CONTENT[..10],
            ),
        )
        .unknown(unreachable("protocol", 3)),
    ]
}

fn neither() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "300-choices",
            "answers 300 with the promised bytes",
            with("300 Multiple Choices", &[]),
        )
        .kept(ok(1)),
        says(
            "300-other-choices",
            "answers 300 with other bytes",
            Reply::new("300 Multiple Choices", &[], "other"),
        )
        .broken(changed("length", 2)),
        says(
            "300-without-choices",
            "answers 300 without a body",
            Reply::new("300 Multiple Choices", &[], ""),
        )
        .unknown(unreachable("redirect-invalid", 1)),
        says(
            "302-to-nowhere",
            "redirects without saying where to",
            with("302 Found", &[]),
        )
        .unknown(unreachable("redirect-invalid", 1)),
        says(
            "304-unasked",
            "answers 304, though no condition was set",
            Reply::raw("HTTP/1.1 304 Not Modified\r\n\r\n"),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "304-and-bytes",
            "answers 304 and sends the bytes all the same",
            Reply::raw(
                [
                    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 21\r\n\r\n",
                    CONTENT,
                ]
                .concat(),
            ),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "305-use-proxy",
            "answers 305 and names a proxy",
            with("305 Use Proxy", &["Location: /proxy"]),
        )
        .unknown(unreachable("redirect-invalid", 1)),
        says(
            "306-unused",
            "answers 306",
            with("306 Unused", &["Location: /other"]),
        )
        .unknown(unreachable("redirect-invalid", 1)),
        says(
            "status-999",
            "answers 999, which is no status and counts as 5xx",
            with("999 Request denied", &[]),
        )
        .broken(state(State::ServerError, 3)),
    ]
}

fn client_errors() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "401-challenge",
            "asks for a password",
            with("401 Unauthorized", &["WWW-Authenticate: Basic realm=\"x\""]),
        )
        .broken(state(State::Forbidden, 1)),
        says(
            "401-bare",
            "answers 401 without `WWW-Authenticate`",
            with("401 Unauthorized", &[]),
        )
        .broken(state(State::Forbidden, 1)),
        says("403-forbidden", "answers 403", with("403 Forbidden", &[]))
            .broken(state(State::Forbidden, 1)),
        says("404-not-found", "answers 404", with("404 Not Found", &[]))
            .broken(state(State::Gone, 3)),
        Behaviour::http(
            "404-once",
            "answers 404 once, then with the promised bytes",
            |context| {
                if context.before == 0 {
                    with("404 Not Found", &[])
                } else {
                    Reply::ok(CONTENT)
                }
            },
        )
        .kept(ok(2)),
        Behaviour::http("404-after-500", "answers 500 once, then 404", |context| {
            if context.before == 0 {
                with("500 Oops", &[])
            } else {
                with("404 Not Found", &[])
            }
        })
        .broken(state(State::Gone, 3).doubtful()),
        says(
            "404-with-the-bytes-promised",
            "answers 404, as is promised, with the promised bytes",
            with("404 Not Found", &[]),
        )
        .of("content-length: {length}\ncontent-sha256: {sha256}\nstatus: 404")
        .kept(ok(1)),
        says(
            "200-instead-of-404",
            "answers 200 where 404 is promised",
            with("200 OK", &[]),
        )
        .of("status: 404")
        .broken(changed("status", 2)),
        says(
            "407-proxy",
            "answers 407",
            with("407 Proxy Authentication Required", &[]),
        )
        .broken(state(State::ClientError, 1)),
        says("410-gone", "answers 410", with("410 Gone", &[])).broken(state(State::Gone, 3)),
        says("418-teapot", "answers 418", with("418 I'm a teapot", &[]))
            .broken(state(State::ClientError, 1)),
        says(
            "421-misdirected",
            "answers 421",
            with("421 Misdirected Request", &[]),
        )
        .broken(state(State::ClientError, 3)),
        Behaviour::http(
            "408-once",
            "answers 408 once and closes, as servers do when a connection was kept too long",
            |context| match context.before {
                0 => with("408 Request Timeout", &["Connection: close"]).close(),
                _ => Reply::ok(CONTENT),
            },
        )
        .kept(ok(2)),
        Behaviour::http(
            "425-once",
            "answers 425 once, then with the promised bytes",
            |context| match context.before {
                0 => with("425 Too Early", &[]),
                _ => Reply::ok(CONTENT),
            },
        )
        .kept(ok(2)),
        says(
            "451-legal-reasons",
            "answers 451",
            with("451 Unavailable For Legal Reasons", &[]),
        )
        .broken(state(State::Forbidden, 1)),
    ]
}

fn server_errors_and_cut_pages() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "500-error",
            "answers 500",
            with("500 Internal Server Error", &[]),
        )
        .broken(state(State::ServerError, 3)),
        Behaviour::http(
            "500-twice",
            "answers 500 twice, then with the promised bytes",
            |context| {
                if context.before < 2 {
                    with("500 Oops", &[])
                } else {
                    Reply::ok(CONTENT)
                }
            },
        )
        .kept(ok(3)),
        says(
            "502-truncated",
            "answers 502 and closes within the page",
            Reply::raw("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 99\r\n\r\n<h1>").close(),
        )
        .of(DIGEST)
        .broken(state(State::ServerError, 3)),
        says(
            "404-truncated",
            "answers 404 and closes within the page",
            Reply::raw("HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n<h1>").close(),
        )
        .of(DIGEST)
        .broken(state(State::Gone, 3)),
        says(
            "404-too-long",
            "answers 404 with a page longer than the promised length",
            Reply::new("404 Not Found", &[], vec![b'x'; 9000]),
        )
        .broken(state(State::Gone, 3)),
        says(
            "599-unknown",
            "answers 599",
            with("599 NetworkOptions Connect Timeout", &[]),
        )
        .broken(state(State::ServerError, 3)),
    ]
}
