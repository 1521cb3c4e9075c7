//! Redirects that lead to the promised bytes, and others.

use urldb_protocol::State;

use crate::behaviour::{
    BYTES, Behaviour, CONTENT, RequestContext, changed, ok, state, unreachable,
};
use crate::support::Reply;

/// A redirect from the record's URL; whoever asks for another one gets the promised bytes.
fn away(context: &RequestContext<'_>, location: &str) -> Reply {
    reply(context, Reply::redirect(302, location))
}

/// This for the record's URL, the promised bytes for others.
fn reply(context: &RequestContext<'_>, first: Reply) -> Reply {
    let is_first = context.target() == "/file" && !context.host().starts_with("sister.");
    if is_first { first } else { Reply::ok(CONTENT) }
}

/// A redirect to the promised bytes, if it is followed.
fn to(name: &'static str, does: &'static str, location: &'static str) -> Behaviour {
    Behaviour::http(name, does, move |context| away(context, location))
}

/// A redirect to `/new`, and what comes from there.
fn ending(name: &'static str, does: &'static str, end: Reply) -> Behaviour {
    Behaviour::http(name, does, move |context| match context.target() {
        "/file" => Reply::redirect(302, "/new"),
        _ => end.clone(),
    })
}

/// A redirect to the listener that nothing may connect to.
fn trap(name: &'static str, does: &'static str, host: &'static str) -> Behaviour {
    Behaviour::http(name, does, move |context| {
        away(context, &format!("http://{host}:{}/", context.trap))
    })
    .unknown(state(State::Inconclusive, 1).because("refused"))
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = followed();
    all.extend(not_followed());
    all.extend(cookie_walls());
    all.extend(into_the_trap());
    all.extend(promised());
    all.extend(promised_in_other_bytes());
    all
}

fn followed() -> Vec<Behaviour> {
    vec![
        Behaviour::http("chain-of-all-kinds", "redirects with 301, 302, 303, 307 and 308 in turn", |context| {
            match [301, 302, 303, 307, 308].get(context.before) {
                Some(status) => Reply::redirect(*status, &format!("/{status}")),
                None => Reply::ok(CONTENT),
            }
        })
        .kept(ok(6)),
        to("to-relative", "redirects to a relative URL", "../x/./y?q").kept(ok(2)),
        Behaviour::http("to-protocol-relative", "redirects to a URL that begins with the host", |context| {
            away(context, &format!("//sister.{}/file", context.host()))
        })
        .kept(ok(2)),
        to("to-query", "redirects to another query only", "?q").kept(ok(2)),
        to("to-dots", "redirects to a URL with more steps up than there are", "/a/../../b/./%2e%2e/c").kept(ok(2)),
        to("to-backslash", "writes a backslash for a slash, as browsers let pass", "\\new").kept(ok(2)),
        to("to-padded", "writes spaces and tabs around the URL", " \t/new \t").kept(ok(2)),
        to("to-bad-percent", "redirects to a URL with a percent sign of its own", "/100%").kept(ok(2)),
        Behaviour::http("to-capitals", "writes scheme and host in capitals", |context| {
            away(context, &format!("HTTP://SISTER.{}/file", context.host().to_uppercase()))
        })
        .kept(ok(2)),
        Behaviour::http("to-final-dot", "writes a dot after the host", |context| {
            away(context, &format!("http://sister.{}./file", context.host()))
        })
        .kept(ok(2)),
        Behaviour::http("to-default-port", "names the port that is meant anyway", |context| {
            away(context, &format!("http://sister.{}:80/file", context.host()))
        })
        .kept(ok(2)),
        to("to-fragment", "redirects to a URL with a fragment", "/next#part").kept(ok(2)),
        to("to-odd-characters", "redirects to a URL with spaces and letters that it should encode", "/a b/\u{e9}?q=\u{e9} c").kept(ok(2)),
        Behaviour::http("to-not-utf-8", "redirects to a URL that is not UTF-8", |context| {
            let head = b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9\r\nContent-Length: 0\r\n\r\n";
            reply(context, Reply::raw(head))
        })
        .kept(ok(2)),
        Behaviour::http("to-another-host", "redirects to another host", |context| {
            away(context, &format!("http://sister.{}/file", context.host()))
        })
        .kept(ok(2)),
        Behaviour::http("to-another-host-without-secrets", "redirects to another host, which refuses the secrets of the first", |context| {
            let headers = ["authorization", "cookie", "x-own"];
            let told = headers.iter().any(|name| context.request.header(name).is_some());
            match (context.before, told) {
                (0, true) => Reply::redirect(302, &format!("http://sister.{}/file", context.host())),
                (1, false) => Reply::ok(CONTENT),
                _ => Reply::new("400 Bad Request", &[], ""),
            }
        })
        .of("content-length: {length}\ncontent-sha256: {sha256}\nrequest-headers:\n  Authorization: Basic eDp5\n  Cookie: a=b\n  X-Own: c")
        .kept(ok(2)),
        ending("to-other-bytes", "redirects to other bytes than promised", Reply::ok("other")).broken(changed("length", 4)),
        ending("to-404", "redirects to something that is not there", Reply::new("404 Not Found", &[], "")).broken(state(State::Gone, 6)),
        Behaviour::http("too-long-a-body-on-the-way", "redirects with a body that does not end", |context| {
            let endless = Reply::raw("HTTP/1.1 302 Found\r\nLocation: /next\r\n\r\n").then(vec![b'x'; 1 << 20]);
            reply(context, endless.hang())
        })
        .kept(ok(2)),
    ]
}

/// Redirects that are followed with a cookie only, which we do not keep.
fn cookie_walls() -> Vec<Behaviour> {
    vec![
        Behaviour::http(
            "cookie-wall",
            "redirects to the same URL until it is told a cookie again",
            |context| match context.request.header("cookie") {
                Some(_) => Reply::ok(CONTENT),
                None => Reply::new("302 Found", &["Location: /file", "Set-Cookie: seen=1"], ""),
            },
        )
        .unknown(unreachable("redirect-loop", 1)),
        Behaviour::http(
            "cookie-wall-and-back",
            "redirects to where a cookie is set, and back from there",
            |context| match (context.target(), context.request.header("cookie")) {
                (_, Some(_)) => Reply::ok(CONTENT),
                ("/file", None) => Reply::redirect(302, "/set?back=/file"),
                _ => Reply::new("302 Found", &["Location: /file", "Set-Cookie: seen=1"], ""),
            },
        )
        .unknown(unreachable("redirect-loop", 2)),
    ]
}

fn not_followed() -> Vec<Behaviour> {
    let invalid = || unreachable("redirect-invalid", 1);
    vec![
        Behaviour::http("loop-of-one", "redirects to the same URL", |_| {
            Reply::redirect(301, "/file")
        })
        .unknown(unreachable("redirect-loop", 1)),
        Behaviour::http("loop-of-two", "redirects back and forth", |context| {
            Reply::redirect(
                302,
                if context.target() == "/file" {
                    "/back"
                } else {
                    "/file"
                },
            )
        })
        .unknown(unreachable("redirect-loop", 2)),
        Behaviour::http(
            "redirects-without-end",
            "redirects to ever new URLs",
            |context| Reply::redirect(302, &format!("/{}", context.before)),
        )
        .unknown(unreachable("redirect-limit", 11)),
        to(
            "to-nothing",
            "redirects to an empty URL, which is the same one again",
            "",
        )
        .unknown(unreachable("redirect-loop", 1)),
        to("to-ftp", "redirects to ftp", "ftp://sister.test/file").unknown(invalid()),
        to("to-file", "redirects to a local file", "file:///etc/passwd").unknown(invalid()),
        to(
            "to-javascript",
            "redirects to a script",
            "javascript:alert(1)",
        )
        .unknown(invalid()),
        to(
            "to-data",
            "redirects to data",
            "data:text/plain,exactly%20these%20bytes",
        )
        .unknown(invalid()),
        to(
            "to-garbage",
            "redirects to something that is no URL",
            "http://[::1/",
        )
        .unknown(invalid()),
        to(
            "to-bad-port",
            "redirects to a port that does not exist",
            "http://sister.test:99999/",
        )
        .unknown(invalid()),
        Behaviour::http(
            "to-credentials",
            "redirects to a URL with a user name and a password",
            |context| {
                away(
                    context,
                    &format!("http://user:secret@sister.{}/file", context.host()),
                )
            },
        )
        .unknown(invalid()),
        Behaviour::http(
            "to-two-places",
            "redirects to two different places at once",
            |context| {
                reply(
                    context,
                    Reply::new("302 Found", &["Location: /one", "Location: /two"], ""),
                )
            },
        )
        .unknown(invalid()),
        Behaviour::http(
            "to-one-place-twice",
            "says twice where it redirects to",
            |context| {
                reply(
                    context,
                    Reply::new("302 Found", &["Location: /one", "Location: /one"], ""),
                )
            },
        )
        .kept(ok(2)),
    ]
}

fn into_the_trap() -> Vec<Behaviour> {
    vec![
        trap(
            "to-loopback",
            "redirects to a loopback address",
            "127.0.0.1",
        ),
        trap(
            "to-loopback-decimal",
            "writes a loopback address as one number",
            "2130706433",
        ),
        trap(
            "to-loopback-octal",
            "writes a loopback address in octal",
            "0177.0.0.01",
        ),
        trap(
            "to-loopback-hexadecimal",
            "writes a loopback address in hexadecimal",
            "0x7f.1",
        ),
        trap(
            "to-loopback-full-width",
            "writes a loopback address in full-width digits",
            "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
        ),
        trap(
            "to-loopback-mapped",
            "writes a loopback address as one of IPv6",
            "[::ffff:127.0.0.1]",
        ),
        trap(
            "to-loopback-v6",
            "redirects to the loopback address of IPv6",
            "[::1]",
        ),
        trap(
            "to-this-network",
            "redirects to 0.0.0.0, which leads here",
            "0.0.0.0",
        ),
        trap(
            "to-localhost",
            "redirects to a name of a loopback address",
            "localhost",
        ),
    ]
}

fn promised() -> Vec<Behaviour> {
    let redirected = |reason, requests| state(State::Redirected, requests).because(reason);
    vec![
        to(
            "redirects-to-right",
            "redirects to where it is promised",
            "/new",
        )
        .of("redirects-to: /new")
        .kept(ok(2)),
        Behaviour::http(
            "redirects-to-written-otherwise",
            "redirects to where it is promised, in other words",
            |context| {
                away(
                    context,
                    &format!("HTTP://{}:80/x/../new", context.host().to_uppercase()),
                )
            },
        )
        .of("redirects-to: /new")
        .kept(ok(2)),
        to(
            "redirects-to-wrong",
            "redirects elsewhere than promised",
            "/other",
        )
        .of("redirects-to: /new")
        .broken(redirected("other-redirect", 2)),
        Behaviour::says(
            "redirects-to-not",
            "does not redirect, though it is promised",
            Reply::ok(CONTENT),
        )
        .of("redirects-to: /new")
        .broken(redirected("no-redirect", 1)),
        Behaviour::says(
            "redirects-to-error",
            "answers 500 where a redirect is promised",
            Reply::new("500 Oops", &[], ""),
        )
        .of("redirects-to: /new")
        .broken(state(State::ServerError, 3)),
        Behaviour::says(
            "redirects-to-challenge",
            "answers a promised redirect with a challenge under the status 202",
            Reply::new("202 Accepted", &["x-amzn-waf-action: challenge"], ""),
        )
        .of("redirects-to: /new")
        .unknown(state(State::Blocked, 1).because("challenge")),
        to(
            "pseudo-type-right",
            "redirects with the promised status",
            "/new",
        )
        .of("content-type: X-302-Redirect")
        .kept(ok(2)),
        to(
            "pseudo-type-wrong",
            "redirects with another status than promised",
            "/new",
        )
        .of("content-type: X-301-Redirect")
        .broken(redirected("other-redirect", 2)),
        to(
            "pseudo-type-any",
            "redirects with another status than promised, which may be",
            "/new",
        )
        .of("content-type: X-301-Redirect\ncategories:\n- redirect-ok")
        .kept(ok(2)),
        Behaviour::says(
            "pseudo-type-no-redirect",
            "does not redirect, though it is promised",
            Reply::ok(CONTENT),
        )
        .of("content-type: X-301-Redirect")
        .broken(redirected("no-redirect", 1)),
        ending(
            "redirect-and-other-bytes",
            "redirects to where it is promised, but to other bytes",
            Reply::ok("other"),
        )
        .of("redirects-to: /new\ncontent-length: {length}\ncontent-sha256: {sha256}")
        .broken(changed("length", 4)),
        to(
            "redirect-of-a-digest",
            "redirects a record that promises bytes",
            "/new",
        )
        .of(BYTES)
        .kept(ok(2)),
    ]
}

fn promised_in_other_bytes() -> Vec<Behaviour> {
    vec![
        Behaviour::http(
            "redirects-to-not-utf-8",
            "redirects to where it is promised, in bytes that are not UTF-8",
            |context| {
                let head = b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9\r\nContent-Length: 0\r\n\r\n";
                reply(context, Reply::raw(head))
            },
        )
        .of("redirects-to: /caf%E9")
        .kept(ok(2)),
    ]
}
