//! Redirects, hop by hop.

use std::sync::Arc;

use urldb_fetch::{FetchOptions, HeaderSource, PromisedTargets};
use urldb_protocol::State;
use urldb_verdict::{FailureKind, Promise, classify};

use crate::support::{Reply, Server};
use crate::{fetch, job, kind, network, quick, quick_with};

#[test]
fn a_chain_is_followed_and_every_hop_recorded() {
    let server = Server::new(|request| match request.target.as_str() {
        "/1" => Reply::redirect(301, "2"),
        "/2" => Reply::redirect(308, "http://www.example.test/3?q#fragment"),
        _ => Reply::ok("hello"),
    });
    let hosts = network(&[("example.test", &server), ("www.example.test", &server)]);
    let seen = fetch(&quick(), &hosts, job("http://example.test/1"));
    assert_eq!(seen.failure, None);
    let hops: Vec<(u16, &str)> = seen
        .hops
        .iter()
        .map(|hop| (hop.status, hop.url.as_str()))
        .collect();
    assert_eq!(
        hops,
        [
            (301, "http://example.test/1"),
            (308, "http://example.test/2"),
            (200, "http://www.example.test/3?q"),
        ]
    );
    assert_eq!(seen.first().unwrap().header("location"), Some("2"));
    assert_eq!(seen.complete_body().unwrap().length, 5);
    let hosts: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("host").unwrap().to_owned())
        .collect();
    assert_eq!(hosts, ["example.test", "example.test", "www.example.test"]);
}

#[test]
fn the_target_of_a_promised_redirect_need_not_be_asked() {
    let server = Server::new(|request| match request.target.as_str() {
        "/from" => Reply::redirect(303, "http://other.example.test/to"),
        _ => Reply::ok("hello"),
    });
    let hosts = network(&[("example.test", &server), ("other.example.test", &server)]);
    let skip = FetchOptions {
        promised_targets: PromisedTargets::Skip,
        ..quick()
    };
    let to = Promise {
        redirects_to: Some("http://other.example.test/to".to_owned()),
        ..Promise::default()
    };
    let with = |change: fn(&mut Promise)| {
        let mut promise = to.clone();
        change(&mut promise);
        promise
    };
    for (promise, options, hops) in [
        (with(|_| ()), &skip, 1),
        (with(|it| it.status = Some(303)), &skip, 1),
        (with(|it| it.redirect_status = Some(303)), &skip, 1),
        (with(|_| ()), &quick(), 2),
        (with(|it| it.status = Some(302)), &skip, 2),
        (with(|it| it.redirect_status = Some(301)), &skip, 2),
        (with(|it| it.length = Some(5)), &skip, 2),
        (
            with(|it| it.content_type = Some("text/html".to_owned())),
            &skip,
            2,
        ),
        (
            with(|it| it.redirects_to = Some("http://example.test/".to_owned())),
            &skip,
            2,
        ),
        (Promise::default(), &skip, 2),
    ] {
        let mut job = job("http://example.test/from");
        job.promise = promise;
        let seen = fetch(options, &hosts, job.clone());
        assert_eq!(seen.hops.len(), hops, "{:?}", job.promise);
        assert_eq!(seen.failure, None);
        if hops == 1 {
            let found = classify(&job.promise, &seen, &[]);
            assert_eq!(found.state, State::Ok, "{:?}", job.promise);
        }
    }
}

#[test]
fn loops_and_limits_end_it_after_the_hop_was_recorded() {
    let server = Server::new(|request| {
        let number: usize = request.target[1..].parse().unwrap_or(0);
        match number {
            0 => Reply::redirect(302, "/0"),
            _ => Reply::redirect(302, &format!("/{}", number + 1)),
        }
    });
    let network = network(&[("example.test", &server)]);
    let options = FetchOptions {
        max_redirects: 3,
        ..quick()
    };
    let looped = fetch(&options, &network, job("http://example.test/0"));
    assert_eq!(kind(&looped), Some(FailureKind::RedirectLoop));
    assert_eq!(looped.hops.len(), 1);
    let long = fetch(&options, &network, job("http://example.test/1"));
    assert_eq!(kind(&long), Some(FailureKind::RedirectLimit));
    assert_eq!(long.hops.len(), 4);
}

#[test]
fn a_redirect_that_needs_cookies_is_named() {
    let server = Server::new(|request| match request.target.as_str() {
        "/a" => Reply::new(
            "302 Found",
            &["Location: /a", "Set-Cookie: seen=1; Path=/"],
            "",
        ),
        _ => Reply::redirect(302, "/b"),
    });
    let network = network(&[("example.test", &server)]);
    let detail = |path: &str| {
        let seen = fetch(
            &quick(),
            &network,
            job(&format!("http://example.test{path}")),
        );
        assert_eq!(kind(&seen), Some(FailureKind::RedirectLoop));
        seen.failure.unwrap().detail
    };
    assert_eq!(
        detail("/a"),
        "the redirect leads back to http://example.test/a; http://example.test/a sets a cookie, \
         which urldb does not send back: the redirect may need it"
    );
    assert_eq!(
        detail("/b"),
        "the redirect leads back to http://example.test/b"
    );
}

#[test]
fn a_redirect_without_a_location_is_the_last_response() {
    let server = Server::new(|_| Reply::new("302 Found", &[], "hello"));
    let seen = fetch(
        &quick(),
        &network(&[("example.test", &server)]),
        job("http://example.test/"),
    );
    assert_eq!(seen.failure, None);
    assert_eq!(seen.complete_body().unwrap().length, 5);
}

#[test]
fn what_cannot_be_followed_is_invalid() {
    for location in [
        "file:///etc/passwd",
        "http://user:hunter2@example.test/",
        "http://[bad/",
    ] {
        let server = Server::new(move |_| Reply::redirect(302, location));
        let seen = fetch(
            &quick(),
            &network(&[("example.test", &server)]),
            job("http://example.test/"),
        );
        assert_eq!(
            kind(&seen),
            Some(FailureKind::RedirectInvalid),
            "{location}"
        );
        assert_eq!(seen.hops.len(), 1);
        assert!(!seen.failure.unwrap().detail.contains("hunter2"));
    }
}

#[test]
fn a_redirect_to_a_refused_address_connects_to_nothing() {
    let inside = Server::at("127.0.0.2:0", |_| Reply::ok("secret"));
    let port = inside.port();
    for host in [
        "127.0.0.2",
        "[::ffff:127.0.0.2]",
        "2130706434",
        "0x7f.2",
        "[64:ff9b::7f00:2]",
        "localhost",
    ] {
        let location = format!("http://{host}:{port}/");
        let server = Server::new(move |_| Reply::redirect(302, &location));
        let mut network = network(&[("example.test", &server)]);
        network.allow = vec!["127.0.0.1/32".parse().unwrap()];
        if host == "localhost" {
            network.allow.clear();
        }
        let seen = fetch(&quick(), &network, job("http://example.test/"));
        assert_eq!(
            kind(&seen),
            Some(FailureKind::Refused),
            "{host}: {:?}",
            seen.failure
        );
        assert_eq!(seen.hops.len(), 1);
    }
    assert_eq!(inside.connections(), 0);
}

#[test]
fn headers_stay_at_the_origin_for_good() {
    let server = Server::new(|request| match request.target.as_str() {
        "/1" => Reply::redirect(307, "/2"),
        "/2" => Reply::redirect(307, "http://other.test/3"),
        "/3" => Reply::redirect(307, "http://example.test/4"),
        _ => Reply::ok(""),
    });
    let mut options = quick();
    options.default_host.headers.insert(
        "X-Token".to_owned(),
        HeaderSource::Text("secret".to_owned()),
    );
    let mut job = job("http://example.test/1");
    Arc::make_mut(&mut job.request).headers =
        vec![("Authorization".to_owned(), "Basic secret".to_owned())];
    let hosts = network(&[("example.test", &server), ("other.test", &server)]);
    let seen = fetch(&options, &hosts, job);
    assert_eq!(seen.hops.len(), 4);
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| {
            (
                request.header("x-token").is_some(),
                request.header("authorization").is_some(),
            )
        })
        .collect();
    assert_eq!(
        sent,
        [(true, true), (true, true), (false, false), (false, false)]
    );
    assert!(!format!("{:?}", seen.hops).contains("secret"));
}

#[test]
fn a_post_goes_along_or_becomes_a_get() {
    let server = Server::new(|request| match request.target.as_str() {
        "/302" => Reply::redirect(302, "/end"),
        "/307" => Reply::redirect(307, "/end"),
        _ => Reply::ok(""),
    });
    let hosts = network(&[("example.test", &server)]);
    for (path, method, body, content_type) in [
        ("302", "GET", "", None),
        ("307", "POST", "q=1", Some("text/plain")),
    ] {
        let mut job = job(&format!("http://example.test/{path}"));
        Arc::make_mut(&mut job.request).method = "POST".to_owned();
        Arc::make_mut(&mut job.request).body = Some("q=1".to_owned());
        Arc::make_mut(&mut job.request).headers =
            vec![("Content-Type".to_owned(), "text/plain".to_owned())];
        let options = quick_with(|options| options.unsafe_methods = true);
        assert_eq!(fetch(&options, &hosts, job).failure, None);
        let requests = server.requests();
        let last = requests.last().unwrap();
        assert_eq!(
            (last.target.as_str(), last.method.as_str()),
            ("/end", method)
        );
        assert_eq!(
            (last.body.as_slice(), last.header("content-type")),
            (body.as_bytes(), content_type)
        );
    }
}

#[test]
fn neither_a_body_nor_what_may_change_something_leaves_its_origin() {
    let server = Server::new(|request| match request.target.as_str() {
        "/away" => Reply::redirect(307, "http://other.test/"),
        "/back" => Reply::redirect(307, "http://example.test/"),
        "/away-and-back" => Reply::redirect(302, "http://other.test/back"),
        _ => Reply::ok(""),
    });
    let hosts = network(&[("example.test", &server), ("other.test", &server)]);
    let options = quick_with(|options| options.unsafe_methods = true);
    for (method, body, path, expected) in [
        ("POST", Some("q=1"), "away", Some("POST and its body to")),
        ("DELETE", None, "away", Some("DELETE to")),
        ("GET", Some("q=1"), "away", Some("GET and its body to")),
        ("PUT", None, "away-and-back", Some("PUT to")),
        ("POST", Some("q=1"), "away-and-back", None),
        ("GET", None, "away", None),
    ] {
        let mut job = job(&format!("http://example.test/{path}"));
        Arc::make_mut(&mut job.request).method = method.to_owned();
        Arc::make_mut(&mut job.request).body = body.map(str::to_owned);
        let before = server.requests().len();
        let seen = fetch(&options, &hosts, job);
        let Some(expected) = expected else {
            assert_eq!(seen.failure, None, "{method} {path}");
            continue;
        };
        assert_eq!(server.requests().len(), before + 1, "{method} {path}");
        let failure = seen.failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Refused);
        assert!(failure.detail.contains(expected), "{}", failure.detail);
    }
}
