//! Hosts that do not answer: what they cost, and when they are given up.

use std::sync::Arc;
use std::time::Duration;

use urldb_fetch::FetchOptions;
use urldb_verdict::FailureKind;

use crate::support::{Reply, Server};
use crate::{fetch_all, job, kind, network, quick_with};

const JOBS: usize = 24;

/// Patience for less than half of all jobs, if all of them hang.
fn impatient() -> FetchOptions {
    quick_with(|options| {
        options.host_concurrency = 1;
        options.head_timeout = Duration::from_millis(100);
        options.host_patience = Duration::from_secs(1);
    })
}

fn kinds(options: &FetchOptions, server: &Server) -> Vec<Option<FailureKind>> {
    let jobs = (0..JOBS).map(|number| job(&format!("http://silent.test/{number}")));
    let seen = fetch_all(
        options,
        &network(&[("silent.test", server)]),
        jobs.collect(),
    );
    assert_eq!(seen.len(), JOBS);
    seen.iter()
        .map(|(_, observation)| kind(observation))
        .collect()
}

#[test]
fn a_silent_host_is_asked_for_a_while_and_then_given_up() {
    let server = Server::new(|_| Reply::default().hang());
    let kinds = kinds(&impatient(), &server);
    assert_eq!(kinds[0], Some(FailureKind::Timeout));
    assert_eq!(kinds[JOBS - 1], Some(FailureKind::HostSilent));
    assert!(server.requests().len() < JOBS);
}

#[test]
fn any_answer_shows_that_a_host_is_there() {
    // Every other one, if only with an error; the others take longer together than the patience.
    let server = Server::new(|request| {
        let number: usize = request.target[1..].parse().expect("a number");
        if number.is_multiple_of(2) {
            Reply::default().hang()
        } else {
            Reply::default().then("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n")
        }
    });
    let kinds = kinds(&impatient(), &server);
    let hung = kinds.iter().filter(|kind| kind.is_some());
    assert!(
        hung.clone().count() == JOBS / 2
            && hung.flatten().all(|kind| *kind == FailureKind::Timeout)
    );
}

#[test]
fn a_host_that_hangs_up_is_silent_too() {
    let server = Server::new(|_| Reply::default().close());
    let options = quick_with(|options| {
        options.host_concurrency = 1;
        options.host_patience = Duration::ZERO;
    });
    let kinds = kinds(&options, &server);
    assert_eq!(kinds[0], Some(FailureKind::Disconnected));
    let mut others = kinds[1..].iter();
    assert!(others.all(|kind| *kind == Some(FailureKind::HostSilent)));
}

#[test]
fn a_host_that_is_not_asked_owes_nothing() {
    let server = Server::new(|_| Reply::ok(""));
    let options = quick_with(|options| {
        options.host_concurrency = 1;
        options.host_patience = Duration::ZERO;
    });
    let posts = (0..10).map(|number| {
        let mut job = job(&format!("http://silent.test/{number}"));
        Arc::make_mut(&mut job.request).method = "POST".to_owned();
        job
    });
    let seen = fetch_all(
        &options,
        &network(&[("silent.test", &server)]),
        posts.collect(),
    );
    let mut kinds = seen.iter().map(|(_, observation)| kind(observation));
    assert!(kinds.all(|kind| kind == Some(FailureKind::UnsafeMethod)));
}

#[test]
fn a_host_that_is_sending_is_not_silent() {
    // One body lasts longer than the patience, while every other request hangs.
    let server = Server::new(|request| {
        if request.target == "/0" {
            let mut reply = Reply::default().then("HTTP/1.1 200 OK\r\ncontent-length: 80\r\n\r\n");
            for _ in 0..80 {
                reply = reply.pause(Duration::from_millis(50)).then("x");
            }
            reply
        } else {
            Reply::default().hang()
        }
    });
    let options = quick_with(|options| {
        options.host_concurrency = 2;
        options.timeout = Duration::from_mins(1);
        options.head_timeout = Duration::from_millis(150);
        options.host_patience = Duration::from_millis(400);
    });
    let kinds = kinds(&options, &server);
    let hung = kinds
        .iter()
        .filter(|kind| **kind == Some(FailureKind::Timeout));
    assert_eq!(hung.count(), JOBS - 1);
}
