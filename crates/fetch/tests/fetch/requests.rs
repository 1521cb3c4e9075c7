//! What is sent, and where to.

use std::sync::Arc;

use urldb_fetch::{Fetcher, HeaderSource, Mapping, NetworkOptions};
use urldb_verdict::FailureKind;

use crate::support::{Reply, Server};
use crate::{fetch, fetch_all, get, job, kind, network, quick, quick_with};

#[test]
fn what_is_recorded_is_what_was_sent() {
    let server = Server::new(|_| Reply::ok(""));
    let seen = get(&server);
    let hop = seen.last().unwrap();
    let recorded: Vec<(String, String)> = hop
        .sent
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), String::from_utf8(value.clone()).unwrap()))
        .collect();
    assert_eq!(recorded, server.requests()[0].headers);
    let names: Vec<&str> = recorded.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Host", "User-Agent", "Accept", "Accept-Encoding"]);
    assert_eq!(recorded[3].1, "identity");
}

#[test]
fn a_request_body_is_recorded_with_its_length() {
    let server = Server::new(|_| Reply::ok(""));
    let mut job = job("http://example.test/");
    Arc::make_mut(&mut job.request).method = "POST".to_owned();
    Arc::make_mut(&mut job.request).body = Some("hello".to_owned());
    Arc::make_mut(&mut job.request).headers = vec![
        ("Accept".to_owned(), "text/csv".to_owned()),
        ("X-Twice".to_owned(), "1".to_owned()),
        ("X-Twice".to_owned(), "2".to_owned()),
    ];
    let options = quick_with(|options| options.unsafe_methods = true);
    let seen = fetch(&options, &network(&[("example.test", &server)]), job);
    let request = &server.requests()[0];
    assert_eq!(request.body, b"hello");
    let recorded: Vec<&str> = seen.hops[0]
        .sent
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let sent: Vec<&str> = request
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(recorded, sent);
    assert_eq!(request.header("accept"), Some("text/csv"));
    assert_eq!(sent.iter().filter(|name| **name == "X-Twice").count(), 2);
    assert!(recorded.contains(&"Content-Length"));
}

#[test]
fn what_may_change_something_is_not_sent_without_leave() {
    let server = Server::new(|_| Reply::ok(""));
    let network = network(&[("example.test", &server), ("other.test", &server)]);
    let mut options = quick();
    let with_leave = quick_with(|options| options.unsafe_methods = true).default_host;
    options.hosts.insert("other.test".to_owned(), with_leave);
    for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "get"] {
        let mut job = job("http://example.test/");
        Arc::make_mut(&mut job.request).method = method.to_owned();
        let failure = fetch(&options, &network, job).failure.unwrap();
        assert_eq!(failure.kind, FailureKind::UnsafeMethod, "{method}");
        let said = format!(
            "{method} may change something on the server: set `unsafe-methods = true` under \
             [check] or [check.host.\"example.test\"] to send it"
        );
        assert_eq!(failure.detail, said);
    }
    assert_eq!(server.connections(), 0);
    let mut permitted = job("http://other.test/");
    Arc::make_mut(&mut permitted.request).method = "DELETE".to_owned();
    assert_eq!(fetch(&options, &network, permitted).failure, None);
    assert_eq!(server.requests()[0].method, "DELETE");
}

#[test]
fn what_may_change_something_has_a_connection_of_its_own() {
    let server = Server::new(|_| Reply::ok(""));
    let options = quick_with(|options| {
        options.unsafe_methods = true;
        options.host_concurrency = 1;
    });
    let jobs = ["GET", "POST", "GET", "POST"].map(|method| {
        let mut job = job("http://example.test/");
        Arc::make_mut(&mut job.request).method = method.to_owned();
        job
    });
    fetch_all(
        &options,
        &network(&[("example.test", &server)]),
        jobs.into(),
    );
    let requests = server.requests();
    let asked: Vec<_> = requests
        .iter()
        .map(|request| (request.method.as_str(), request.connection))
        .collect();
    assert_eq!(asked, [("GET", 0), ("POST", 1), ("GET", 0), ("POST", 2)]);
}

#[test]
fn headers_that_would_break_the_connection_are_refused() {
    let server = Server::new(|_| Reply::ok(""));
    let network = network(&[("example.test", &server)]);
    for (name, value) in [
        ("Transfer-Encoding", "chunked"),
        ("X-A", "1\r\nX-B: 2"),
        ("X A", "1"),
    ] {
        let mut job = job("http://example.test/");
        Arc::make_mut(&mut job.request).headers = vec![(name.to_owned(), value.to_owned())];
        assert_eq!(
            kind(&fetch(&quick(), &network, job)),
            Some(FailureKind::Refused),
            "{name}"
        );
        let mut options = quick();
        options
            .default_host
            .headers
            .insert(name.to_owned(), HeaderSource::Text(value.to_owned()));
        let error = Fetcher::new(&options, &network).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
    assert_eq!(server.connections(), 0);
}

fn mapping(host: &str, port: Option<u16>, to: &Server) -> Mapping {
    let mapping = format!("{host}=127.0.0.1:{}", to.port()).parse().unwrap();
    Mapping { port, ..mapping }
}

#[test]
fn a_mapping_leads_elsewhere_and_keeps_the_host() {
    let [any, special, literal] =
        ["any", "special", "literal"].map(|name| Server::new(move |_| Reply::ok(name)));
    let mut network = NetworkOptions {
        map: vec![
            mapping("Example.Test.", None, &any),
            mapping("example.test", Some(8081), &special),
            mapping("192.0.2.1", Some(80), &literal),
            mapping("[2001:db8::1]", None, &literal),
        ],
        ..NetworkOptions::default()
    };
    // Only redirects lead to hosts that no domain file is named after.
    let away = Server::new(|request| Reply::redirect(302, &request.target[1..]));
    network.map.push(mapping("away.test", None, &away));
    for (url, server, host) in [
        ("http://example.test/", &any, "example.test"),
        ("http://example.test:8080/", &any, "example.test:8080"),
        (
            "http://away.test/http://EXAMPLE.test:8080/",
            &any,
            "example.test:8080",
        ),
        ("http://example.test:8081/", &special, "example.test:8081"),
        ("http://192.0.2.1/", &literal, "192.0.2.1"),
        (
            "http://away.test/http://[2001:db8::1]:99/",
            &literal,
            "[2001:db8::1]:99",
        ),
    ] {
        let seen = fetch(&quick(), &network, job(url));
        assert_eq!(seen.failure, None, "{url}");
        let last = seen.hops.last().unwrap();
        assert_eq!(last.address, Some(server.address()), "{url}");
        assert_eq!(
            server.requests().last().unwrap().header("host"),
            Some(host),
            "{url}"
        );
    }
    let elsewhere = fetch(&quick(), &network, job("http://192.0.2.1:81/"));
    assert_eq!(kind(&elsewhere), Some(FailureKind::Refused));
}

#[test]
fn a_mapping_may_keep_the_port() {
    let server = Server::new(|_| Reply::ok(""));
    let network = NetworkOptions {
        map: vec![Mapping {
            to_port: None,
            to_host: "localhost".to_owned(),
            ..mapping("example.test", None, &server)
        }],
        ..NetworkOptions::default()
    };
    let seen = fetch(
        &quick(),
        &network,
        job(&format!("http://example.test:{}/", server.port())),
    );
    assert_eq!(seen.failure, None);
}

#[test]
fn an_allowed_range_may_be_asked_without_a_mapping() {
    let server = Server::new(|_| Reply::ok(""));
    let mut network = NetworkOptions::default();
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/", server.port());
        network.allow.clear();
        assert_eq!(
            kind(&fetch(&quick(), &network, job(&url))),
            Some(FailureKind::Refused),
            "{host}"
        );
        network.allow = vec!["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
        assert_eq!(fetch(&quick(), &network, job(&url)).failure, None, "{host}");
    }
}
