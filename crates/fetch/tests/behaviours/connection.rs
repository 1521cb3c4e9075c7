//! Connections that do not come about, or end at the wrong time, or never.

use std::time::Duration;

use urldb_protocol::State;

use crate::behaviour::{Behaviour, CONTENT, Endpoint, changed, ok, state, unreachable};
use crate::support::Reply;

/// Long enough for what was sent to arrive before what happens next.
pub(crate) const MOMENT: Duration = Duration::from_millis(30);

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n";

/// These bytes, one by one and slowly.
fn dripping(start: Reply, bytes: &[u8]) -> Reply {
    bytes.iter().fold(start, |reply, byte| {
        reply.then([*byte]).pause(Duration::from_millis(100))
    })
}

/// One reply to the first request, another one to those after it.
fn first(before: usize, first: &Reply) -> Reply {
    if before == 0 {
        first.clone()
    } else {
        Reply::ok(CONTENT)
    }
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = without_an_answer();
    all.extend(within_an_answer());
    all.extend(that_recover());
    all
}

fn without_an_answer() -> Vec<Behaviour> {
    let (says, at) = (Behaviour::says, Behaviour::at);
    vec![
        at("refused", "does not listen", Endpoint::Nobody).unknown(unreachable("connect", 0)),
        at(
            "no-name",
            "has a name that does not resolve",
            Endpoint::NoName,
        )
        .unknown(unreachable("dns", 0)),
        says(
            "reset-before-head",
            "resets the connection when asked",
            Reply::default().reset(),
        )
        .unknown(unreachable("disconnected", 4)),
        says(
            "closed-before-head",
            "closes the connection when asked",
            Reply::default().close(),
        )
        .unknown(unreachable("disconnected", 4)),
        says(
            "closed-within-head",
            "closes within the head",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Le").close(),
        )
        .unknown(unreachable("disconnected", 4)),
        says(
            "silent",
            "accepts the connection and says nothing",
            Reply::default().hang(),
        )
        .slowly()
        .unknown(unreachable("timeout", 3)),
        says(
            "silent-within-head",
            "stops within the head",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Le").hang(),
        )
        .slowly()
        .unknown(unreachable("timeout", 3)),
        says(
            "dripping-head",
            "sends the head byte by byte, too slowly",
            dripping(Reply::default(), HEAD.as_bytes()),
        )
        .slowly()
        .unknown(unreachable("timeout", 3)),
        says(
            "dripping-headers",
            "sends one header after the other, without end",
            (0..100).fold(Reply::raw("HTTP/1.1 200 OK\r\n"), |reply, _| {
                reply.then("X-A: b\r\n").pause(Duration::from_millis(50))
            }),
        )
        .slowly()
        .unknown(unreachable("timeout", 3)),
    ]
}

fn within_an_answer() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "reset-after-head",
            "resets the connection after the head",
            Reply::raw(HEAD).pause(MOMENT).reset(),
        )
        .broken(state(State::Truncated, 3)),
        says(
            "closed-after-head",
            "closes after the head",
            Reply::raw(HEAD).close(),
        )
        .broken(state(State::Truncated, 3)),
        says(
            "reset-within-body",
            "resets the connection within the body",
            Reply::raw(HEAD).then(&CONTENT[..10]).pause(MOMENT).reset(),
        )
        .broken(state(State::Truncated, 3)),
        says(
            "closed-within-body",
            "closes within the body",
            Reply::raw(HEAD).then(&CONTENT[..20]).close(),
        )
        .broken(state(State::Truncated, 3)),
        says(
            "silent-within-body",
            "stops within the body",
            Reply::raw(HEAD).then(&CONTENT[..10]).hang(),
        )
        .slowly()
        .unknown(unreachable("timeout", 3)),
        says(
            "silent-after-head",
            "stops after the head",
            Reply::raw(HEAD).hang(),
        )
        .slowly()
        .unknown(unreachable("timeout", 3)),
        says(
            "dripping-body",
            "sends the body byte by byte, too slowly",
            dripping(Reply::raw(HEAD), CONTENT),
        )
        .slowly()
        .unknown(unreachable("timeout", 3)),
    ]
}

fn that_recover() -> Vec<Behaviour> {
    let stale = "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nstale";
    vec![
        Behaviour::http(
            "a-response-too-many-and-a-redirect",
            "redirects, and sends another response that could be taken for that to the next request",
            move |context| match context.target() {
                "/file" => Reply::redirect(302, "/new").then(stale),
                _ => Reply::ok(CONTENT),
            },
        )
        .kept(ok(2)),
        Behaviour::http(
            "closed-once",
            "closes the connection once, then sends the promised bytes",
            |context| first(context.before, &Reply::default().close()),
        )
        .kept(ok(2)),
        Behaviour::http(
            "reset-once-within-body",
            "resets the connection within the body once",
            |context| {
                first(
                    context.before,
                    &Reply::raw(HEAD).then(&CONTENT[..10]).pause(MOMENT).reset(),
                )
            },
        )
        .kept(ok(2)),
        Behaviour::http("not-http-once", "answers with garbage once", |context| {
            first(context.before, &Reply::raw("garbage\r\n\r\n").close())
        })
        .kept(ok(2)),
        Behaviour::http(
            "truncated-then-lost",
            "closes within the body, then before the head",
            |context| {
                if context.before == 0 {
                    Reply::raw(HEAD).then(&CONTENT[..10]).close()
                } else {
                    Reply::default().close()
                }
            },
        )
        .unknown(unreachable("disconnected", 3)),
        Behaviour::http(
            "lost-then-truncated",
            "closes before the head, then within the body",
            |context| {
                if context.before < 2 {
                    Reply::default().close()
                } else {
                    Reply::raw(HEAD).then(&CONTENT[..10]).close()
                }
            },
        )
        .broken(state(State::Truncated, 4).doubtful()),
        Behaviour::http(
            "other-then-lost",
            "sends other bytes once and then nothing any more",
            |context| {
                if context.before == 0 {
                    Reply::ok("other")
                } else {
                    Reply::default().close()
                }
            },
        )
        .unknown(unreachable("disconnected", 4)),
        Behaviour::http(
            "other-lost-other",
            "sends other bytes, nothing, and other bytes again",
            |context| {
                if context.before == 1 {
                    Reply::default().close()
                } else {
                    Reply::ok("other")
                }
            },
        )
        .broken(changed("length", 3)),
        Behaviour::http(
            "kept-alive-and-closed",
            "redirects, and closes the connection just as the next request comes",
            |context| match context.before {
                0 => Reply::redirect(302, "/next"),
                1 => Reply::default().close(),
                _ => Reply::ok(CONTENT),
            },
        )
        .kept(ok(3)),
    ]
}
