//! A host that limits its requests is asked more slowly, and nobody is told of its refusals.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, network, promise};
use crate::support::{Reply, Server};

fn path(number: usize) -> String {
    format!("/{number:03}")
}

/// A sandbox with so many promises of `example.test`.
fn sandbox(server: &Server, urls: usize, check: &str) -> Sandbox {
    let network = network(server.address(), &["example.test"]);
    let sandbox = Sandbox::new(&format!("[check]\n{check}\n{network}"));
    let records: String = (0..urls)
        .map(|number| promise(&path(number), &path(number)))
        .collect();
    sandbox.write(FILE, format!("---\n{records}"));
    sandbox
}

/// nginx's `limit_req` with `nodelay`: so many requests a second, and so many more in a burst.
fn limiting(rate: f64, burst: f64, status: &'static str) -> Server {
    let limit = Mutex::new(Limit::new(rate, burst));
    Server::new(move |request| {
        if limit.lock().unwrap().is_exceeded() {
            return Reply::new(status, &[], "slow down");
        }
        Reply::ok(&request.target)
    })
}

struct Limit {
    rate: f64,
    burst: f64,
    excess: f64,
    last: Option<Instant>,
}

impl Limit {
    fn new(rate: f64, burst: f64) -> Self {
        Self {
            rate,
            burst,
            excess: 0.0,
            last: None,
        }
    }

    /// Whether a request now is one too many.
    fn is_exceeded(&mut self) -> bool {
        let now = Instant::now();
        let waited = self.last.map_or(60.0, |last| (now - last).as_secs_f64());
        let excess = (self.excess - self.rate * waited + 1.0).max(0.0);
        let is_exceeded = excess > self.burst;
        if !is_exceeded {
            (self.excess, self.last) = (excess, Some(now));
        }
        is_exceeded
    }
}

#[test]
fn all_urls_of_a_host_that_limits_its_requests_are_as_promised() {
    for status in [
        "503 Service Temporarily Unavailable",
        "429 Too Many Requests",
    ] {
        let server = limiting(10.0, 5.0, status);
        let sandbox = sandbox(&server, 30, "");
        let ran = sandbox.ok("check").says("URLs: 30 ok");
        assert_eq!(ran.err, "");
        assert!(
            server.requests().len() > 30,
            "{status}: nothing was refused"
        );
        assert!(!ran.out.contains("refuse"), "{}", ran.out);
    }
}

#[test]
fn a_note_names_the_interval_to_set_of_a_host_that_limits_its_requests_to_the_end() {
    let server = limiting(2.0, 0.0, "503 Service Temporarily Unavailable");
    let sandbox = sandbox(&server, 60, "limit-patience = \"2s\"");
    let note = |out: &str| {
        let mut lines = out.lines();
        let note = lines.find(|line| line.contains("were not checked: example.test refuses"));
        note.unwrap_or_else(|| panic!("{out}")).to_owned()
    };
    let checked = note(&sandbox.exits(3, "check").out);
    let (urls, rest) = checked
        .split_once(" of 60 URLs of example.test were not")
        .unwrap();
    assert!(
        (50..60).contains(&urls.parse::<u64>().unwrap()),
        "{checked}"
    );
    assert!(
        rest.contains("limit-patience (2s) is over; set host-interval = \""),
        "{checked}"
    );

    // A shard asks as slowly, and the run that collects it tells the same.
    let collecting = sandbox.copy();
    sandbox.ok("run --shard 1/1 --to bundles");
    let asked = server.requests().len();
    std::fs::rename(sandbox.path("bundles"), collecting.path("bundles")).unwrap();
    let ran = collecting.exits(3, "run --from bundles");
    assert_eq!(server.requests().len(), asked);
    note(&ran.out);
    // Nothing of the refusals is believed.
    collecting.exits(3, "status").says("60 URLs");
}

const LIMITED: u8 = 0;
const OPEN: u8 = 1;
const DOWN: u8 = 2;
const ONE_FAILS: u8 = 3;

#[test]
fn a_host_that_is_too_slow_for_two_runs_in_a_row_is_told_once() {
    let mode = Arc::new(AtomicU8::new(LIMITED));
    let now = Arc::clone(&mode);
    let limit = Mutex::new(Limit::new(2.0, 0.0));
    let server = Server::new(move |request| match now.load(Ordering::Relaxed) {
        DOWN => Reply::new("500 Internal Server Error", &[], "down"),
        ONE_FAILS if request.target == path(10) => {
            Reply::new("500 Internal Server Error", &[], "it fails")
        }
        LIMITED if limit.lock().unwrap().is_exceeded() => {
            Reply::new("429 Too Many Requests", &[], "slow down")
        }
        _ => Reply::ok(&request.target),
    });
    let sandbox = sandbox(&server, 20, "limit-patience = \"1s\"");
    let config = sandbox.read("urldb.toml");
    sandbox.write(
        "urldb.toml",
        format!(
            "[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\nto = [\"me@example.test\"]\n\
             folder = \"mail\"\n[notify.site]\ntype = \"html\"\npath = \"site\"\n{config}"
        ),
    );
    let hears_nothing = |code: i32, arguments: &str| {
        let ran = sandbox.exits(code, arguments);
        let mails = sandbox.take_mails();
        assert!(mails.is_empty(), "{arguments}: {}", mails[0].text);
        ran
    };
    hears_nothing(3, "run");
    // A run over a part is no second one.
    hears_nothing(3, "run --path-prefix /01").says("were not checked: example.test refuses");
    // The second run takes its observations from a bundle.
    let worker = sandbox.copy();
    worker.ok("run --shard 1/1 --to bundles");
    std::fs::rename(worker.path("bundles"), sandbox.path("bundles")).unwrap();
    sandbox.exits(3, "run --from bundles").says(&[
        "warning[impaired]: the run is impaired by example.test",
        "example.test refuses more than about",
        ", 2 runs in a row",
        "set host-interval = \"",
    ]);
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    assert_has(
        mails[0].header("Subject"),
        "the run is impaired by example.test",
    );
    assert_has(
        &mails[0].text,
        &["set host-interval = \"", "urldb check -d example.test"],
    );
    let pages = sandbox.files("site/incidents", ".html");
    assert_has(
        &std::fs::read_to_string(&pages[0]).unwrap(),
        "the run is impaired by example.test",
    );
    hears_nothing(3, "run");

    // Only a run that checks all its URLs ends the notice: not one over a part, and not one while the host fails.
    mode.store(DOWN, Ordering::Relaxed);
    hears_nothing(3, "run");
    mode.store(OPEN, Ordering::Relaxed);
    hears_nothing(0, "run --path-prefix /01");
    mode.store(ONE_FAILS, Ordering::Relaxed);
    sandbox
        .exits(3, "run -d example.test")
        .says("the run is no longer impaired by example.test");
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    assert_has(&mails[0].text, "URLs: 1 unconfirmed, 19 ok");
    mode.store(OPEN, Ordering::Relaxed);
    hears_nothing(0, "run");

    // It begins anew, and ends with the last URL.
    mode.store(LIMITED, Ordering::Relaxed);
    hears_nothing(3, "run");
    sandbox
        .exits(3, "run")
        .says(&["the run is impaired by example.test", "2 runs in a row"]);
    assert_eq!(sandbox.take_mails().len(), 1);
    assert_eq!(sandbox.files("status/incidents", ".yaml").len(), 1);
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    sandbox.ok("run").says("no longer impaired by example.test");
    assert_eq!(sandbox.take_mails().len(), 1);
}
