//! Servers and networks that fail.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use urldb_fetch::{Mapping, NetworkOptions};
use urldb_verdict::FailureKind;

use crate::support::{Reply, Server};
use crate::{fetch, fetch_all, get, job, kind, network, quick, quick_with};

#[test]
fn what_is_not_http_is_a_protocol_failure() {
    let flood = "HTTP/1.1 200 OK\r\n".to_owned() + &"A: b\r\n".repeat(1000) + "\r\n";
    for reply in [
        Reply::raw("SSH-2.0-OpenSSH_9.2\r\n\r\n").close(),
        Reply::raw("HTTP/1.1 abc OK\r\n\r\n").close(),
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello").close(),
        Reply::raw(flood),
    ] {
        let server = Server::new(move |_| reply.clone());
        let seen = get(&server);
        assert_eq!(
            kind(&seen),
            Some(FailureKind::Protocol),
            "{:?}",
            seen.failure
        );
        assert!(seen.hops.is_empty() && seen.body.is_none());
    }
}

#[test]
fn a_connection_without_an_answer_is_lost() {
    let server = Server::new(|_| Reply::default().close());
    assert_eq!(kind(&get(&server)), Some(FailureKind::Disconnected));
}

#[test]
fn nobody_listening_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let network = NetworkOptions {
        map: vec![Mapping {
            host: "example.test".to_owned(),
            port: None,
            to_host: "127.0.0.1".to_owned(),
            to_port: Some(port),
        }],
        ..NetworkOptions::default()
    };
    let seen = fetch(&quick(), &network, job("http://example.test/"));
    assert_eq!(
        kind(&seen),
        Some(FailureKind::Connect),
        "{:?}",
        seen.failure
    );
}

#[test]
fn time_runs_out_anywhere() {
    let options = quick_with(|options| options.timeout = Duration::from_millis(150));
    let slow_head = Reply::raw("HTTP/1.1 200 OK\r\nContent-").hang();
    let slow_body = Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello").hang();
    let trickle = (0..100).fold(Reply::raw("HTTP/1.1 200 OK\r\n\r\n"), |reply, _| {
        reply.then("x").pause(Duration::from_millis(20))
    });
    for (reply, heads, expected) in [
        (Reply::default().hang(), 0, "(timeout) before the head"),
        (slow_head, 0, "(timeout) before the head"),
        (
            slow_body,
            1,
            "the fetch exceeded 150ms (timeout) after 5 bytes of the body",
        ),
        (trickle, 1, "(timeout) after"),
    ] {
        let server = Server::new(move |_| reply.clone());
        let started = Instant::now();
        let seen = fetch(
            &options,
            &network(&[("example.test", &server)]),
            job("http://example.test/"),
        );
        assert!(started.elapsed() < Duration::from_secs(10));
        assert_eq!(kind(&seen), Some(FailureKind::Timeout));
        assert_eq!(seen.hops.len(), heads);
        let detail = seen.failure.unwrap().detail;
        assert!(detail.contains(expected), "{detail}");
    }
}

#[test]
fn a_kept_connection_that_closes_under_us_is_no_failure() {
    // The second request on any connection finds it closed without an answer.
    let server = Server::new(|request| match request.target.as_str() {
        "/first" => Reply::ok("hello"),
        _ if request.connection == 0 => Reply::default().close(),
        _ => Reply::ok("again"),
    });
    let one = quick_with(|options| options.host_concurrency = 1);
    let jobs = vec![
        job("http://example.test/first"),
        job("http://example.test/second"),
    ];
    for (url, seen) in fetch_all(&one, &network(&[("example.test", &server)]), jobs) {
        assert_eq!(seen.failure, None, "{url}");
    }
    assert_eq!(server.connections(), 2);
}

#[test]
fn heads_and_bodies_have_deadlines_of_their_own() {
    let options = quick_with(|options| {
        options.head_timeout = Duration::from_millis(150);
        options.idle_timeout = Duration::from_millis(200);
    });
    let pause = Duration::from_millis(50);
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let flood = (0..200).fold(Reply::default(), |reply, _| {
        reply.then(early).pause(Duration::from_millis(5))
    });
    let stuck = Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel")
        .pause(pause)
        .then("lo")
        .hang();
    for (reply, heads, expected) in [
        (
            flood,
            0,
            "the head of the response was not complete within 150ms (head-timeout)",
        ),
        (
            stuck,
            1,
            "no data came within 200ms (idle-timeout) after 5 bytes of the body",
        ),
    ] {
        let server = Server::new(move |_| reply.clone());
        let seen = fetch(
            &options,
            &network(&[("example.test", &server)]),
            job("http://example.test/"),
        );
        assert!(seen.elapsed < Duration::from_secs(1));
        assert_eq!(kind(&seen), Some(FailureKind::Timeout));
        assert_eq!(seen.hops.len(), heads);
        assert_eq!(seen.failure.unwrap().detail, expected);
    }
}

#[test]
fn a_slow_body_that_keeps_coming_is_waited_for() {
    let options = quick_with(|options| options.idle_timeout = Duration::from_millis(500));
    let slow = (0..10).fold(
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
        |reply, _| reply.pause(Duration::from_millis(80)).then("x"),
    );
    let server = Server::new(move |_| slow.clone());
    let seen = fetch(
        &options,
        &network(&[("example.test", &server)]),
        job("http://example.test/"),
    );
    assert_eq!(seen.failure, None);
    assert!(seen.elapsed > Duration::from_millis(700));
}

#[test]
fn a_head_has_bounds() {
    let with = |header: String| format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{header}\r\n");
    for (head, fits) in [
        (with("A: b\r\n".repeat(200)), true),
        (with("A: b\r\n".repeat(300)), false),
        (with(format!("A: {}\r\n", "b".repeat(300_000))), true),
        (with(format!("A: {}\r\n", "b".repeat(600_000))), false),
    ] {
        let server = Server::new(move |_| Reply::raw(&head));
        let seen = get(&server);
        let expected = (!fits).then_some(FailureKind::Protocol);
        assert_eq!(kind(&seen), expected, "{:?}", seen.failure);
        if let Some(failure) = seen.failure {
            let said = "the head of the response exceeds the limit of 256 headers or 300 kB";
            assert_eq!(failure.detail, said);
        }
    }
}
