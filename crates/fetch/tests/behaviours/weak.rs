//! Records that promise an answer, not bytes: the same behaviours weigh less.

use urldb_protocol::State;
use urldb_verdict::Warning;

use crate::behaviour::{ANSWER, Behaviour, CONTENT, Endpoint, changed, ok, state, unreachable};
use crate::support::Reply;

const TYPE: &str = "content-type: text/plain";

/// A redirect from the record's URL to `/new`, and what comes from there.
fn to(name: &'static str, does: &'static str, end: Reply) -> Behaviour {
    Behaviour::http(name, does, move |context| match context.target() {
        "/file" => Reply::redirect(301, "/new"),
        _ => end.clone(),
    })
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = any_answer();
    all.extend(any_redirect());
    all.extend(types());
    all
}

fn any_answer() -> Vec<Behaviour> {
    let says = Behaviour::says;
    let all = vec![
        says("any-200", "answers 200", Reply::ok("whatever")).kept(ok(1)),
        says(
            "any-204",
            "answers 204",
            Reply::raw("HTTP/1.1 204 No Content\r\n\r\n"),
        )
        .kept(ok(1)),
        says(
            "any-206-unasked",
            "answers 206",
            Reply::new("206 Partial Content", &[], "x"),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "any-304-unasked",
            "answers 304",
            Reply::raw("HTTP/1.1 304 Not Modified\r\n\r\n"),
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "any-300",
            "answers 300",
            Reply::new("300 Multiple Choices", &[], ""),
        )
        .kept(ok(1)),
        says(
            "any-404",
            "answers 404",
            Reply::new("404 Not Found", &[], ""),
        )
        .broken(state(State::Gone, 3)),
        says(
            "any-403",
            "answers 403",
            Reply::new("403 Forbidden", &[], ""),
        )
        .broken(state(State::Forbidden, 1)),
        says("any-500", "answers 500", Reply::new("500 Oops", &[], ""))
            .broken(state(State::ServerError, 3)),
        says(
            "any-never-ends",
            "answers 200 with a body that does not end",
            Reply::raw("HTTP/1.1 200 OK\r\n\r\n")
                .then(vec![b'x'; 1 << 20])
                .hang(),
        )
        .kept(ok(1)),
        says(
            "any-silent-body",
            "answers 200 and stops within the body",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx").hang(),
        )
        .kept(ok(1)),
        says(
            "any-reset-within-body",
            "answers 200 and resets the connection within the body",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx").reset(),
        )
        .kept(ok(1)),
        says(
            "any-bad-chunks",
            "answers 200 with bad chunks",
            Reply::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").close(),
        )
        .kept(ok(1)),
        says(
            "any-lengths-that-differ",
            "says two different `Content-Length`s",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx")
                .close(),
        )
        .unknown(unreachable("protocol", 3)),
        Behaviour::at("any-refused", "does not listen", Endpoint::Nobody)
            .unknown(unreachable("connect", 0)),
    ];
    all.into_iter().map(|one| one.of(ANSWER)).collect()
}

fn any_redirect() -> Vec<Behaviour> {
    let says = Behaviour::says;
    let broken_behind = |requests| ok(requests).warning(Warning::RedirectToBroken);
    let all = vec![
        to(
            "any-redirect",
            "redirects to something that is there",
            Reply::ok("x"),
        )
        .kept(ok(2)),
        to(
            "any-redirect-to-404",
            "redirects to something that is not there",
            Reply::new("404 Not Found", &[], ""),
        )
        .kept(broken_behind(2)),
        to(
            "any-redirect-to-nothing",
            "redirects to a connection that is closed",
            Reply::default().close(),
        )
        .kept(broken_behind(3)),
        says(
            "any-redirect-loop",
            "redirects to itself",
            Reply::redirect(301, "/file"),
        )
        .kept(broken_behind(1)),
        says(
            "any-redirect-to-file",
            "redirects to a local file",
            Reply::redirect(301, "file:///etc/passwd"),
        )
        .kept(broken_behind(1)),
        Behaviour::http(
            "any-redirect-to-loopback",
            "redirects to a loopback address",
            |context| Reply::redirect(301, &format!("http://127.0.0.1:{}/", context.trap)),
        )
        .kept(broken_behind(1)),
    ];
    all.into_iter().map(|one| one.of(ANSWER)).collect()
}

fn types() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        to(
            "type-behind-redirect",
            "redirects to the promised type",
            Reply::new("200 OK", &["Content-Type: text/plain"], CONTENT),
        )
        .of(TYPE)
        .kept(ok(2)),
        to(
            "type-behind-redirect-other",
            "redirects to another type",
            Reply::new("200 OK", &["Content-Type: text/html"], CONTENT),
        )
        .of(TYPE)
        .broken(changed("content-type", 4).doubtful()),
        to(
            "type-behind-redirect-404",
            "redirects a record with a type to something that is not there",
            Reply::new("404 Not Found", &[], ""),
        )
        .of(TYPE)
        .broken(state(State::Gone, 6)),
        to(
            "type-redirect-ok",
            "redirects to another type, where the redirect may stand for the answer",
            Reply::new("200 OK", &["Content-Type: text/html"], CONTENT),
        )
        .of("content-type: text/plain\ncategories:\n- redirect-ok")
        .kept(ok(2)),
        says(
            "type-and-truncated",
            "says the promised type and closes within the body",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\nx",
            )
            .close(),
        )
        .of(TYPE)
        .kept(ok(1)),
    ]
}
