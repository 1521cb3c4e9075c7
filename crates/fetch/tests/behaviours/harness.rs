//! The harness: starts a server for each behaviour, and checks all their URLs at once.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use socket2::{Domain, Socket, Type};
use urldb_fetch::{FetchOptions, Fetcher, HostOptions, Mapping, NetworkOptions, Stop};
use urldb_format::DomainFile;
use urldb_protocol::{Reason, State};
use urldb_verdict::{
    Cnames, Decision, FileOptions, Job, KeptBodies, Observation, PlanOptions, Rehash, Selection,
    Validators, Verdict, VerdictOptions, Warning,
};

use crate::behaviour::{Behaviour, CONTENT, ETAG, Endpoint, RequestContext, Script};
use crate::certificates::{Authority, Kind};
use crate::support::{Reply, Request, Server};
use crate::trap::Trap;

/// Most bytes that are read of a body.
pub(crate) const MAX_BODY: u64 = 256 << 10;

/// The timeout of a fetch for behaviours that must run into the timeout.
const SHORT_TIMEOUT: Duration = Duration::from_millis(600);

/// The timeout of a fetch for all other behaviours. Only a hanging test reaches this timeout.
const LONG_TIMEOUT: Duration = Duration::from_mins(1);

/// The harness waits this long at most, however long a server asks the client to wait.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// How long a server may need to read its requests.
const SETTLE_TIME: Duration = Duration::from_secs(5);

/// A name that is too long to be valid, so no resolver sends a query for the name.
const NO_NAME: &str =
    "a-name-of-more-than-sixty-three-characters-which-no-resolver-will-ask-for.test";

/// The verdict about a behaviour, and the requests that its server received.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) state: State,
    pub(crate) reason: Option<&'static str>,
    pub(crate) sure: bool,
    pub(crate) warning: Option<Warning>,
    pub(crate) requests: usize,
    /// The longest wait that the verdict asked for, before it was shortened.
    pub(crate) longest_wait: Duration,
    pub(crate) message: String,
}

/// What all runs share.
pub(crate) struct Harness {
    authority: Authority,
    trap: Trap,
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self {
            authority: Authority::new(),
            trap: Trap::new(),
        }
    }

    /// Plays all behaviours once, at the same time. The outcomes are in the order of the behaviours.
    pub(crate) fn play(&self, behaviours: &[Behaviour]) -> Vec<Outcome> {
        let hosted: Vec<HostedBehaviour> = (0..)
            .zip(behaviours)
            .map(|(number, behaviour)| HostedBehaviour::new(self, number, behaviour))
            .collect();
        let (short, long): (Vec<&HostedBehaviour>, Vec<&HostedBehaviour>) = hosted
            .iter()
            .partition(|one| one.behaviour.runs_out_of_time);
        let mut judged = thread::scope(|threads| {
            let short = threads.spawn(|| self.check(SHORT_TIMEOUT, &short));
            let mut judged = self.check(LONG_TIMEOUT, &long);
            judged.extend(short.join().expect("no panic"));
            judged
        });
        self.trap.assert_untouched();
        let outcome = |one: &HostedBehaviour| {
            let (verdict, longest_wait) = judged.remove(&one.host).expect("every job is finished");
            Outcome {
                state: verdict.state(),
                reason: verdict.classification.reason.map(Reason::as_str),
                sure: verdict.sure,
                warning: verdict.classification.warning,
                requests: one.requests(),
                longest_wait,
                message: verdict.classification.message(),
            }
        };
        hosted.iter().map(outcome).collect()
    }

    /// Fetches and judges as `run::observe` does, with two differences. Waits are recorded and then
    /// shortened. There is no canary: where many hosts fail on purpose, the canary would rightly
    /// conclude that the network is down.
    fn check(
        &self,
        timeout: Duration,
        hosted: &[&HostedBehaviour],
    ) -> BTreeMap<String, (Verdict, Duration)> {
        let default_host = HostOptions {
            host_interval: Duration::ZERO,
            timeout,
            connect_timeout: timeout,
            max_body: MAX_BODY,
            ..HostOptions::default()
        };
        let with_unsafe_methods = HostOptions {
            unsafe_methods: true,
            ..default_host.clone()
        };
        let hosts_with_unsafe_methods = hosted.iter().filter(|one| one.behaviour.unsafe_methods);
        let fetch = FetchOptions {
            concurrency: Some(hosted.len().max(1)),
            hosts: hosts_with_unsafe_methods
                .map(|one| (one.host.clone(), with_unsafe_methods.clone()))
                .collect(),
            default_host,
            ..FetchOptions::default()
        };
        let options = VerdictOptions {
            retry_wait: Duration::from_millis(5),
            ..VerdictOptions::default()
        };
        let network = NetworkOptions {
            map: hosted.iter().flat_map(|one| one.mappings()).collect(),
            ca_file: Some(self.authority.file().to_owned()),
            ..NetworkOptions::default()
        };
        let waits = Mutex::new(BTreeMap::new());
        let decide = |job: &Job, seen: &[Observation], options: &VerdictOptions| {
            match urldb_verdict::decide(job, seen, options) {
                Decision::Retry { wait, fresh } => {
                    let mut waits = waits.lock().expect("no panic under the lock");
                    let longest: &mut Duration = waits.entry(job.key.domain.clone()).or_default();
                    *longest = wait.max(*longest);
                    Decision::Retry {
                        wait: wait.min(LONGEST_WAIT),
                        fresh,
                    }
                }
                verdict @ Decision::Final(_) => verdict,
            }
        };
        let mut judged = BTreeMap::new();
        Fetcher::new(&fetch, &network)
            .expect("a valid configuration")
            .fetch_all(
                hosted.iter().map(|one| one.job()),
                decide,
                &options,
                |done| {
                    judged.insert(done.job.key.domain, done.verdict);
                },
                &Stop::new(),
            );
        let mut waits = waits.into_inner().expect("no panic under the lock");
        judged
            .into_iter()
            .map(|(host, verdict)| {
                let longest = waits.remove(&host).unwrap_or_default();
                (host, (verdict, longest))
            })
            .collect()
    }
}

/// A behaviour, its host and its running endpoint.
struct HostedBehaviour<'a> {
    behaviour: &'a Behaviour,
    host: String,
    endpoint: RunningEndpoint,
}

/// What answers at the address of a behaviour's host.
enum RunningEndpoint {
    Server(Server),
    /// A listener that does not count requests.
    Port(u16),
    /// A bound port without a listener, so connections are refused.
    Taken(Socket),
    NoName,
}

impl<'a> HostedBehaviour<'a> {
    fn new(harness: &Harness, number: usize, behaviour: &'a Behaviour) -> Self {
        let host = format!("b{number}.test");
        let tls = |kinds: &[Kind]| harness.authority.server(kinds, &host);
        let trap = harness.trap.port();
        let endpoint = match &behaviour.endpoint {
            Endpoint::Http(script) => RunningEndpoint::Server(Server::new(counting(script, trap))),
            Endpoint::Tls(kinds, script) => {
                RunningEndpoint::Server(Server::tls(tls(kinds), counting(script, trap)))
            }
            Endpoint::TlsAskedInPlain => {
                RunningEndpoint::Server(Server::tls(tls(&[Kind::Good]), |_| Reply::ok(CONTENT)))
            }
            Endpoint::TlsSocket(act) => RunningEndpoint::Port(listen(*act)),
            Endpoint::Nobody => RunningEndpoint::Taken(taken_port()),
            Endpoint::NoName => RunningEndpoint::NoName,
        };
        Self {
            behaviour,
            host,
            endpoint,
        }
    }

    /// Maps the host and its sister host to the endpoint.
    fn mappings(&self) -> Vec<Mapping> {
        let (to_host, to_port) = match &self.endpoint {
            RunningEndpoint::Server(server) => ("127.0.0.1", server.port()),
            RunningEndpoint::Port(port) => ("127.0.0.1", *port),
            RunningEndpoint::Taken(socket) => {
                let address = socket.local_addr().expect("a bound socket");
                let address = address.as_socket_ipv4().expect("one of IPv4");
                ("127.0.0.1", address.port())
            }
            RunningEndpoint::NoName => (NO_NAME, 80),
        };
        [self.host.clone(), format!("sister.{}", self.host)]
            .into_iter()
            .map(|host| Mapping {
                host,
                port: None,
                to_host: to_host.to_owned(),
                to_port: Some(to_port),
            })
            .collect()
    }

    /// The job of the behaviour's record.
    fn job(&self) -> Job {
        let keys = self
            .behaviour
            .record
            .replace("{length}", &CONTENT.len().to_string())
            .replace("{sha256}", &format!("'{}'", sha256(CONTENT)))
            .replace("{host}", &self.host);
        let metadata = if self.behaviour.is_https() {
            "http: false\n"
        } else {
            ""
        };
        let text = format!("---\n{metadata}---\n_path: /file\n{keys}\n");
        let name = format!("{}.yaml", self.host);
        let parsed = DomainFile::parse(Path::new(&name), text.as_bytes());
        assert!(parsed.findings.is_empty(), "{text}{:?}", parsed.findings);
        let options = PlanOptions {
            max_body: MAX_BODY,
            max_capture: 0,
            whole: false,
            kept_bodies: KeptBodies::None,
            cnames: Cnames::None,
            day: 0,
            rehash: Rehash::ALWAYS,
        };
        let selection = Selection::default();
        let mut jobs = urldb_verdict::plan::jobs_of(
            &parsed.file,
            &selection,
            FileOptions {
                name: &name.into(),
                own_keys: &[],
                plan: options,
            },
            &(),
        );
        assert_eq!(jobs.len(), 1, "{text}");
        let job = jobs.remove(0);
        let known = Validators {
            url: job.url.to_string(),
            etag: Some(ETAG.to_owned()),
            last_modified: None,
        };
        Job {
            validators: self.behaviour.is_conditional.then(|| known.into()),
            ..job
        }
    }

    /// Counts the received requests, once the expected number has arrived or [`SETTLE_TIME`] is over.
    fn requests(&self) -> usize {
        let RunningEndpoint::Server(server) = &self.endpoint else {
            return 0;
        };
        let until = Instant::now() + SETTLE_TIME;
        while server.requests().len() < self.behaviour.expected.requests && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        server.requests().len()
    }
}

/// Calls the script with the number of earlier requests.
fn counting(script: &Script, trap: u16) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let (script, count) = (Arc::clone(script), AtomicUsize::new(0));
    move |request| {
        script(&RequestContext {
            request,
            before: count.fetch_add(1, Ordering::SeqCst),
            trap,
        })
    }
}

/// Listens on a free port, and calls `act` with each connection until the tests end.
fn listen(act: fn(std::net::TcpStream)) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("a bound listener").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || act(stream));
        }
    });
    port
}

/// A port that refuses connections. The socket keeps the port reserved.
fn taken_port() -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    socket.bind(&any.into()).expect("a free port");
    socket
}

fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}
