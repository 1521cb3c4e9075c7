//! What is said of bodies.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use urldb_fetch::FetchOptions;
use urldb_verdict::{BodyEnd, BodyUse, Decoded, FailureKind, Job, Keep, Observation, PAGE};

use crate::support::{Reply, Server};
use crate::{fetch, get, job, kind, network, quick, quick_with, sha256};

fn bytes(observation: &mut Observation) -> Vec<u8> {
    let spool = observation
        .body
        .as_mut()
        .and_then(|body| body.bytes.as_mut());
    let mut bytes = Vec::new();
    let mut reader = spool
        .expect("a kept body")
        .reader()
        .expect("a readable spool");
    reader.read_to_end(&mut bytes).expect("a readable spool");
    bytes
}

#[test]
fn a_whole_body_is_hashed_and_kept() {
    let server =
        Server::new(|_| Reply::new("200 Fine by me", &["X-A: 1", "x-b: 2", "X-a: 3"], "hello"));
    let mut seen = get(&server);
    assert_eq!(seen.failure, None);
    let hop = seen.last().unwrap();
    assert_eq!(
        (hop.url.as_str(), hop.status, &*hop.version),
        ("http://example.test/", 200, "HTTP/1.1")
    );
    assert_eq!(hop.reason_phrase, "Fine by me");
    assert_eq!(hop.address, Some(server.address()));
    let names: Vec<&str> = hop.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["content-length", "x-a", "x-a", "x-b"]);
    let body = seen.complete_body().unwrap();
    assert_eq!((body.length, body.sha256), (5, sha256(b"hello")));
    assert_eq!(body.decoded, None);
    assert_eq!(bytes(&mut seen), b"hello");
}

#[test]
fn framing_is_undone() {
    for reply in [
        Reply::raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: 1\r\n\r\n",
        ),
        Reply::raw("HTTP/1.0 200 OK\r\n\r\nhello").close(),
        Reply::raw("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ] {
        let server = Server::new(move |_| reply.clone());
        let mut seen = get(&server);
        assert_eq!(seen.failure, None);
        assert_eq!(seen.complete_body().unwrap().sha256, sha256(b"hello"));
        assert_eq!(bytes(&mut seen), b"hello");
    }
}

#[test]
fn responses_without_a_body_are_complete() {
    for (method, reply) in [
        (
            "HEAD",
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        ),
        ("GET", Reply::raw("HTTP/1.1 204 No Content\r\n\r\n")),
        (
            "GET",
            Reply::raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
        ),
    ] {
        let server = Server::new(move |_| reply.clone());
        let mut job = job("http://example.test/");
        Arc::make_mut(&mut job.request).method = method.to_owned();
        let seen = fetch(&quick(), &network(&[("example.test", &server)]), job);
        assert_eq!(seen.failure, None);
        let body = seen.complete_body().unwrap();
        assert_eq!((body.length, body.sha256), (0, sha256(b"")));
    }
}

#[test]
fn a_body_that_ends_early_is_broken() {
    for (reply, expected) in [
        (
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
            FailureKind::Disconnected,
        ),
        (
            Reply::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
            FailureKind::Disconnected,
        ),
        (
            Reply::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"),
            FailureKind::Protocol,
        ),
    ] {
        // A pause keeps the head and the end of the connection apart.
        let reply = reply.pause(Duration::from_millis(20)).close();
        let server = Server::new(move |_| reply.clone());
        let seen = get(&server);
        assert_eq!(kind(&seen), Some(expected), "{:?}", seen.failure);
        assert_eq!(seen.last().unwrap().status, 200);
        let body = seen.body.as_ref().unwrap();
        assert_eq!((body.length, body.end), (5, BodyEnd::Broken));
    }
}

#[test]
fn a_body_is_cut_one_byte_after_it_is_too_long() {
    let endless = "HTTP/1.1 200 OK\r\n\r\n".to_owned() + &"x".repeat(100_000);
    let server = Server::new(move |_| Reply::raw(&endless).hang());
    let network = network(&[("example.test", &server)]);
    let mut promised = job("http://example.test/");
    promised.body = BodyUse::Hash {
        at_most: 1000,
        keep: Keep::Everything,
        beyond: 0,
    };
    let capped = quick_with(|options| options.max_body = 1000);
    for (options, job) in [(quick(), promised), (capped, job("http://example.test/"))] {
        let mut seen = fetch(&options, &network, job);
        assert_eq!(seen.failure, None);
        let body = seen.body.as_ref().unwrap();
        assert_eq!((body.length, body.end), (1001, BodyEnd::Cut));
        assert_eq!(bytes(&mut seen).len(), 1001);
    }
}

/// A job that promises 1,000 bytes, with an archive that wants `beyond` more.
fn promised(keep: Keep, beyond: u64) -> Job {
    Job {
        body: BodyUse::Hash {
            at_most: 1000,
            keep,
            beyond,
        },
        ..job("http://example.test/")
    }
}

#[test]
fn a_body_that_is_kept_is_read_beyond_the_promise() {
    let long = "x".repeat(3000);
    let server = Server::new(move |_| Reply::ok(&long));
    let network = network(&[("example.test", &server)]);
    for (keep, beyond, length, end) in [
        (Keep::Everything, 2000, 3000, BodyEnd::Complete),
        (Keep::Changes, 2000, 3000, BodyEnd::Complete),
        (Keep::Nothing, 2000, 1001, BodyEnd::Cut),
        (Keep::Everything, 1999, 3000, BodyEnd::Cut),
        (Keep::Everything, 5, 1006, BodyEnd::Cut),
    ] {
        let mut seen = fetch(&quick(), &network, promised(keep, beyond));
        assert_eq!(seen.failure, None);
        let body = seen.body.as_mut().unwrap();
        assert_eq!((body.length, body.end), (length, end), "{keep:?} {beyond}");
        assert_eq!(body.cut, None);
        let kept = body.bytes.as_ref().map(urldb_files::Spool::length);
        assert_eq!(kept, (keep != Keep::Nothing).then_some(length));
    }
    // `max-body` holds here too.
    let capped = quick_with(|options| options.max_body = 2000);
    let seen = fetch(&capped, &network, promised(Keep::Everything, 5000));
    assert_eq!(seen.body.unwrap().length, 2001);
}

/// Whatever ends it, the body has shown before that it is another.
#[test]
fn a_body_that_is_too_long_is_cut_where_reading_on_fails() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n".to_owned();
    let part = head + &"x".repeat(3000);
    for (hangs, expected) in [
        (false, FailureKind::Disconnected),
        (true, FailureKind::Timeout),
    ] {
        let part = part.clone();
        let server = Server::new(move |_| {
            let reply = Reply::raw(&part).pause(Duration::from_millis(20));
            if hangs { reply.hang() } else { reply.close() }
        });
        let network = network(&[("example.test", &server)]);
        let hasty = quick_with(|options| options.idle_timeout = Duration::from_millis(300));
        let seen = fetch(&hasty, &network, promised(Keep::Everything, 9000));
        assert_eq!(seen.failure, None);
        let body = seen.body.unwrap();
        assert_eq!((body.length, body.end), (3000, BodyEnd::Cut));
        assert_eq!(body.cut.map(|cut| cut.kind), Some(expected));
    }
}

#[test]
fn an_endless_body_is_read_as_far_as_the_byte_budget_and_the_deadline_let() {
    let endless = "HTTP/1.1 200 OK\r\n\r\n".to_owned() + &"x".repeat(100_000);
    let server = Server::new(move |_| Reply::raw(&endless).hang());
    let network = network(&[("example.test", &server)]);
    let limits: [fn(&mut FetchOptions); 2] = [
        |options| options.byte_budget = Some(10_000),
        |options| options.deadline = Some(Duration::from_millis(500)),
    ];
    for limit in limits {
        let mut options = quick();
        limit(&mut options);
        let seen = fetch(&options, &network, promised(Keep::Everything, 1 << 30));
        assert_eq!(seen.failure, None);
        let body = seen.body.unwrap();
        assert!(body.length > 1000, "{}", body.length);
        assert_eq!(body.end, BodyEnd::Cut);
        assert_eq!(body.cut.map(|cut| cut.kind), Some(FailureKind::RunEnded));
    }
}

#[test]
fn a_coding_that_nobody_asked_for_is_undone_on_the_side() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let plain = vec![b'x'; 100_000];
    encoder.write_all(&plain).unwrap();
    let coded = encoder.finish().unwrap();
    let (length, digest) = (coded.len() as u64, sha256(&coded));
    let server = Server::new(move |_| Reply::new("200 OK", &["Content-Encoding: gzip"], &coded));
    let seen = get(&server);
    let body = seen.complete_body().unwrap();
    assert_eq!((body.length, body.sha256), (length, digest));
    let whole = Decoded::Whole {
        length: 100_000,
        sha256: sha256(&plain),
    };
    assert_eq!(body.decoded, Some(whole));
    // People read how long the content is, however short the promise is.
    let mut shorter = job("http://example.test/");
    shorter.promise.length = Some(99_999);
    let seen = fetch(&quick(), &network(&[("example.test", &server)]), shorter);
    assert_eq!(seen.complete_body().unwrap().decoded, Some(whole));
    let capped = quick_with(|options| options.max_body = 99_999);
    let seen = fetch(
        &capped,
        &network(&[("example.test", &server)]),
        job("http://example.test/"),
    );
    let given_up = Some(Decoded::LongerThan(99_999));
    assert_eq!(seen.complete_body().unwrap().decoded, given_up);
}

/// Bytes that no coding makes shorter.
fn noise(length: usize) -> Vec<u8> {
    let digests = (0u32..).flat_map(|number| sha256(&number.to_le_bytes()));
    digests.take(length).collect()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// As long as a coding may hide what is promised, `max-body` is the limit; after that, what the archive
/// wants.
#[test]
fn a_coded_body_is_kept_as_far_as_its_content_and_the_archive_need() {
    let (whole, cut) = (BodyEnd::Complete, BodyEnd::Cut);
    let coded = gzip(&noise(5000));
    let all = coded.len() as u64;
    assert!(all > 5000);
    let no_coding = vec![0xff; 5000];
    for (sent, keep, beyond, max_body, length, end) in [
        (&coded, Keep::Everything, 10, 1 << 20, all, whole),
        (&coded, Keep::Nothing, 0, 1 << 20, all, whole),
        (&coded, Keep::Everything, 10, 3000, 3001, cut),
        (&coded, Keep::Everything, 9000, 3000, 3001, cut),
        (&coded, Keep::Nothing, 0, 3000, 3001, cut),
        (&no_coding, Keep::Everything, 9000, 1 << 20, 5000, whole),
        (&no_coding, Keep::Everything, 9000, 3000, 3001, cut),
        (&no_coding, Keep::Everything, 10, 1 << 20, 1011, cut),
        (&no_coding, Keep::Nothing, 10, 1 << 20, 1001, cut),
    ] {
        let reply = Reply::new("200 OK", &["Content-Encoding: gzip"], sent);
        let server = Server::new(move |_| reply.clone());
        let network = network(&[("example.test", &server)]);
        let options = quick_with(|options| options.max_body = max_body);
        let mut seen = fetch(&options, &network, promised(keep, beyond));
        let case = format!("{keep:?} {beyond} {max_body} of {}", sent.len());
        assert_eq!(seen.failure, None, "{case}");
        let body = seen.body.as_ref().unwrap();
        assert_eq!((body.length, body.end), (length, end), "{case}");
        let read = &sent[..usize::try_from(length).unwrap()];
        assert_eq!(body.sha256, sha256(read), "{case}");
        assert_eq!(body.bytes.is_some(), keep == Keep::Everything, "{case}");
        if keep == Keep::Everything {
            assert!(bytes(&mut seen) == *read, "{case}");
        }
    }
}

/// The content turns out to be too long when more was read than would be wanted then.
#[test]
fn a_coded_body_whose_content_is_too_long_is_cut_with_the_bytes_that_were_read() {
    let bomb = gzip(&vec![0; 4 << 20]);
    assert!(bomb.len() > 3000);
    let sent = bomb.clone();
    let server = Server::new(move |_| Reply::new("200 OK", &["Content-Encoding: gzip"], &sent));
    let network = network(&[("example.test", &server)]);
    let options = quick_with(|options| options.max_body = 2000);
    for beyond in [0, 10, 5000] {
        let mut seen = fetch(&options, &network, promised(Keep::Everything, beyond));
        assert_eq!(seen.failure, None);
        let body = seen.body.as_ref().unwrap();
        // How much was read by then depends on the network.
        let least = (1001 + beyond).min(2001);
        assert!((least..=2001).contains(&body.length), "{}", body.length);
        assert_eq!(body.end, BodyEnd::Cut);
        assert_eq!(body.decoded, Some(Decoded::LongerThan(2000)));
        let read = usize::try_from(body.length).unwrap();
        assert_eq!(bytes(&mut seen), bomb[..read]);
    }
}

/// A coding that breaks off shows nothing; a body that has no coding and is too long shows a change.
#[test]
fn a_coded_body_that_is_lost_is_cut_only_where_no_coding_can_hide_the_promise() {
    let coded = gzip(&noise(5000));
    let no_coding = vec![0xff; 5000];
    for (sent, end) in [(coded, BodyEnd::Broken), (no_coding, BodyEnd::Cut)] {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5000\r\n\r\n";
        let reply = Reply::raw(head).then(&sent[..3000]);
        let reply = reply.pause(Duration::from_millis(20)).close();
        let server = Server::new(move |_| reply.clone());
        let network = network(&[("example.test", &server)]);
        let mut seen = fetch(&quick(), &network, promised(Keep::Everything, 9000));
        let lost = Some(FailureKind::Disconnected);
        assert_eq!(kind(&seen), lost.filter(|_| end == BodyEnd::Broken));
        let body = seen.body.as_ref().unwrap();
        assert_eq!((body.length, body.end), (3000, end));
        let cut = body.cut.as_ref().map(|cut| cut.kind);
        assert_eq!(cut, lost.filter(|_| end == BodyEnd::Cut));
        assert_eq!(bytes(&mut seen), sent[..3000]);
    }
}

#[test]
fn a_coding_may_be_much_longer_than_its_content() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let plain: Vec<u8> = (0..20_000u32)
        .flat_map(u32::to_le_bytes)
        .take(20_000)
        .collect();
    for byte in &plain {
        encoder.write_all(&[*byte]).unwrap();
        // Servers that stream flush after each write.
        encoder.flush().unwrap();
    }
    let coded = encoder.finish().unwrap();
    assert!(coded.len() > 3 * plain.len(), "{}", coded.len());
    let server = Server::new(move |_| Reply::new("200 OK", &["Content-Encoding: gzip"], &coded));
    let mut promised = job("http://example.test/");
    promised.promise.length = Some(20_000);
    promised.body = BodyUse::Hash {
        at_most: 20_000,
        keep: Keep::Nothing,
        beyond: 0,
    };
    let seen = fetch(&quick(), &network(&[("example.test", &server)]), promised);
    let whole = Decoded::Whole {
        length: 20_000,
        sha256: sha256(&plain),
    };
    assert_eq!(seen.complete_body().unwrap().decoded, Some(whole));
}

#[test]
fn a_body_that_nobody_wants_does_not_spoil_the_connection_nor_hold_it_up() {
    let skip = |path: &str| Job {
        body: BodyUse::Skip,
        ..job(&format!("http://example.test/{path}"))
    };
    let server = Server::new(|request| match request.target.as_str() {
        "/small" => Reply::ok("small"),
        _ => Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nx").hang(),
    });
    let network = network(&[("example.test", &server)]);
    let one = quick_with(|options| options.host_concurrency = 1);
    let jobs = vec![skip("small"), skip("small"), skip("large")];
    for (_, seen) in crate::fetch_all(&one, &network, jobs) {
        assert_eq!(seen.failure, None);
        assert_eq!(seen.last().unwrap().status, 200);
        assert!(seen.body.is_none());
    }
    let connections: Vec<usize> = server
        .requests()
        .iter()
        .map(|request| request.connection)
        .collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[test]
fn a_page_is_read_as_far_as_it_is_wanted() {
    let length = 2 * PAGE;
    let server = Server::new(move |request| {
        let html = "Content-Type: Application/XHTML+xml; charset=utf-8";
        match request.target.as_str() {
            "/long" => Reply::new("200 OK", &[html], "x".repeat(length)),
            "/short" => Reply::new("200 OK", &[html], "short"),
            "/broken" => {
                let head = format!("HTTP/1.1 200 OK\r\n{html}\r\nContent-Length: 9\r\n\r\n");
                Reply::raw(format!("{head}half")).close()
            }
            _ => Reply::ok("text"),
        }
    });
    let network = network(&[("example.test", &server)]);
    for body in [BodyUse::Skip, job("http://example.test/").body] {
        let seen = |path: &str, canonical: Option<&str>| {
            let mut job = job(&format!("http://example.test/{path}"));
            job.body = body;
            job.promise.canonical = canonical.map(Into::into);
            fetch(&quick(), &network, job)
        };
        let page = |path| seen(path, Some("http://example.test/"));
        assert_eq!(page("long").page.unwrap().len(), PAGE);
        assert_eq!(page("long").start.len(), 4096);
        assert_eq!(page("short").page.unwrap(), b"short");
        assert_eq!(page("broken").page, None);
        assert_eq!(page("broken").start, b"half");
        assert_eq!(page("text").page, None);
        assert_eq!(seen("short", None).page, None);
        assert_eq!(page("long").body.is_some(), body != BodyUse::Skip);
        assert_eq!(page("broken").failure.is_some(), body != BodyUse::Skip);
    }
}

#[test]
fn framing_that_contradicts_itself_is_no_answer() {
    for head in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 99999999999999999999999\r\n",
    ] {
        let reply = Reply::raw(format!("HTTP/1.1 200 OK\r\n{head}\r\nhello!"));
        let server = Server::new(move |_| reply.clone());
        let seen = get(&server);
        assert_eq!(kind(&seen), Some(FailureKind::Protocol), "{head}");
        assert!(seen.body.is_none());
    }
}

#[test]
fn what_follows_a_response_is_not_taken_for_the_next_one() {
    let fake = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake";
    for first in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ] {
        let server = Server::new(move |request| match request.target.as_str() {
            "/first" => Reply::raw([first, fake].concat()),
            _ => Reply::ok("right"),
        });
        let one = quick_with(|options| options.host_concurrency = 1);
        let jobs =
            ["first", "second", "third"].map(|path| job(&format!("http://example.test/{path}")));
        let seen = crate::fetch_all(&one, &network(&[("example.test", &server)]), jobs.into());
        for (url, seen) in &seen {
            assert_eq!(seen.failure, None, "{url}");
            if !url.ends_with("first") {
                assert_eq!(
                    seen.complete_body().unwrap().sha256,
                    sha256(b"right"),
                    "{url} after {first}"
                );
            }
        }
        assert_eq!(server.connections(), 2, "{first}");
    }
}
