//! From names to addresses. All of them are on the loopback interface; those that are not
//! permitted stand for the addresses of somebody's own network.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use urldb_fetch::{Fetcher, Lookup, NetworkOptions, Stop};
use urldb_protocol::State;
use urldb_verdict::{FailureKind, Job, JudgedJob, Observation, VerdictOptions, decide};

use crate::support::{Reply, Server};
use crate::{fetch_by, job, kind, quick, quick_with};

/// Answers one after the other; the last one for good.
#[derive(Debug)]
struct Scripted {
    answers: Mutex<VecDeque<Vec<SocketAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let address = |text: &&str| SocketAddr::new(text.parse::<IpAddr>().unwrap(), 0);
        let answer = |all: &&[&str]| all.iter().map(address).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(answer).collect()),
            asked: Mutex::default(),
        })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Lookup for Scripted {
    fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        self.asked.lock().unwrap().push(name.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let next = answers.pop_front().ok_or(io::ErrorKind::NotFound)?;
        if answers.is_empty() {
            answers.push_back(next.clone());
        }
        Ok(next)
    }
}

fn allowing(ranges: &[&str]) -> NetworkOptions {
    NetworkOptions {
        allow: ranges.iter().map(|range| range.parse().unwrap()).collect(),
        ..NetworkOptions::default()
    }
}

/// A server at each of these addresses, all on one port, which say where they are, and redirect
/// from `/away` to another name.
fn servers<const N: usize>(addresses: [&'static str; N]) -> ([Server; N], u16) {
    // A port that is free at one address may be taken at another.
    for _ in 0..100 {
        let free = TcpListener::bind((addresses[0], 0)).expect("a free port");
        let port = free.local_addr().expect("a bound listener").port();
        let all: Vec<_> = addresses[1..]
            .iter()
            .map(|address| TcpListener::bind((*address, port)))
            .collect();
        let are_free = all.iter().all(Result::is_ok);
        drop((free, all));
        if are_free {
            let at = |address: &'static str| {
                let place = SocketAddr::new(address.parse().unwrap(), port);
                Server::at(&place.to_string(), move |request| {
                    match request.target.as_str() {
                        "/away" => Reply::redirect(302, &format!("http://inner.test:{port}/")),
                        _ => Reply::ok(address),
                    }
                })
            };
            return (addresses.map(at), port);
        }
    }
    panic!("no port is free at all of {addresses:?}");
}

fn at_port(port: u16) -> Job {
    job(&format!("http://name.test:{port}/"))
}

#[test]
fn the_address_that_was_vetted_is_the_one_that_is_connected_to() {
    let ([permitted, forbidden], port) = servers(["127.0.0.2", "127.0.0.3"]);
    let names = Scripted::new(&[&["127.0.0.2"], &["127.0.0.3"]]);
    let network = allowing(&["127.0.0.2/32"]);
    let fetcher = Fetcher::with_lookup(&quick(), &network, names.clone()).unwrap();

    let seen = fetch_by(&fetcher, at_port(port));
    assert_eq!(seen.failure, None);
    assert_eq!(seen.hops[0].address, Some(permitted.address()));
    assert_eq!(names.asked(), ["name.test"], "asked once, and not again");

    // Whoever asks again gets the other answer, and goes nowhere.
    let again = Fetcher::with_lookup(&quick(), &network, names.clone()).unwrap();
    let seen = fetch_by(&again, at_port(port));
    assert_eq!(kind(&seen), Some(FailureKind::Refused));
    assert_eq!(permitted.connections(), 1);
    assert_eq!(forbidden.connections(), 0);
}

#[test]
fn of_several_addresses_those_are_used_that_are_permitted() {
    let ([permitted, forbidden], port) = servers(["127.0.0.2", "127.0.0.3"]);
    let network = allowing(&["127.0.0.2/32"]);
    for answer in [["127.0.0.3", "127.0.0.2"], ["127.0.0.2", "127.0.0.3"]] {
        let names = Scripted::new(&[&answer]);
        let fetcher = Fetcher::with_lookup(&quick(), &network, names).unwrap();
        let seen = fetch_by(&fetcher, at_port(port));
        assert_eq!(seen.failure, None, "{answer:?}");
        assert_eq!(seen.hops[0].address, Some(permitted.address()));
    }
    // Not even when those do not answer.
    drop(permitted);
    let names = Scripted::new(&[&["127.0.0.2", "127.0.0.3"]]);
    let fetcher = Fetcher::with_lookup(&quick(), &network, names).unwrap();
    let seen = fetch_by(&fetcher, at_port(port));
    assert_ne!(seen.failure, None);
    assert_eq!(forbidden.connections(), 0);
}

#[test]
fn a_name_behind_a_redirect_is_vetted_too() {
    let ([permitted, forbidden], port) = servers(["127.0.0.2", "127.0.0.3"]);
    let names = Scripted::new(&[&["127.0.0.2"], &["127.0.0.3"]]);
    let network = allowing(&["127.0.0.2/32"]);
    let fetcher = Fetcher::with_lookup(&quick(), &network, names.clone()).unwrap();
    let seen = fetch_by(&fetcher, job(&format!("http://name.test:{port}/away")));
    assert_eq!(kind(&seen), Some(FailureKind::Refused));
    assert_eq!((seen.hops.len(), permitted.connections()), (1, 1));
    assert_eq!(names.asked(), ["name.test", "inner.test"]);
    assert_eq!(forbidden.connections(), 0);
}

#[test]
fn a_name_without_an_address_is_dns() {
    for answers in [&[] as &[&[&str]], &[&[]]] {
        let names = Scripted::new(answers);
        let fetcher = Fetcher::with_lookup(&quick(), &allowing(&[]), names).unwrap();
        let failure = fetch_by(&fetcher, at_port(81)).failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Dns, "{failure:?}");
    }
}

/// Whether this machine has IPv6, without which there is nothing to show.
fn has_ipv6() -> bool {
    let has = TcpListener::bind("[::1]:0").is_ok();
    if !has {
        eprintln!("skipped: there is no ::1 here");
    }
    has
}

#[test]
fn a_name_with_nothing_but_an_ipv6_address_is_asked_there() {
    if !has_ipv6() {
        return;
    }
    let server = Server::at("[::1]:0", |_| Reply::ok("six"));
    let names = Scripted::new(&[&["::1"]]);
    let fetcher = Fetcher::with_lookup(&quick(), &allowing(&["::1/128"]), names).unwrap();
    let seen = fetch_by(&fetcher, at_port(server.port()));
    assert_eq!(seen.failure, None);
    assert_eq!(seen.hops[0].address, Some(server.address()));
}

#[test]
fn where_ipv6_is_dead_ipv4_is_tried() {
    let server = Server::new(|_| Reply::ok("four"));
    let names = Scripted::new(&[&["::1", "127.0.0.1"]]);
    let network = allowing(&["::1/128", "127.0.0.1/32"]);
    let options = quick_with(|options| options.unsafe_methods = true);
    let fetcher = Fetcher::with_lookup(&options, &network, names).unwrap();
    for method in ["GET", "POST"] {
        let mut job = at_port(server.port());
        Arc::make_mut(&mut job.request).method = method.to_owned();
        let seen = fetch_by(&fetcher, job);
        assert_eq!(seen.failure, None, "{method}");
        assert_eq!(seen.hops[0].address, Some(server.address()));
    }
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_response_has_all_addresses_that_the_resolver_gave() {
    let ([permitted, _forbidden], port) = servers(["127.0.0.2", "127.0.0.3"]);
    let network = allowing(&["127.0.0.2/32"]);
    let names = Scripted::new(&[&["127.0.0.3", "127.0.0.2", "127.0.0.3"], &["127.0.0.2"]]);
    let fetcher = Fetcher::with_lookup(&quick(), &network, names).unwrap();
    let seen = fetch_by(&fetcher, at_port(port));
    let addresses = |seen: &Observation| -> Vec<String> {
        let addresses = &seen.hops[0].origin.addresses;
        addresses.iter().map(IpAddr::to_string).collect()
    };
    assert_eq!(addresses(&seen), ["127.0.0.2", "127.0.0.3"]);
    // A later connection has its own answer.
    let again = fetch_by(&fetcher, at_port(port));
    let connections = permitted.connections();
    assert_eq!(
        addresses(&again).len(),
        if connections == 2 { 1 } else { 2 }
    );
    // For an address in the URL, the resolver is not asked.
    let bare = fetch_by(&fetcher, job(&format!("http://127.0.0.2:{port}/")));
    assert_eq!(addresses(&bare), [""; 0]);
}

/// The first server of a name may reset connections or be silent while the second one works.
#[test]
fn another_address_is_tried_after_a_failure_of_the_first() {
    for reply in [
        Reply::default().reset(),
        Reply::default().close(),
        Reply::default().hang(),
    ] {
        let (good, port) = servers(["127.0.0.2"]);
        let bad = Server::at(&format!("127.0.0.1:{port}"), move |_| reply.clone());
        let lookup = Scripted::new(&[&["127.0.0.1", "127.0.0.2"]]);
        let options = quick_with(|options| options.head_timeout = Duration::from_millis(300));
        let network = allowing(&["127.0.0.0/8"]);
        let fetcher = Fetcher::with_lookup(&options, &network, lookup).unwrap();
        let rules = VerdictOptions {
            retry_wait: Duration::from_millis(1),
            ..VerdictOptions::default()
        };
        let url = format!("http://two.test:{port}/");
        let jobs = std::iter::once(job(&url));
        let mut states = Vec::new();
        let take = |judged: JudgedJob| states.push(judged.verdict.state());
        fetcher.fetch_all(jobs, decide, &rules, take, &Stop::new());
        assert_eq!(states, [State::Ok]);
        assert!(bad.connections() > 0 && good[0].connections() > 0);
    }
}
