//! Heads that are odd, or wrong, or too much.

use crate::behaviour::{Behaviour, CONTENT, ok, unreachable};
use crate::support::Reply;

/// A response with this status line and these lines after it.
fn head(status: &str, lines: &[u8]) -> Reply {
    let length = format!("Content-Length: {}\r\n\r\n", CONTENT.len());
    Reply::raw(
        [
            status.as_bytes(),
            b"\r\n",
            lines,
            length.as_bytes(),
            CONTENT,
        ]
        .concat(),
    )
}

/// A good status line, and these lines after it.
fn lines(lines: impl AsRef<[u8]>) -> Reply {
    head("HTTP/1.1 200 OK", lines.as_ref())
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = status_lines();
    all.extend(header_lines());
    all
}

fn status_lines() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "status-line-garbage",
            "begins with a line that is no status line",
            head("HTTP/1.1 OK 200", b"").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "status-line-of-two-digits",
            "says a status of two digits",
            head("HTTP/1.1 20 OK", b"").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "status-line-of-four-digits",
            "says a status of four digits",
            head("HTTP/1.1 2000 OK", b"").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "status-000",
            "says the status 000",
            head("HTTP/1.1 000 Nothing", b"").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "status-line-without-reason",
            "leaves out the reason phrase",
            head("HTTP/1.1 200", b""),
        )
        .kept(ok(1)),
        says(
            "status-line-in-lower-case",
            "writes `http/1.1`",
            head("http/1.1 200 OK", b"").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "status-line-http-1.2",
            "claims to speak HTTP/1.2",
            head("HTTP/1.2 200 OK", b"").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "status-line-without-end",
            "sends a status line that does not end",
            Reply::raw(["HTTP/1.1 200 ".to_owned(), "O".repeat(1 << 20)].concat()),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "bare-line-feeds",
            "ends the lines of the head with a line feed only",
            Reply::raw([b"HTTP/1.1 200 OK\nContent-Length: 21\n\n", CONTENT].concat()),
        )
        .kept(ok(1)),
        says(
            "empty-lines-first",
            "sends empty lines before the status line",
            Reply::raw(
                [
                    b"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n",
                    CONTENT,
                ]
                .concat(),
            ),
        )
        .kept(ok(1)),
    ]
}

fn header_lines() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "header-not-utf-8",
            "sends a header whose value is not UTF-8",
            lines(b"X-Name: caf\xe9\r\n"),
        )
        .kept(ok(1)),
        says(
            "header-folded",
            "folds a header over two lines, as was once allowed",
            lines("X-A: one\r\n two\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "header-without-colon",
            "sends a header without a colon",
            lines("X-A one\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "header-space-before-colon",
            "leaves a space before the colon",
            lines("X-A : one\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "header-with-nul",
            "sends a header with a NUL",
            lines(b"X-A: o\0ne\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "header-empty-name",
            "sends a header without a name",
            lines(": one\r\n").close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "headers-200",
            "sends 200 headers",
            lines("X-A: b\r\n".repeat(200)),
        )
        .kept(ok(1)),
        says(
            "headers-300",
            "sends 300 headers, more than are read",
            lines("X-A: b\r\n".repeat(300)).close(),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "headers-without-end",
            "sends one header after the other as fast as it can, without end",
            Reply::raw("HTTP/1.1 200 OK\r\n").then("X-A: b\r\n".repeat(100_000)),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "header-of-100-kB",
            "sends a header of 100 kB",
            lines(format!("X-A: {}\r\n", "b".repeat(100_000))),
        )
        .kept(ok(1)),
        says(
            "header-of-2-MB",
            "sends a header of 2 MB, longer than is read",
            lines(format!("X-A: {}\r\n", "b".repeat(2_000_000))).close(),
        )
        .unknown(unreachable("protocol", 3)),
    ]
}
