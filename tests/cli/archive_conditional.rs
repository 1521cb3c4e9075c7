//! What is not due for a full read is asked whether it has changed; and no answer to that hides a change.

use std::sync::{Arc, Mutex};

use crate::archive::{Stored, records};
use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, network, promise};
use crate::support::{Reply, Request, Server};

/// So rarely that no day of this century is the one.
const RARELY: &str = "[check]\nrehash-every = 1000000\n";

/// A server of one page at `/a`.
#[derive(Clone)]
struct Page {
    etag: &'static str,
    body: &'static str,
    /// Says 304 whatever it is asked by.
    lies: bool,
}

const FIRST: Page = Page {
    etag: "\"one\"",
    body: "first",
    lies: false,
};

struct World {
    server: Server,
    page: Arc<Mutex<Page>>,
    sandbox: Sandbox,
}

impl World {
    fn new(config: &str) -> Self {
        let page = Arc::new(Mutex::new(FIRST));
        let known = Arc::clone(&page);
        let server = Server::new(move |request: &Request| answer(&known.lock().unwrap(), request));
        let network = network(server.address(), &["example.test"]);
        let sandbox = Sandbox::new(&format!("{config}probes = false\n{network}"));
        sandbox.write(FILE, format!("---\n{}", promise("/a", "first")));
        Self {
            server,
            page,
            sandbox,
        }
    }

    fn serve(&self, page: Page) {
        *self.page.lock().unwrap() = page;
    }

    /// The validators that came with each request of a run, which ends with this code.
    fn run(&self, code: i32) -> Vec<Option<String>> {
        self.asked(&["run"], code)
    }

    fn asked(&self, arguments: &[&str], code: i32) -> Vec<Option<String>> {
        let before = self.server.requests().len();
        self.sandbox.exits(code, arguments);
        let requests = self.server.requests();
        let new = requests.iter().skip(before);
        new.map(|request| request.header("if-none-match").map(str::to_owned))
            .collect()
    }

    fn reconfigure(&self, from: &str, to: &str) {
        let config = self.sandbox.read("urldb.toml").replace(from, to);
        self.sandbox.write("urldb.toml", config);
    }

    fn last_file(&self) -> Vec<Stored> {
        records(self.sandbox.files("archive", ".warc.gz").last().unwrap())
    }
}

fn answer(page: &Page, request: &Request) -> Reply {
    let asked = request.header("if-none-match");
    if asked.is_some_and(|etag| page.lies || etag == page.etag) {
        return Reply::raw(format!(
            "HTTP/1.1 304 Not Modified\r\nETag: {}\r\n\r\n",
            page.etag
        ));
    }
    let fields = [
        &*format!("ETag: {}", page.etag),
        "Last-Modified: Fri, 20 Nov 2026 06:00:00 GMT",
    ];
    Reply::new("200 OK", &fields, page.body)
}

#[test]
fn without_rehash_every_each_run_reads_all_bytes() {
    let world = World::new("[check]\n");
    assert_eq!(world.run(0), [None]);
    assert_eq!(world.run(0), [None]);
}

#[test]
fn a_304_is_ok_but_does_not_count_as_verified() {
    let world = World::new(RARELY);
    assert_eq!(world.run(0), [None], "nothing is known yet");
    let ledger = || world.sandbox.read("status/example.test.yaml") + &world.sandbox.captures();
    let before = ledger();
    assert_has(&before, "\netag: ");
    assert_eq!(world.run(0), [Some("\"one\"".to_owned())]);
    let asked = world.server.requests().pop().unwrap();
    assert_eq!(
        asked.header("if-modified-since"),
        Some("Fri, 20 Nov 2026 06:00:00 GMT")
    );
    assert_eq!(ledger(), before);
    let history = world.sandbox.history();
    let last = history.last().unwrap();
    assert_eq!(
        (&last["verified"], &last["not-modified"]),
        (&0.into(), &1.into())
    );
    assert_eq!(last["rehash"]["every"], 1_000_000);
    assert!(last.get("became-unverified").is_none());
    assert_eq!(last["states"]["ok"], 1);
    assert_eq!(
        history.first().unwrap()["unverified"],
        serde_json::json!([])
    );
    let ran = world.sandbox.ok("run");
    ran.says(&[
        "0 of 1 byte for byte",
        "Unchanged by the\nserver's word: 1 URL.",
    ]);
    let ran = world.sandbox.ok("run --format json").json();
    assert_eq!(ran["summary"]["coverage"]["not_modified"], 1);
    assert_eq!(ran["results"][0]["observed"]["status"], 304);
}

#[test]
fn a_304_is_archived_as_a_revisit_that_replays() {
    let world = World::new(RARELY);
    world.run(0);
    let capture = world.last_file().remove(1);
    world.run(0);
    let all = world.last_file();
    let kinds: Vec<&str> = all.iter().map(|record| record.field("WARC-Type")).collect();
    assert_eq!(kinds, ["warcinfo", "revisit", "metadata"]);
    let (revisit, metadata) = (&all[1], &all[2]);
    assert!(
        revisit
            .field("WARC-Profile")
            .ends_with("/server-not-modified")
    );
    assert!(revisit.block.is_empty());
    for (name, of_capture) in [
        ("WARC-Refers-To", "WARC-Record-ID"),
        ("WARC-Refers-To-Date", "WARC-Date"),
        ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
        ("WARC-Payload-Digest", "WARC-Payload-Digest"),
    ] {
        assert_eq!(revisit.field(name), capture.field(of_capture));
    }
    assert_eq!(
        metadata.field("WARC-Concurrent-To"),
        revisit.field("WARC-Record-ID")
    );
    let head = String::from_utf8_lossy(&metadata.block);
    assert!(
        head.starts_with("status-line: HTTP/1.1 304 Not Modified\r\netag: \"one\"\r\n"),
        "{head}"
    );
    let get = world.sandbox.ok("archive get http://example.test/a");
    assert_eq!(get.out, "first");
}

#[test]
fn a_wrong_304_hides_a_change_only_until_the_next_full_read() {
    let world = World::new(RARELY);
    world.run(0);
    world.serve(Page {
        body: "other",
        lies: true,
        ..FIRST
    });
    assert_eq!(world.run(0), [Some("\"one\"".to_owned())]);
    world.reconfigure("rehash-every = 1000000", "rehash-every = 1");
    assert_eq!(world.run(1), [None, None]);
    // What is in doubt is read in full, whoever's turn it is.
    world.reconfigure("rehash-every = 1", "rehash-every = 1000000");
    assert_eq!(world.run(1), [None, None]);
}

#[test]
fn a_change_without_304_is_reported_at_once() {
    let world = World::new(RARELY);
    world.run(0);
    world.serve(Page {
        etag: "\"two\"",
        body: "other",
        ..FIRST
    });
    // The second look, which decides, takes nobody's word.
    assert_eq!(world.run(1), [Some("\"one\"".to_owned()), None]);
}

#[test]
fn a_new_promise_is_fetched_without_condition() {
    let world = World::new(RARELY);
    world.run(0);
    let file = format!("---\n{}", promise("/a", "other"));
    world.sandbox.write(FILE, file);
    assert_eq!(world.run(1), [None, None]);
}

#[test]
fn check_sends_no_conditional_request() {
    let world = World::new(RARELY);
    world.run(0);
    assert_eq!(world.asked(&["check"], 0), [None]);
}

#[test]
fn a_304_to_a_condition_of_the_record_is_unreachable() {
    let world = World::new(RARELY);
    let file = format!(
        "---\n{}request-headers:\n  If-None-Match: '\"one\"'\n",
        promise("/a", "first")
    );
    world.sandbox.write(FILE, file);
    let ran = world.sandbox.exits(1, "check");
    ran.says("answers 304 Not Modified, which nobody asked for");
}

#[test]
fn an_answer_that_does_not_fit_our_condition_leads_to_a_full_read() {
    for odd in [
        "HTTP/1.1 304 Not Modified\r\nETag: \"two\"\r\n\r\n",
        "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n",
    ] {
        let server = Server::new(
            move |request: &Request| match request.header("if-none-match") {
                Some(_) => Reply::raw(odd),
                None => Reply::new("200 OK", &["ETag: \"one\""], "first"),
            },
        );
        let network = network(server.address(), &["example.test"]);
        let sandbox = Sandbox::new(&format!("{RARELY}{network}"));
        sandbox.write(FILE, format!("---\n{}", promise("/a", "first")));
        sandbox.ok("run");
        sandbox.ok("run");
        let conditions: Vec<bool> = server
            .requests()
            .iter()
            .map(|request| request.header("if-none-match").is_some())
            .collect();
        assert_eq!(conditions, [false, true, false], "{odd}");
        let history = sandbox.history();
        let last = history.last().unwrap();
        assert_eq!(last["verified"], 1, "{last}");
        assert!(last.get("became-unverified").is_none(), "{last}");
    }
}
