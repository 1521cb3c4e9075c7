//! Servers and networks that fail.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use urldb::config::{Check, Mapping, Network};
use urldb::fetch::FailureKind;

use crate::support::{Reply, Server};
use crate::{fetch, fetch_all, get, job, kind, network, quick};

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
    let network = Network {
        map: vec![Mapping {
            host: "example.test".to_owned(),
            port: None,
            to_host: "127.0.0.1".to_owned(),
            to_port: Some(port),
        }],
        ..Network::default()
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
    let check = Check {
        timeout: Duration::from_millis(150),
        ..quick()
    };
    let slow_head = Reply::raw("HTTP/1.1 200 OK\r\nContent-").hang();
    let slow_body = Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello").hang();
    let trickle = (0..100).fold(Reply::raw("HTTP/1.1 200 OK\r\n\r\n"), |reply, _| {
        reply.then("x").pause(Duration::from_millis(20))
    });
    for (reply, heads, expected) in [
        (Reply::default().hang(), 0, "no response"),
        (slow_head, 0, "no response"),
        (slow_body, 1, "after 5 bytes"),
        (trickle, 1, "the body stopped"),
    ] {
        let server = Server::new(move |_| reply.clone());
        let started = Instant::now();
        let seen = fetch(
            &check,
            &network(&[("example.test", &server)]),
            job("http://example.test/"),
        );
        assert!(started.elapsed() < Duration::from_secs(1));
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
    let one = Check {
        host_concurrency: 1,
        ..quick()
    };
    let jobs = vec![
        job("http://example.test/first"),
        job("http://example.test/second"),
    ];
    for (url, seen) in fetch_all(&one, &network(&[("example.test", &server)]), jobs) {
        assert_eq!(seen.failure, None, "{url}");
    }
    assert_eq!(server.connections(), 2);
}
