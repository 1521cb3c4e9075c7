//! Certificates, and TLS that goes wrong.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use urldb_protocol::State;

use crate::behaviour::{
    ANSWER, Behaviour, CONTENT, Endpoint, RequestContext, changed, ok, proven, state, unreachable,
};
use crate::certificates::Kind;
use crate::support::Reply;

/// A server over TLS that shows such a certificate and says this.
fn over_tls(name: &'static str, does: &'static str, kind: Kind, reply: &Reply) -> Behaviour {
    let reply = reply.clone();
    Behaviour::at(
        name,
        does,
        Endpoint::Tls(vec![kind], Arc::new(move |_| reply.clone())),
    )
}

/// Several servers behind one name that send the promised bytes, with these certificates in turn.
fn balanced(name: &'static str, does: &'static str, kinds: &[Kind]) -> Behaviour {
    let script = Arc::new(|_: &RequestContext<'_>| Reply::ok(CONTENT));
    Behaviour::at(name, does, Endpoint::Tls(kinds.to_vec(), script))
}

/// Reads whatever comes until there is no more.
fn swallow(mut stream: &TcpStream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
}

fn wait_for_hello(mut stream: &TcpStream) {
    // What it says does not matter.
    let _ = stream.read(&mut [0; 4096]);
}

/// Agrees to TLS 1.2 with this cipher suite if the client offers it; refuses with an alert otherwise.
fn answer_hello(mut stream: &TcpStream, suite: u16) {
    let mut hello = [0; 4096];
    let read = stream.read(&mut hello).unwrap_or_default();
    let [high, low] = suite.to_be_bytes();
    // The cipher suites follow the version, the random number and the session.
    let suites = hello[..read].get(78..200).unwrap_or_default();
    if suites.chunks(2).any(|offered| offered == [high, low]) {
        let head = [22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3];
        let _ = stream.write_all(&[&head[..], &[7; 32], &[0, high, low, 0]].concat());
    } else {
        let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, 40]);
    }
    swallow(stream);
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = certificates();
    all.extend(balancers());
    all.extend(endings());
    all.extend(no_handshake());
    all
}

fn certificates() -> Vec<Behaviour> {
    let right = Reply::ok(CONTENT);
    vec![
        over_tls("tls", "speaks TLS", Kind::Good, &right).kept(ok(1)),
        over_tls(
            "tls-other-bytes",
            "sends other bytes over TLS",
            Kind::Good,
            &Reply::ok("other"),
        )
        .broken(changed("length", 2)),
        over_tls(
            "tls-expired",
            "shows an expired certificate",
            Kind::Expired,
            &right,
        )
        .unknown(unreachable("tls-expired", 0)),
        over_tls(
            "tls-not-yet-valid",
            "shows a certificate that is not valid yet",
            Kind::Early,
            &right,
        )
        .unknown(unreachable("tls-not-yet-valid", 0)),
        over_tls(
            "tls-self-signed",
            "shows a certificate without a trusted authority",
            Kind::SelfSigned,
            &right,
        )
        .unknown(unreachable("tls-untrusted", 0)),
        over_tls(
            "tls-wrong-host",
            "shows a certificate for another host",
            Kind::OtherHost,
            &right,
        )
        .unknown(unreachable("tls-wrong-host", 0)),
        over_tls(
            "tls-expired-authority",
            "shows a certificate of an authority whose own has expired",
            Kind::ExpiredIntermediate,
            &right,
        )
        .unknown(unreachable("tls-expired", 0)),
        over_tls(
            "tls-of-intermediate",
            "shows a certificate of an authority between it and the trusted one",
            Kind::OfIntermediate,
            &right,
        )
        .kept(ok(1)),
        over_tls(
            "tls-sha512",
            "shows a certificate that is signed by ECDSA with SHA-512",
            Kind::Unsupported,
            &right,
        )
        .unknown(state(State::Inconclusive, 0).because("unsupported-tls")),
        over_tls(
            "tls-expired-any-answer",
            "shows an expired certificate",
            Kind::Expired,
            &right,
        )
        .of(ANSWER)
        .unknown(unreachable("tls-expired", 0)),
    ]
}

fn balancers() -> Vec<Behaviour> {
    vec![
        balanced(
            "balancer-one-expired",
            "has several servers behind its name, of which the first shows an expired certificate",
            &[Kind::Expired, Kind::Good],
        )
        .kept(ok(1)),
        balanced(
            "balancer-two-expired",
            "has several servers behind its name, of which the first two show expired certificates",
            &[Kind::Expired, Kind::Expired, Kind::Good],
        )
        .kept(ok(1)),
        balanced(
            "balancer-one-not-yet-valid",
            "has several servers behind its name, of which the first shows a certificate that is not \
             valid yet",
            &[Kind::Early, Kind::Good],
        )
        .kept(ok(1)),
        balanced(
            "balancer-one-self-signed",
            "has several servers behind its name, of which the first shows a certificate without a trusted \
             authority",
            &[Kind::SelfSigned, Kind::Good],
        )
        .kept(ok(1)),
        balanced(
            "balancer-one-wrong-host",
            "has several servers behind its name, of which the first shows a certificate for another \
             host",
            &[Kind::OtherHost, Kind::Good],
        )
        .kept(ok(1)),
        balanced(
            "balancer-all-bad",
            "has several servers behind its name, which show different bad certificates",
            &[Kind::Expired, Kind::OtherHost, Kind::SelfSigned],
        )
        .unknown(unreachable("tls-untrusted", 0)),
    ]
}

fn endings() -> Vec<Behaviour> {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n";
    let open_end = Reply::raw("HTTP/1.1 200 OK\r\n\r\n");
    vec![
        over_tls(
            "tls-closed-within-body",
            "closes within the body, without notice",
            Kind::Good,
            &Reply::raw(head).then(&CONTENT[..10]).close(),
        )
        .broken(state(State::Truncated, 3)),
        over_tls(
            "tls-notice-within-body",
            "closes within the body, with notice",
            Kind::Good,
            &Reply::raw(head).then(&CONTENT[..10]).close_with_notice(),
        )
        .broken(state(State::Truncated, 3)),
        over_tls(
            "tls-closed-with-notice",
            "says no length and closes with notice at the end",
            Kind::Good,
            &open_end.clone().then(CONTENT).close_with_notice(),
        )
        .kept(ok(1)),
        over_tls(
            "tls-closed-without-notice",
            "says no length and closes without notice, so that anybody may have cut it",
            Kind::Good,
            &open_end.clone().then(&CONTENT[..10]).close(),
        )
        .unknown(state(State::Truncated, 3)),
        over_tls(
            "tls-closed-without-notice-whole",
            "says no length and closes without notice after the promised bytes",
            Kind::Good,
            &open_end.clone().then(CONTENT).close(),
        )
        .kept(proven()),
        over_tls(
            "tls-closed-without-notice-unproven",
            "says no length and closes without notice after as many bytes as promised",
            Kind::Good,
            &open_end.then(CONTENT).close(),
        )
        .of("content-length: {length}")
        .unknown(state(State::Truncated, 3)),
        over_tls(
            "tls-length-and-no-notice",
            "says a length and closes without notice after it",
            Kind::Good,
            &Reply::ok(CONTENT).close(),
        )
        .kept(ok(1)),
        over_tls(
            "tls-closed-before-head",
            "closes when asked",
            Kind::Good,
            &Reply::default().close(),
        )
        .unknown(unreachable("disconnected", 4)),
    ]
}

fn no_handshake() -> Vec<Behaviour> {
    let socket = |name, does, act| Behaviour::at(name, does, Endpoint::TlsSocket(act));
    vec![
        socket(
            "plain-on-tls-port",
            "answers TLS with plain HTTP",
            |stream| {
                wait_for_hello(&stream);
                let _ =
                    (&stream).write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                swallow(&stream);
            },
        )
        .unknown(unreachable("tls", 0)),
        Behaviour::at(
            "tls-on-plain-port",
            "speaks TLS where plain HTTP is asked",
            Endpoint::TlsAskedInPlain,
        )
        .unknown(unreachable("protocol", 0)),
        socket(
            "tls-silent",
            "accepts the connection and shows no certificate",
            |stream| swallow(&stream),
        )
        .slowly()
        .unknown(unreachable("timeout", 0)),
        socket(
            "tls-closed-in-handshake",
            "closes instead of showing a certificate",
            |stream| wait_for_hello(&stream),
        )
        .unknown(unreachable("disconnected", 0)),
        socket("tls-alert", "refuses with an alert", |stream| {
            wait_for_hello(&stream);
            let handshake_failure = [21, 3, 3, 0, 2, 2, 40];
            let _ = (&stream).write_all(&handshake_failure);
            swallow(&stream);
        })
        .unknown(unreachable("tls", 0)),
        socket(
            "tls-cbc",
            "accepts no cipher suites but those with CBC",
            |stream| answer_hello(&stream, 0xc027),
        )
        .unknown(state(State::Inconclusive, 0).because("unsupported-tls")),
        socket(
            "tls-only-http2",
            "refuses HTTP/1.1 with an alert",
            |stream| {
                wait_for_hello(&stream);
                let no_application_protocol = [21, 3, 3, 0, 2, 2, 120];
                let _ = (&stream).write_all(&no_application_protocol);
                swallow(&stream);
            },
        )
        .unknown(state(State::Inconclusive, 0).because("needs-http2")),
        socket(
            "tls-dripping",
            "sends the start of a handshake byte by byte, too slowly",
            |stream| {
                let record = [22, 3, 3, 64, 0, 2, 0, 63, 252];
                for byte in record.into_iter().chain([0; 1000]) {
                    if (&stream).write_all(&[byte]).is_err() {
                        return;
                    }
                    thread::sleep(Duration::from_millis(50));
                }
            },
        )
        .slowly()
        .unknown(unreachable("timeout", 0)),
    ]
}
