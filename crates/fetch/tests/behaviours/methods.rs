//! Methods other than GET: those that change nothing, and those that may.

use urldb_protocol::State;
use urldb_verdict::Warning;

use crate::behaviour::{
    Behaviour, CONTENT, Endpoint, RequestContext, changed, ok, state, unreachable,
};
use crate::support::Reply;

/// A record of a POST that promises bytes.
const POST: &str = "content-length: {length}\ncontent-sha256: {sha256}\nmethod: POST\nrequest-body: a=b\nrequest-content-type: text/plain";

/// What a server does that a POST may be sent to.
fn posted(
    name: &'static str,
    does: &'static str,
    script: impl Fn(&RequestContext<'_>) -> Reply + Send + Sync + 'static,
) -> Behaviour {
    Behaviour::http(name, does, script).of(POST).unsafely()
}

fn content_if(is_it: bool) -> Reply {
    if is_it {
        Reply::ok(CONTENT)
    } else {
        Reply::new("400 Bad Request", &[], "")
    }
}

/// The promised bytes for a POST with all that belongs to it, an error for everything else.
fn for_the_post(context: &RequestContext<'_>) -> Reply {
    let request = context.request;
    let is_it = request.method == "POST"
        && request.body == b"a=b"
        && request.header("content-type") == Some("text/plain");
    content_if(is_it)
}

/// The promised bytes for a GET without a trace of the POST before it.
fn for_a_get(context: &RequestContext<'_>) -> Reply {
    let request = context.request;
    let is_it = request.method == "GET"
        && request.body.is_empty()
        && request.header("content-type").is_none()
        && request.header("content-length").is_none();
    content_if(is_it)
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = safe();
    all.extend(not_sent());
    all.extend(sent_once());
    all.extend(redirected());
    all
}

fn safe() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "method-head",
            "answers HEAD with a length and no body",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),
        )
        .of("method: HEAD")
        .kept(ok(1)),
        says(
            "method-head-and-bytes",
            "answers HEAD with a body, which is none",
            Reply::ok(CONTENT),
        )
        .of("method: HEAD")
        .kept(ok(1)),
        says(
            "method-head-length",
            "announces the promised length in its answer to HEAD",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n"),
        )
        .of("content-length: {length}\nmethod: HEAD")
        .kept(ok(1)),
        says(
            "method-head-other-length",
            "announces another length in its answer to HEAD",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n"),
        )
        .of("content-length: {length}\nmethod: HEAD")
        .broken(changed("length", 2)),
        says(
            "method-head-no-length",
            "announces no length in its answer to HEAD",
            Reply::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        )
        .of("content-length: {length}\nmethod: HEAD")
        .unknown(state(State::Inconclusive, 1).because("not-read")),
        says(
            "method-options",
            "answers OPTIONS without a body",
            Reply::raw("HTTP/1.1 204 No Content\r\nAllow: GET\r\n\r\n"),
        )
        .of("method: OPTIONS")
        .kept(ok(1)),
        Behaviour::http(
            "get-with-a-body-elsewhere",
            "redirects a GET that has a body to another host",
            |context| Reply::redirect(302, &format!("http://sister.{}/", context.host())),
        )
        .of("request-body: a=b")
        .kept(ok(1).warning(Warning::RedirectToBroken)),
    ]
}

fn not_sent() -> Vec<Behaviour> {
    let unsent = || state(State::Inconclusive, 0).because("unsafe-method");
    vec![
        Behaviour::http(
            "post-without-leave",
            "would answer a POST, which is not sent without leave",
            for_the_post,
        )
        .of(POST)
        .unknown(unsent()),
        Behaviour::says(
            "delete-without-leave",
            "would answer a DELETE, which is not sent without leave",
            Reply::ok(CONTENT),
        )
        .of("method: DELETE")
        .unknown(unsent()),
    ]
}

fn sent_once() -> Vec<Behaviour> {
    let says = |name, does, reply: Reply| posted(name, does, move |_| reply.clone());
    vec![
        posted(
            "post",
            "answers a POST with the promised bytes",
            for_the_post,
        )
        .kept(ok(1)),
        says(
            "post-other",
            "answers a POST with other bytes, which is not asked a second time in this run",
            Reply::ok("other"),
        )
        .broken(changed("length", 1).doubtful()),
        says(
            "post-404",
            "answers a POST with 404",
            Reply::new("404 Not Found", &[], ""),
        )
        .broken(state(State::Gone, 1).doubtful()),
        says(
            "post-503",
            "answers a POST with 503",
            Reply::new("503 Busy", &["Retry-After: 5"], ""),
        )
        .broken(state(State::ServerError, 1)),
        says(
            "post-429",
            "answers a POST with 429",
            Reply::new("429 Slow Down", &["Retry-After: 5"], ""),
        )
        .unknown(state(State::Blocked, 1).because("rate-limited")),
        says(
            "post-truncated",
            "closes within the answer to a POST",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nexactly").close(),
        )
        .broken(state(State::Truncated, 1).doubtful()),
        says(
            "post-lost",
            "closes when posted to",
            Reply::default().close(),
        )
        .unknown(unreachable("disconnected", 1)),
        says(
            "post-reset",
            "resets the connection when posted to",
            Reply::default().reset(),
        )
        .unknown(unreachable("disconnected", 1)),
        Behaviour::at("post-refused", "does not listen", Endpoint::Nobody)
            .of(POST)
            .unsafely()
            .unknown(unreachable("connect", 0)),
    ]
}

/// A redirect from the record's URL to `/new` with this status, and what comes from there.
fn to_new(
    name: &'static str,
    does: &'static str,
    status: u16,
    end: fn(&RequestContext<'_>) -> Reply,
) -> Behaviour {
    posted(name, does, move |context| match context.target() {
        "/file" => Reply::redirect(status, "/new"),
        _ => end(context),
    })
}

/// The same to another host.
fn elsewhere(
    name: &'static str,
    does: &'static str,
    status: u16,
    end: fn(&RequestContext<'_>) -> Reply,
) -> Behaviour {
    posted(name, does, move |context| match context.target() {
        "/file" => Reply::redirect(status, &format!("http://sister.{}/new", context.host())),
        _ => end(context),
    })
}

fn redirected() -> Vec<Behaviour> {
    let kept_at_home = || state(State::Inconclusive, 1).because("refused");
    vec![
        to_new(
            "post-301",
            "redirects a POST with 301, which makes it a GET",
            301,
            for_a_get,
        )
        .kept(ok(2)),
        to_new(
            "post-302",
            "redirects a POST with 302, which makes it a GET",
            302,
            for_a_get,
        )
        .kept(ok(2)),
        to_new(
            "post-303",
            "redirects a POST with 303, which makes it a GET",
            303,
            for_a_get,
        )
        .kept(ok(2)),
        to_new(
            "post-307",
            "redirects a POST with 307, which keeps method and body",
            307,
            for_the_post,
        )
        .kept(ok(2)),
        to_new(
            "post-308",
            "redirects a POST with 308, which keeps method and body",
            308,
            for_the_post,
        )
        .kept(ok(2)),
        elsewhere(
            "post-303-elsewhere",
            "redirects a POST to another host with 303",
            303,
            for_a_get,
        )
        .kept(ok(2)),
        elsewhere(
            "post-307-elsewhere",
            "redirects a POST to another host with 307, where neither it nor its body goes",
            307,
            for_the_post,
        )
        .unknown(kept_at_home()),
        elsewhere(
            "post-308-elsewhere",
            "redirects a POST to another host with 308, where neither it nor its body goes",
            308,
            for_the_post,
        )
        .unknown(kept_at_home()),
    ]
}
