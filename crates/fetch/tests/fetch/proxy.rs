//! Requests through a proxy.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use urldb_fetch::{Fetcher, Lookup, NetworkOptions, Proxy};
use urldb_verdict::{FailureKind, Job, Observation};

use crate::support::{Reply, Server};
use crate::tls::{Authority, params};
use crate::{fetch, fetch_by, job, kind, network, quick};

/// A network behind a proxy at this address.
fn behind(address: SocketAddr) -> NetworkOptions {
    NetworkOptions {
        proxy: Some(Proxy {
            address: format!("http://{address}").parse().unwrap(),
            user: None,
            password_env: None,
        }),
        ..NetworkOptions::default()
    }
}

/// A lookup that nobody should need.
#[derive(Debug)]
struct Nobody;

impl Lookup for Nobody {
    fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        panic!("{name} was looked up")
    }
}

/// Fetches through a proxy, without looking anything up.
fn through(network: &NetworkOptions, job: Job) -> Observation {
    fetch_by(
        &Fetcher::with_lookup(&quick(), network, Arc::new(Nobody)).unwrap(),
        job,
    )
}

/// A proxy that makes tunnels to one place, whatever it is asked for.
struct Tunnels {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Tunnels {
    fn to(place: SocketAddr) -> Self {
        Self::answering("HTTP/1.1 200 Connected\r\n\r\n", Some(place))
    }

    fn answering(answer: impl Into<String>, place: Option<SocketAddr>) -> Self {
        let answer: Arc<str> = answer.into().into();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&heads);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (asked, answer) = (Arc::clone(&asked), Arc::clone(&answer));
                // An error here is one side hanging up.
                thread::spawn(move || {
                    asked.lock().unwrap().push(read_head(&client)?);
                    (&client).write_all(answer.as_bytes())?;
                    place.map_or(Ok(()), |place| join(&client, &TcpStream::connect(place)?))
                });
            }
        });
        Self { address, heads }
    }
}

fn read_head(mut client: &TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.extend(byte);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn join(mut client: &TcpStream, mut server: &TcpStream) -> io::Result<()> {
    let (mut up_from, mut up_to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || io::copy(&mut up_from, &mut up_to));
    io::copy(&mut server, &mut client).map(drop)
}

#[test]
fn plain_requests_are_made_in_absolute_form() {
    let proxy = Server::new(|request| match request.target.as_str() {
        "http://example.test/a?b" => Reply::redirect(302, "http://10.0.0.1:8080/c"),
        _ => Reply::ok("hello"),
    });
    // Neither names nor addresses are vetted: where to go is for the proxy to say.
    let seen = through(&behind(proxy.address()), job("http://example.test/a?b"));
    assert_eq!(seen.failure, None);
    let asked: Vec<_> = proxy
        .requests()
        .iter()
        .map(|request| {
            let host = request.header("host").map(str::to_owned);
            (request.target.clone(), host)
        })
        .collect();
    assert_eq!(
        asked,
        [
            (
                "http://example.test/a?b".to_owned(),
                Some("example.test".to_owned())
            ),
            (
                "http://10.0.0.1:8080/c".to_owned(),
                Some("10.0.0.1:8080".to_owned())
            ),
        ]
    );
    for hop in &seen.hops {
        assert_eq!(hop.address, None, "the proxy's address is not the server's");
    }
}

#[test]
fn tls_goes_through_a_tunnel() {
    let authority = Authority::new();
    let server = authority.server(&params("example.test"));
    let tunnels = Tunnels::to(server.address());
    let network = NetworkOptions {
        ca_file: Some(authority.file.path().to_owned()),
        ..behind(tunnels.address)
    };
    let seen = through(&network, job("https://example.test/"));
    assert_eq!(seen.failure, None);
    assert_eq!(seen.complete_body().unwrap().length, 5);
    let hop = seen.last().unwrap();
    assert_eq!((hop.status, hop.address), (200, None));
    let other = through(&network, job("https://other.test:8443/"));
    assert_eq!(kind(&other), Some(FailureKind::TlsWrongHost));
    let heads = tunnels.heads.lock().unwrap();
    assert!(
        heads[0].starts_with("CONNECT example.test:443 HTTP/1.1\r\n"),
        "{heads:?}"
    );
    assert!(heads[1].starts_with("CONNECT other.test:8443 "));
}

/// RFC 9110, 9.3.6: any 2xx switches to the tunnel, and headers about a body mean nothing.
#[test]
fn every_good_answer_to_connect_opens_the_tunnel() {
    let authority = Authority::new();
    let server = authority.server(&params("example.test"));
    let many = "X-Way: on\r\n".repeat(400);
    let long = format!("X-Way: {}\r\n", "w".repeat(20_000));
    for (status, headers) in [
        ("HTTP/1.1 200 Connected", ""),
        ("HTTP/1.0 200", "Content-Length: 5\r\n"),
        ("HTTP/1.1 201 Created", "Transfer-Encoding: chunked\r\n"),
        ("HTTP/1.1 204 No Content", ""),
        ("HTTP/1.1 299 Well", ""),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connected", ""),
        ("HTTP/1.1 200 Connected", &many),
        ("HTTP/1.1 200 Connected", &long),
    ] {
        let answer = format!("{status}\r\n{headers}\r\n");
        let tunnels = Tunnels::answering(answer, Some(server.address()));
        let network = NetworkOptions {
            ca_file: Some(authority.file.path().to_owned()),
            ..behind(tunnels.address)
        };
        let seen = through(&network, job("https://example.test/"));
        assert_eq!(seen.failure, None, "{status}");
        assert_eq!(seen.complete_body().unwrap().length, 5, "{status}");
    }
}

#[test]
fn the_status_of_a_refused_tunnel_is_told() {
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X-Way: on\r\n".repeat(30_000));
    for (answer, kind, words) in [
        (
            "HTTP/1.1 403 Forbidden\r\n\r\n",
            FailureKind::Connect,
            "the proxy cannot connect to the server: it answers 403 Forbidden",
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://login.test/\r\n\r\n",
            FailureKind::Connect,
            "the proxy cannot connect to the server: it answers 302 Found",
        ),
        (
            "HTTP/1.1 503 Service Unavailable\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\n\r\n",
            FailureKind::Dns,
            "our proxy got no answer from the server: ERR_DNS_FAIL (503 Service Unavailable)",
        ),
        (
            "HTTP/1.1 403 Forbidden\r\nProxy-Status: p; error=http_request_denied\r\n\r\n",
            FailureKind::Refused,
            "our proxy refuses the request: http_request_denied (403 Forbidden)",
        ),
        (
            &endless,
            FailureKind::Connect,
            "the proxy cannot connect to the server: the head of its answer exceeds 256 KiB",
        ),
    ] {
        let tunnels = Tunnels::answering(answer, None);
        let seen = through(&behind(tunnels.address), job("https://example.test/"));
        let failure = seen.failure.unwrap();
        assert_eq!((failure.kind, &*failure.detail), (kind, words));
    }
}

/// A few servers know `Host:` alone, though names of headers have no case (RFC 9110, 5.1).
#[test]
fn names_of_headers_are_sent_and_recorded_in_title_case() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let asked = Tunnels::answering(answer, None);
    let seen = through(&behind(asked.address), job("http://example.test/"));
    let heads = asked.heads.lock().unwrap();
    let lines = heads[0].lines().skip(1);
    let names = lines.filter_map(|line| Some(line.split_once(": ")?.0));
    let names: Vec<_> = names.collect();
    assert_eq!(names, ["Host", "User-Agent", "Accept", "Accept-Encoding"]);
    let sent = &seen.last().unwrap().sent.headers;
    let sent: Vec<_> = sent.iter().map(|(name, _)| &**name).collect();
    assert_eq!(sent, names);
}

#[test]
fn what_a_proxy_refuses_is_no_answer_of_the_server() {
    let wants_a_password = Server::new(|_| Reply::new("407 Who are you", &[], ""));
    let seen = through(
        &behind(wants_a_password.address()),
        job("http://example.test/"),
    );
    let failure = seen.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.detail.contains("proxy"), "{}", failure.detail);
    assert!(seen.hops.is_empty());
    for answer in [
        "HTTP/1.1 407 Who are you\r\n\r\n",
        "HTTP/1.1 502 Nobody there\r\n\r\n",
        "SSH-2.0\r\n\r\n",
    ] {
        let tunnels = Tunnels::answering(answer, None);
        let seen = through(&behind(tunnels.address), job("https://example.test/"));
        let failure = seen.failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Connect, "{answer}");
        let is_said = failure
            .detail
            .starts_with("the proxy cannot connect to the server: ");
        assert!(is_said, "{}", failure.detail);
    }
    // Without a proxy 407 is an answer like others.
    let seen = fetch(
        &quick(),
        &network(&[("example.test", &wants_a_password)]),
        job("http://example.test/"),
    );
    assert_eq!((seen.failure, seen.hops[0].status), (None, 407));
}

#[test]
fn a_proxy_that_is_not_there_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = behind(listener.local_addr().unwrap());
    drop(listener);
    for url in ["http://example.test/", "https://example.test/"] {
        let seen = through(&nowhere, job(url));
        assert_eq!(kind(&seen), Some(FailureKind::Connect), "{url}");
    }
}

#[test]
fn a_mapping_leads_past_the_proxy() {
    let (proxy, server) = (
        Server::new(|_| Reply::ok("")),
        Server::new(|_| Reply::ok("")),
    );
    let network = NetworkOptions {
        map: network(&[("example.test", &server)]).map,
        ..behind(proxy.address())
    };
    let seen = through(&network, job("http://example.test/"));
    assert_eq!(seen.hops[0].address, Some(server.address()));
    assert_eq!((proxy.connections(), server.connections()), (0, 1));
}

#[test]
fn an_error_that_the_proxy_reports_is_no_answer_of_the_server() {
    let error = |header: &str| Reply::new("503 Service Unavailable", &[header], "cannot");
    let proxy = Server::new(move |request| match request.target.as_str() {
        "http://example.test/squid" => error("X-Squid-Error: ERR_DNS_FAIL 0"),
        "http://example.test/standard" => error("Proxy-Status: p; error=http_request_denied"),
        _ => error("Proxy-Status: p; received-status=503"),
    });
    let network = behind(proxy.address());
    for (path, expected) in [
        ("squid", FailureKind::Dns),
        ("standard", FailureKind::Refused),
    ] {
        let seen = through(&network, job(&format!("http://example.test/{path}")));
        assert_eq!(
            (kind(&seen), seen.hops.len()),
            (Some(expected), 0),
            "{path}"
        );
    }
    let seen = through(&network, job("http://example.test/other"));
    assert_eq!((seen.failure, seen.hops[0].status), (None, 503));
    // Without a proxy, the header is part of an answer like others.
    let server = Server::new(move |_| error("X-Squid-Error: ERR_DNS_FAIL 0"));
    let direct = crate::network(&[("example.test", &server)]);
    let seen = fetch(&quick(), &direct, job("http://example.test/squid"));
    assert_eq!((seen.failure, seen.hops[0].status), (None, 503));
}
