//! What is observed of servers that behave, and of servers that do not.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod bodies;
mod driving;
mod failures;
mod names;
mod pace;
mod policy;
mod proxy;
mod redirects;
mod requests;
#[path = "../../../../tests/support/mod.rs"]
mod support;
mod tls;
mod unresponsive;

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use sha2::{Digest, Sha256};
use urldb_canon::{RequestUrl, Scheme};
use urldb_fetch::{FetchOptions, Fetcher, HostOptions, Mapping, NetworkOptions, Stop};
use urldb_verdict::{
    BodyUse, Decision, FailureKind, Job, JobKey, JudgedJob, Keep, Observation, Promise, Request,
    VerdictOptions, undecided,
};

use support::Server;

/// A configuration that gives up soon.
fn quick() -> FetchOptions {
    FetchOptions {
        default_host: HostOptions {
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(2),
            host_interval: Duration::ZERO,
            ..HostOptions::default()
        },
        ..FetchOptions::default()
    }
}

/// The same with other options of all hosts.
fn quick_with(change: impl FnOnce(&mut HostOptions)) -> FetchOptions {
    let mut options = quick();
    change(&mut options.default_host);
    options
}

/// A network in which these hosts stand at these servers.
fn network(hosts: &[(&str, &Server)]) -> NetworkOptions {
    let mapping = |(host, server): &(&str, &Server)| Mapping {
        host: (*host).to_owned(),
        port: None,
        to_host: server.address().ip().to_string(),
        to_port: Some(server.port()),
    };
    NetworkOptions {
        map: hosts.iter().map(mapping).collect(),
        ..NetworkOptions::default()
    }
}

/// The URL of a job, which may name a port.
fn request_url(url: &str) -> RequestUrl {
    RequestUrl::from_text(url).expect("host, port and path are valid")
}

/// A job that GETs a URL and keeps the body.
fn job(url: &str) -> Job {
    Job {
        key: JobKey {
            domain: "example.test".to_owned(),
            path: url.to_owned(),
            request: None,
            variant: None,
            alias: None,
            scheme: Scheme::Http,
        },
        url: request_url(url),
        file: "urldb/example.test.yaml".into(),
        line: 1,
        uses: None,
        categories: [].into(),
        promise: Promise::default(),
        request: Arc::new(Request {
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: None,
            within: None,
        }),
        body: BodyUse::Hash {
            at_most: 1 << 20,
            keep: Keep::Everything,
            beyond: 0,
        },
        muted: false,
        validators: None,
    }
}

/// Ends a job after its observations so far.
fn done(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Decision {
    Decision::Final(undecided(job, seen, options))
}

/// Fetches one job once.
fn fetch(options: &FetchOptions, network: &NetworkOptions, job: Job) -> Observation {
    fetch_by(
        &Fetcher::new(options, network).expect("a valid configuration"),
        job,
    )
}

/// Fetches one job once, by this fetcher.
fn fetch_by(fetcher: &Fetcher, job: Job) -> Observation {
    let mut seen = Vec::new();
    fetcher.fetch_all(
        std::iter::once(job),
        done,
        &VerdictOptions::default(),
        |JudgedJob { observations, .. }| seen.extend(observations),
        &Stop::new(),
    );
    assert_eq!(seen.len(), 1);
    seen.remove(0)
}

/// GETs `http://example.test/` from a server, once.
fn get(server: &Server) -> Observation {
    fetch(
        &quick(),
        &network(&[("example.test", server)]),
        job("http://example.test/"),
    )
}

/// Fetches jobs once each; URLs and observations in the order of finishing.
fn fetch_all(
    options: &FetchOptions,
    network: &NetworkOptions,
    jobs: Vec<Job>,
) -> Vec<(String, Observation)> {
    let fetcher = Fetcher::new(options, network).expect("a valid configuration");
    let all = Mutex::new(Vec::new());
    fetcher.fetch_all(
        jobs.into_iter(),
        done,
        &VerdictOptions::default(),
        |JudgedJob {
             job, observations, ..
         }| {
            let mut all = all.lock().expect("no panic under the lock");
            all.extend(
                observations
                    .into_iter()
                    .map(|one| (job.url.to_string(), one)),
            );
        },
        &Stop::new(),
    );
    all.into_inner().expect("no panic under the lock")
}

fn kind(observation: &Observation) -> Option<FailureKind> {
    observation.failure.as_ref().map(|failure| failure.kind)
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
