//! The stage: servers for all behaviours at once, and a check of them all.

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
use urldb::stop::Stop;
use urldb_fetch::{FetchOptions, FetchedJob, Fetcher, HostOptions, Mapping, NetworkOptions, Next};
use urldb_format::DomainFile;
use urldb_protocol::State;
use urldb_verdict::Observation;
use urldb_verdict::{Cnames, Job, Keep, PlanOptions, Rehash, Selection};
use urldb_verdict::{Decision, Verdict, VerdictOptions, Warning, decide, undecided};

use crate::behaviour::{Asked, Behaviour, CONTENT, Place, Script};
use crate::certificates::{Authority, Kind};
use crate::support::{Reply, Request, Server};
use crate::trap::Trap;

/// The most that is read of a body.
pub(crate) const MAX_BODY: u64 = 256 << 10;

/// How long a fetch may take where that is expected to be too short.
const HASTE: Duration = Duration::from_millis(600);

/// How long it may take elsewhere: only a hanging test is cut short by it.
const PATIENCE: Duration = Duration::from_mins(1);

/// What servers ask us to wait is shortened to this.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// How long a server may need to read what it was sent.
const SETTLING: Duration = Duration::from_secs(5);

/// A name that is longer than names can be: no resolver asks the network for it.
const NO_NAME: &str =
    "a-name-of-more-than-sixty-three-characters-which-no-resolver-will-ask-for.test";

/// What came of a behaviour.
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

/// What is needed for all runs.
pub(crate) struct Stage {
    authority: Authority,
    trap: Trap,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            authority: Authority::new(),
            trap: Trap::new(),
        }
    }

    /// Plays all behaviours once, at the same time; outcomes in their order.
    pub(crate) fn play(&self, behaviours: &[Behaviour]) -> Vec<Outcome> {
        let parts: Vec<Part> = (0..)
            .zip(behaviours)
            .map(|(number, behaviour)| Part::new(self, number, behaviour))
            .collect();
        let (hasty, patient): (Vec<&Part>, Vec<&Part>) = parts
            .iter()
            .partition(|part| part.behaviour.runs_out_of_time);
        let mut judged = thread::scope(|threads| {
            let hasty = threads.spawn(|| self.check(HASTE, &hasty));
            let mut judged = self.check(PATIENCE, &patient);
            judged.extend(hasty.join().expect("no panic"));
            judged
        });
        self.trap.assert_untouched();
        let outcome = |part: &Part| {
            let (verdict, longest_wait) = judged.remove(&part.host).expect("every job is finished");
            Outcome {
                state: verdict.state(),
                reason: verdict.classification.reason,
                sure: verdict.sure,
                warning: verdict.classification.warning,
                requests: part.requests(),
                longest_wait,
                message: verdict.classification.message(),
            }
        };
        parts.iter().map(outcome).collect()
    }

    /// As `run::observe` does it, but for waits, which are shortened and remembered, and the canary,
    /// which would rightly think that no network is there where nothing works on purpose.
    fn check(&self, timeout: Duration, parts: &[&Part]) -> BTreeMap<String, (Verdict, Duration)> {
        let manners = HostOptions {
            host_interval: Duration::ZERO,
            timeout,
            connect_timeout: timeout,
            max_body: MAX_BODY,
            ..HostOptions::default()
        };
        let with_leave = HostOptions {
            unsafe_methods: true,
            ..manners.clone()
        };
        let hosts_with_leave = parts.iter().filter(|part| part.behaviour.unsafe_methods);
        let fetch = FetchOptions {
            concurrency: parts.len().max(1),
            hosts: hosts_with_leave
                .map(|part| (part.host.clone(), with_leave.clone()))
                .collect(),
            default_host: manners,
            ..FetchOptions::default()
        };
        let options = VerdictOptions {
            retry_wait: Duration::from_millis(5),
            ..VerdictOptions::default()
        };
        let network = NetworkOptions {
            map: parts.iter().flat_map(|part| part.mappings()).collect(),
            ca_file: Some(self.authority.file().to_owned()),
            ..NetworkOptions::default()
        };
        let waits = Mutex::new(BTreeMap::new());
        let next = |job: &Job, seen: &[Observation]| match decide(job, seen, &options) {
            Decision::Final(verdict) => Next::Done(verdict),
            Decision::Retry { wait, fresh } => {
                let mut waits = waits.lock().expect("no panic under the lock");
                let longest: &mut Duration = waits.entry(job.key.domain.clone()).or_default();
                *longest = wait.max(*longest);
                Next::Retry {
                    wait: wait.min(LONGEST_WAIT),
                    fresh,
                }
            }
        };
        let mut judged = BTreeMap::new();
        Fetcher::new(&fetch, &network)
            .expect("a valid configuration")
            .fetch_all(
                parts.iter().map(|part| part.job()),
                next,
                |fetched| {
                    let FetchedJob {
                        job,
                        observations,
                        decision,
                    } = fetched;
                    let verdict =
                        decision.unwrap_or_else(|| match decide(&job, &observations, &options) {
                            Decision::Final(verdict) => verdict,
                            Decision::Retry { .. } => undecided(&job, &observations, &options),
                        });
                    judged.insert(job.key.domain, verdict);
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

/// A behaviour on stage.
struct Part<'a> {
    behaviour: &'a Behaviour,
    host: String,
    set: Set,
}

/// What was put up for it.
enum Set {
    Server(Server),
    /// Something that takes no requests.
    Port(u16),
    /// A port that is taken, and that nobody listens on.
    Taken(Socket),
    NoName,
}

impl<'a> Part<'a> {
    fn new(stage: &Stage, number: usize, behaviour: &'a Behaviour) -> Self {
        let host = format!("b{number}.test");
        let tls = |kind| stage.authority.server(kind, &host);
        let trap = stage.trap.port();
        let set = match &behaviour.place {
            Place::Http(script) => Set::Server(Server::new(counting(script, trap))),
            Place::Tls(kind, script) => {
                Set::Server(Server::tls(tls(*kind), counting(script, trap)))
            }
            Place::TlsAskedInPlain => {
                Set::Server(Server::tls(tls(Kind::Good), |_| Reply::ok(CONTENT)))
            }
            Place::TlsSocket(act) => Set::Port(listen(*act)),
            Place::Nobody => Set::Taken(taken_port()),
            Place::NoName => Set::NoName,
        };
        Self {
            behaviour,
            host,
            set,
        }
    }

    /// The host and its sisters stand at the server.
    fn mappings(&self) -> Vec<Mapping> {
        let (to_host, to_port) = match &self.set {
            Set::Server(server) => ("127.0.0.1", server.port()),
            Set::Port(port) => ("127.0.0.1", *port),
            Set::Taken(socket) => {
                let address = socket.local_addr().expect("a bound socket");
                let address = address.as_socket_ipv4().expect("one of IPv4");
                ("127.0.0.1", address.port())
            }
            Set::NoName => (NO_NAME, 80),
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

    /// The job that its record makes.
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
            whole: false,
            keep: Keep::None,
            cnames: Cnames::None,
            day: 0,
            rehash: Rehash::ALWAYS,
        };
        let selection = Selection::default();
        let mut jobs =
            urldb_verdict::plan::jobs_of(&parsed.file, &name.into(), &selection, options, &());
        assert_eq!(jobs.len(), 1, "{text}");
        jobs.remove(0)
    }

    /// Requests that came, when as many came as should, or no more will.
    fn requests(&self) -> usize {
        let Set::Server(server) = &self.set else {
            return 0;
        };
        let until = Instant::now() + SETTLING;
        while server.requests().len() < self.behaviour.expected.requests && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        server.requests().len()
    }
}

/// The script, told how many requests came before.
fn counting(script: &Script, trap: u16) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let (script, count) = (Arc::clone(script), AtomicUsize::new(0));
    move |request| {
        script(&Asked {
            request,
            before: count.fetch_add(1, Ordering::SeqCst),
            trap,
        })
    }
}

/// Does this with each connection to a free port, until the tests are over.
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

/// A port that connections to are refused, and that nobody else can be given.
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
