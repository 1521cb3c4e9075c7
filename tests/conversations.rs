//! One hostile server for all conversations with services: each ends within its budget, and says how.
//!
//! The ping of `urldb watch` has its test in src/cli/watch/ping.rs.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

#[path = "support/mod.rs"]
mod support;

use std::fmt::Write as _;
use std::fs;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;
use support::{Reply, Request, Server};
use urldb_files::Root;
use urldb_http::{Budget, Options};
use urldb_issues::{IssuesNotifier, Service, Token};
use urldb_protocol::{Delivery, DeliveryOutcome, Envelope, Notifier};
use urldb_store::{
    Budgets, Credentials, Environment, Location, Store, StoreError, StoreOptions, StoredFile,
};
use urldb_webhook::WebhookNotifier;

/// For servers that want too many requests, or send too many bytes.
const NARROW: Budget = Budget {
    requests: 5,
    bytes: 1_000_000,
    seconds: 600,
};

/// For servers that take too long.
const SHORT: Budget = Budget {
    requests: 10_000,
    bytes: 1 << 30,
    seconds: 1,
};

/// What the server does, and the budget that it meets.
type Behaviour = (&'static str, fn(&Request) -> Reply, Budget);

const BEHAVIOURS: [Behaviour; 13] = [
    ("nothing at all", |_| Reply::default().hang(), SHORT),
    (
        "one byte a second",
        |request| match request.method.as_str() {
            // The head is the answer to the others.
            "GET" | "POST" => Reply::raw(head(request)).endless("x", SECOND),
            _ => Reply::default().hang(),
        },
        SHORT,
    ),
    (
        "headers one byte a second",
        |_| Reply::raw("HTTP/1.1 200 OK\r\nX-A: ").endless("x", SECOND),
        SHORT,
    ),
    (
        "1xx without end",
        |_| Reply::default().endless("HTTP/1.1 103 Early\r\n\r\n", SECOND / 100),
        SHORT,
    ),
    (
        "slow pages without end",
        |request| {
            let reply = Reply::default();
            if request.target.contains('?') {
                reply.pause(SECOND / 4).then(page(request, "2"))
            } else {
                reply.hang()
            }
        },
        SHORT,
    ),
    (
        "headers without end",
        |_| Reply::raw("HTTP/1.1 200 OK\r\n").endless("X-A: b\r\n".repeat(1_000), NOW),
        NARROW,
    ),
    (
        "a line without end",
        |_| Reply::raw("HTTP/1.1 200 OK\r\nX-A: ").endless("x".repeat(1 << 16), NOW),
        NARROW,
    ),
    (
        "a body without end",
        |request| Reply::raw(head(request)).endless("x".repeat(1 << 16), NOW),
        NARROW,
    ),
    (
        "a failure without end",
        |_| Reply::raw("HTTP/1.1 400 Bad Request\r\n\r\n").endless("x".repeat(1 << 16), NOW),
        NARROW,
    ),
    (
        "the same page without end",
        |request| Reply::raw(page(request, "2")),
        NARROW,
    ),
    (
        "new pages without end",
        |request| {
            let port = request.header("host").unwrap_or_default();
            Reply::raw(page(request, &format!("{}{port}", request.target.len())))
        },
        NARROW,
    ),
    (
        "redirects without end",
        |request| Reply::redirect(302, &format!("{}a", request.target)),
        NARROW,
    ),
    (
        "503 without end",
        |_| Reply::new("503 Slow Down", &[], ""),
        NARROW,
    ),
];

const SECOND: Duration = Duration::from_secs(1);
const NOW: Duration = Duration::ZERO;

/// The head of a good answer, of whatever is asked for.
fn head(request: &Request) -> String {
    let status = match request.header("range") {
        Some(_) => "206 Part\r\nContent-Range: bytes 0-99999/100000",
        None => "200 OK",
    };
    format!(
        "HTTP/1.1 {status}\r\nETag: \"x\"\r\nLast-Modified: Sun, 22 Nov 2026 06:00:00 GMT\r\n\
         Content-Length: 1000000000000\r\n\r\n"
    )
}

/// A page of a list that has another page.
fn page(request: &Request, next: &str) -> String {
    let body = if request.target.contains("list-type") {
        format!(
            "<ListBucketResult><Name>evidence</Name><IsTruncated>true</IsTruncated>\
             <NextContinuationToken>{next}</NextContinuationToken></ListBucketResult>"
        )
    } else {
        "[]".to_owned()
    };
    let link = format!("Link: <?page={next}>; rel=\"next\"");
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\n{link}\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// A conversation with the server at an address; says how it ended.
type Conversation = fn(&Server, Budget) -> String;

/// A good answer to a request that is not attacked.
type Prelude = fn(&Request) -> Option<Reply>;

/// How a conversation ends with each behaviour, one line for each.
fn endings(prelude: Prelude, conversation: Conversation) -> String {
    endings_of(&BEHAVIOURS, prelude, conversation)
}

/// Each behaviour has a server of its own.
fn endings_of(behaviours: &[Behaviour], prelude: Prelude, conversation: Conversation) -> String {
    let lines = Mutex::new(vec![]);
    thread::scope(|scope| {
        for (number, (name, behave, budget)) in behaviours.iter().copied().enumerate() {
            let lines = &lines;
            scope.spawn(move || {
                let attacked = Arc::new(Mutex::new(0));
                let counter = Arc::clone(&attacked);
                let server = Server::new(move |request| {
                    prelude(request).unwrap_or_else(|| {
                        *counter.lock().unwrap() += 1;
                        behave(request)
                    })
                });
                let ending = conversation(&server, budget);
                let address = server.address().to_string();
                let ending = ending.replace(&address, "HOST");
                lines.lock().unwrap().push((number, name, ending));
                // Three attempts at most, with two conversations each.
                let attacked = *attacked.lock().unwrap();
                assert!(attacked <= 6 * budget.requests, "{name}: {attacked}");
            });
        }
    });
    let mut lines = lines.into_inner().unwrap();
    lines.sort();
    lines.iter().fold(String::new(), |mut text, (_, name, it)| {
        writeln!(text, "{name}: {it}").unwrap();
        text
    })
}

fn http(timeout: Duration) -> Options {
    Options {
        authorities: None,
        proxy: None,
        timeout,
        user_agent: "urldb/test".to_owned(),
    }
}

fn store(server: &Server, budget: Budget) -> Store {
    Store::open(&StoreOptions {
        location: match "s3://evidence/project".parse() {
            Ok(Location::Bucket(location)) => location,
            other => panic!("{other:?}"),
        },
        endpoint: Some(format!("http://{}", server.address())),
        region: None,
        environment: Environment {
            credentials: Credentials::None,
            endpoint: None,
            region: None,
            allow_http: false,
        },
        http: http(600 * SECOND),
        budgets: Budgets {
            manifest: budget,
            list: budget,
            file: budget,
        },
    })
    .unwrap()
}

fn ending<T>(done: Result<T, StoreError>) -> String {
    done.map_or_else(|error| error.to_string(), |_| "done".to_owned())
}

fn list(server: &Server, budget: Budget) -> String {
    ending(store(server, budget).list(10))
}

fn manifest(server: &Server, budget: Budget) -> String {
    ending(store(server, budget).manifest())
}

fn download(server: &Server, budget: Budget) -> String {
    let file = StoredFile {
        name: "a.warc.gz".to_owned(),
        length: 100_000,
        sha256: [0; 32],
    };
    ending(store(server, budget).download(&file, &mut std::io::sink()))
}

fn upload(server: &Server, budget: Budget, length: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = Root::new(folder.path(), "the archive").file("a.warc.gz");
    fs::write(file.path(), vec![0; length]).unwrap();
    ending(store(server, budget).upload("a.warc.gz", &file))
}

fn envelope() -> Envelope {
    serde_json::from_value(json!({
        "protocol": 2,
        "run": {
            "id": "20261122T041700Z-abc", "started": "2026-11-22T04:17:00Z",
            "finished": "2026-11-22T04:18:00Z", "version": "0.1.0", "repository": "sky-urls",
            "project": "sky-urls",
        },
        "incidents": [{
            "id": "00000001", "key": "0000000000000001", "phase": "opened",
            "host": "docs.example.org", "state": "gone", "since": "2026-11-22T04:17:10Z",
            "opened_by": "20261122T041700Z-abc", "host_urls": 10,
            "urls": [{ "url": "https://docs.example.org/a", "file": "urldb/x.yaml", "line": 1 }],
        }],
        "findings": [], "mistakes": [], "fixed": [], "archived": [],
        "summary": {
            "states": { "ok": 9, "gone": 1 }, "counts": {"urls": 10, "ok": 9, "broken": 1, "flapping": 0, "unconfirmed": 0, "unknown": 0, "muted": 0, "new": 0, "recovered": 0, "warnings": 0, "mistakes": 0},
            "coverage": {
                "due": 10, "checked": 10, "static_due": 0, "static_verified": 0, "not_modified": 0, "deprecated": 0, "not_selected": 0, "bytes": 0,
                "milliseconds": 5,
            },
        },
    }))
    .unwrap()
}

fn deliver(notifier: &dyn Notifier) -> String {
    let envelope = envelope();
    let planned = notifier.deliveries(&envelope);
    let pending: Vec<_> = planned.into_iter().map(|planned| planned.id).collect();
    let reported = Mutex::new(vec![]);
    let report = |delivery: Delivery| {
        let outcome = match delivery.outcome {
            DeliveryOutcome::Delivered => "delivered",
            DeliveryOutcome::Retry => "retry",
            DeliveryOutcome::Failed => "failed",
        };
        let message = delivery.message;
        reported
            .lock()
            .unwrap()
            .push(format!("{outcome}: {message}"));
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(notifier.deliver(&envelope, &pending, &report));
    reported.into_inner().unwrap().join("; ")
}

fn tracker(server: &Server, budget: Budget, service: Service) -> String {
    let settings = urldb_issues::Settings {
        name: "tracker".to_owned(),
        service,
        repository: "example/sky-urls".to_owned(),
        api_url: format!("http://{}", server.address()),
        allow_http: false,
        token: Token {
            variable: "TRACKER_TOKEN".to_owned(),
            value: "token-of-urldb".to_owned(),
        },
        labels: vec![],
        http: http(600 * SECOND),
        // A lost answer makes it read the lists again.
        budget: Budget {
            requests: 2 * budget.requests,
            ..budget
        },
        write_interval: NOW,
        patience: SECOND,
        settling: NOW,
    };
    deliver(&IssuesNotifier::new(settings).unwrap())
}

fn webhook(server: &Server, budget: Budget) -> String {
    let settings = urldb_webhook::Settings {
        name: "chat".to_owned(),
        url: format!("http://{}/hook", server.address()),
        allow_http: false,
        headers: vec![],
        signing_key: None,
        template: None,
        html: String::new(),
        each: urldb_render::Each::Run,
        http: http(Duration::from_secs(budget.seconds)),
    };
    deliver(&WebhookNotifier::new(settings).unwrap())
}

const AT_ONCE: Prelude = |_| None;

/// The store has no such file yet.
const NO_FILE: Prelude =
    |request| (request.method == "HEAD").then(|| Reply::new("404 Not Found", &[], ""));

/// The store expects the parts of a file.
const PARTS: Prelude = |request| match request.method.as_str() {
    "POST" if !request.target.contains("uploadId") => Some(Reply::ok(
        "<InitiateMultipartUploadResult><Bucket>evidence</Bucket><Key>a</Key>\
         <UploadId>u</UploadId></InitiateMultipartUploadResult>",
    )),
    _ => NO_FILE(request),
};

/// The store has all parts of the file.
const ALL_PARTS: Prelude = |request| match request.method.as_str() {
    "PUT" => Some(Reply::new("200 OK", &["ETag: \"x\""], "")),
    _ => PARTS(request),
};

/// The service names the user of the token.
const USER: Prelude = |request| {
    let user = || json!({ "id": 7, "login": "urldb", "username": "urldb" });
    request
        .target
        .ends_with("/user")
        .then(|| Reply::ok(user().to_string()))
};

/// The service has no issue.
const NO_ISSUE: Prelude = |request| match request.method.as_str() {
    "GET" => USER(request).or_else(|| Some(Reply::ok("[]"))),
    _ => None,
};

#[test]
fn a_list_of_the_store_ends() {
    insta::assert_snapshot!(endings(AT_ONCE, list));
}

#[test]
fn a_manifest_ends() {
    insta::assert_snapshot!(endings(AT_ONCE, manifest));
}

#[test]
fn a_download_ends() {
    insta::assert_snapshot!(endings(AT_ONCE, download));
}

#[test]
fn an_upload_ends() {
    let small: Conversation = |server, budget| upload(server, budget, 1_000);
    insta::assert_snapshot!("upload_small", endings(AT_ONCE, small));
    // The smallest file that is sent in parts has two minutes more.
    let mut fast = BEHAVIOURS.to_vec();
    fast.retain(|(_, _, budget)| *budget != SHORT);
    let large: Conversation = |server, budget| upload(server, budget, (8 << 20) + 5);
    for (name, prelude) in [
        ("large_begun", NO_FILE),
        ("large_parts", PARTS),
        ("large_end", ALL_PARTS),
    ] {
        insta::assert_snapshot!(format!("upload_{name}"), endings_of(&fast, prelude, large));
    }
}

#[test]
fn a_conversation_with_a_tracker_ends() {
    let github: Conversation = |server, budget| tracker(server, budget, Service::GitHub);
    let gitlab: Conversation = |server, budget| tracker(server, budget, Service::GitLab);
    let forgejo: Conversation = |server, budget| tracker(server, budget, Service::Forgejo);
    for (name, prelude, conversation) in [
        ("github_user", AT_ONCE, github),
        ("github_lists", USER, github),
        ("github_issue", NO_ISSUE, github),
        ("gitlab_lists", USER, gitlab),
        ("forgejo_lists", USER, forgejo),
    ] {
        insta::assert_snapshot!(name, endings(prelude, conversation));
    }
}

#[test]
fn a_delivery_to_a_webhook_ends() {
    insta::assert_snapshot!(endings(AT_ONCE, webhook));
}
