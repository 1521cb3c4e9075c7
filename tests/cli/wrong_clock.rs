//! A machine whose clock is wrong records nothing and notifies nobody. The servers play the right time, by
//! the `Date` of their responses.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};

use crate::sandbox::{Content, Ran, Sandbox, eventually};
use crate::site::promise;
use crate::support::{Reply, Request, Server};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// The hosts, the first three of which are of three owners.
const HOSTS: [&str; 5] = ["a.test", "b.test", "c.test", "www.a.test", "data.a.test"];

/// By how many seconds the clock of a host is ahead, and whether a cache answers for the host.
type Clocks = BTreeMap<String, (i64, bool)>;

/// Hosts with two files each, their clocks, and what is in the files.
struct Sites {
    server: Server,
    state: Arc<Mutex<(Clocks, String)>>,
}

impl Sites {
    fn new() -> Self {
        let state = Arc::new(Mutex::new((Clocks::new(), "as promised".to_owned())));
        let shared = Arc::clone(&state);
        let server = Server::new(move |request| answer(request, &shared.lock().unwrap()));
        Self { server, state }
    }

    /// A repository with promises of these hosts.
    fn repository(&self, hosts: &[&str], more: &str) -> Sandbox {
        let address = self.server.address();
        let map: Vec<String> = HOSTS.iter().map(|it| format!("{it}={address}")).collect();
        let sandbox = Sandbox::new(&format!(
            "[network]\nmap = {map:?}\n[archive]\nmax-size = 1000\n[notify.mail]\ntype = \"email\"\n\
             from = \"urldb@example.test\"\nto = [\"me@example.test\"]\nfolder = \"mail\"\n{more}"
        ));
        for host in hosts {
            let pages = ["/1", "/2"].map(|path| promise(path, &page(host, "as promised")));
            sandbox.write(
                &format!("urldb/{host}.yaml"),
                format!("---\n{}", pages.concat()),
            );
        }
        sandbox
    }

    /// Sets the clocks of these hosts; all others are right.
    fn set(&self, clocks: &[(&str, i64)]) {
        let clocks = clocks.iter();
        let clocks = clocks.map(|(host, ahead)| ((*host).to_owned(), (*ahead, false)));
        self.state.lock().unwrap().0 = clocks.collect();
    }

    fn set_all(&self, ahead: i64) {
        self.set(&HOSTS.map(|host| (host, ahead)));
    }
}

fn answer(request: &Request, (clocks, body): &(Clocks, String)) -> Reply {
    let host = request.header("host").unwrap_or_default();
    let (ahead, is_cached) = clocks.get(host).copied().unwrap_or_default();
    let now = Timestamp::now() + SignedDuration::from_secs(ahead);
    let date = now.strftime("Date: %a, %d %b %Y %H:%M:%S GMT").to_string();
    let headers: &[&str] = if is_cached {
        &[&date, "Age: 7"]
    } else {
        &[&date]
    };
    Reply::new("200 OK", headers, page(host, body))
}

/// Hosts with one wrong page would be a fault of our network.
fn page(host: &str, text: &str) -> String {
    format!("{host}: {text}")
}

/// All files but the locks, of which one is made by any command that writes.
fn files(sandbox: &Sandbox) -> BTreeMap<PathBuf, Content> {
    let mut files = sandbox.tree("");
    files.retain(|path, _| !path.ends_with(".lock"));
    files
}

fn refused(ran: Ran, mistake: &str) {
    let sentence = format!("the clock of this machine is {mistake}: nothing was recorded");
    let ran = ran.code(2).complains_in_words(&[&sentence]);
    assert_eq!(ran.out, "", "{ran:#?}");
}

#[test]
fn a_clock_that_three_domains_call_wrong_records_nothing() {
    let sites = Sites::new();
    let sandbox = sites.repository(&HOSTS[..3], "[check]\nprobes = false\n");
    let new = files(&sandbox);
    sites.set_all(3 * DAY);
    refused(sandbox.urldb("run"), "3 days behind that of 3 domains");
    assert_eq!(files(&sandbox), new);

    sites.set_all(0);
    sandbox.ok("run");
    let good = files(&sandbox);
    let archived = sandbox.files("archive", ".warc.gz").len();
    assert!(archived > 3, "{archived} files");

    // What the run sees is news and is archived anew, into several files.
    sites.state.lock().unwrap().1 = "something else".to_owned();
    sites.set_all(-DAY - HOUR);
    refused(sandbox.urldb("run"), "25 hours ahead of that of 3 domains");
    refused(
        sandbox.urldb("check"),
        "25 hours ahead of that of 3 domains",
    );
    assert_eq!(files(&sandbox), good);

    sites.set_all(0);
    sandbox.exits(1, "run");
    assert_eq!(sandbox.take_mails().len(), 1);
    assert_eq!(sandbox.files("archive", ".warc.gz").len(), 2 * archived);
}

#[test]
fn few_domains_and_caches_say_nothing_about_our_clock() {
    let sites = Sites::new();
    let wrong = 3 * DAY;
    let cached = |host: &str| {
        let mut state = sites.state.lock().unwrap();
        state.0.insert(host.to_owned(), (wrong, true));
    };
    // Two domains; two of three; three hosts of one domain beside another one; less than an hour; a cache.
    for (hosts, clocks) in [
        (&HOSTS[..2], &[("a.test", wrong), ("b.test", wrong)][..]),
        (&HOSTS[..3], &[("a.test", wrong), ("b.test", wrong)]),
        (
            &HOSTS,
            &[
                ("a.test", wrong),
                ("www.a.test", wrong),
                ("data.a.test", wrong),
            ],
        ),
        (&HOSTS, &HOSTS.map(|host| (host, HOUR - 60))),
        (
            &HOSTS[..3],
            &[("a.test", wrong), ("b.test", wrong), ("c.test", 9)],
        ),
    ] {
        sites.set(clocks);
        if clocks.contains(&("c.test", 9)) {
            cached("c.test");
        }
        let sandbox = sites.repository(hosts, "");
        sandbox.ok("check");
        sandbox.ok("run");
        assert_eq!(sandbox.history().len(), 1);
    }
    // Without the cache, the last ones decide.
    sites.set_all(wrong);
    let sandbox = sites.repository(&HOSTS[..3], "");
    sandbox.exits(2, "check");
}

#[test]
fn a_shard_whose_clock_is_wrong_writes_no_bundle() {
    let sites = Sites::new();
    let sandbox = sites.repository(&HOSTS[..3], "");
    let shard = "run --shard 1/1 --to bundles";
    sites.set_all(HOUR);
    refused(sandbox.urldb(shard), "1 hour behind that of 3 domains");
    for end in ["manifest.json", ".warc.gz", ".open"] {
        let left: Vec<PathBuf> = sandbox.tree("bundles").into_keys().collect();
        let has_end = |path: &PathBuf| path.to_str().unwrap().ends_with(end);
        assert!(!left.iter().any(has_end), "{left:?}");
    }
    sandbox.exits(2, "run --from bundles");
    sites.set_all(0);
    sandbox.ok(shard);
    sandbox.ok("run --from bundles");
}

#[test]
fn a_promise_is_accepted_by_any_clock() {
    let sites = Sites::new();
    let sandbox = sites.repository(&HOSTS[..3], "");
    sites.state.lock().unwrap().1 = "something else".to_owned();
    sites.set_all(3 * DAY);
    sandbox.ok("accept --all --yes").says("accepted 6");
    sandbox.ok("add --static http://c.test/3");
}

#[test]
fn a_daemon_whose_clock_is_wrong_tells_its_monitor_and_tries_again() {
    let sites = Sites::new();
    let monitor = Server::new(|_: &Request| Reply::ok("OK"));
    let more = "[[schedule]]\ncron = \"* * * * * *\"\n[watch]\nping-url-env = \"PING\"\n";
    let sandbox = sites.repository(&HOSTS[..3], more);
    sites.set_all(3 * DAY);
    let url = format!("http://{}/ping", monitor.address());
    let mut running = sandbox.start_with_env("watch", &[("PING", &url)]);
    let has_come = |start: &str| {
        let requests = monitor.requests();
        requests.iter().any(|it| it.target.starts_with(start))
    };
    eventually("a failure", || has_come("/ping/fail"));
    eventually("another try", || {
        let requests = monitor.requests();
        let failures = requests
            .iter()
            .filter(|it| it.target.starts_with("/ping/fail"));
        failures.count() > 1
    });
    assert!(!has_come("/ping?"), "{:?}", monitor.requests());
    assert!(sandbox.files("archive", ".warc.gz").is_empty());
    sites.set_all(0);
    eventually("a run", || has_come("/ping?"));
    running.signal("-TERM");
    running.end();
    assert!(!sandbox.history().is_empty());
}
